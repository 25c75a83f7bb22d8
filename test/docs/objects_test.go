package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// age is what a page cannot foresee.
var age = regexp.MustCompile(`^([0-9]+[dhms])+$`)

// TestTheTutorialOfObjectsPrintsWhatItSays: what a block prints is what the page shows after
// it, but for ages.
func TestTheTutorialOfObjectsPrintsWhatItSays(t *testing.T) {
	netns.Require(t)
	s := clusterSession(t)
	const path = "docs/tutorial-objects.md"
	printed, compared := "", 0
	for _, b := range newPage(path, read(t, path)).blocks {
		switch b.language {
		case "sh":
			out, err := s.run(t, b)
			if err != nil {
				t.Fatalf("%s:%d: %v\n%s\n%s", path, b.line, err, b.text, out)
			}
			printed = out.String()
		case "text":
			compared++
			if got, want := words(printed), words(b.text); !slices.Equal(got, want) {
				t.Errorf("%s:%d: got\n%s\nwant\n%s", path, b.line, printed, b.text)
			}
		}
	}
	if compared < 8 {
		t.Errorf("got %d outputs: are they still recognised?", compared)
	}
}

// words are those of a text, with every age alike.
func words(text string) []string {
	all := strings.Fields(text)
	for i, word := range all {
		if age.MatchString(word) {
			all[i] = "age"
		}
	}
	return all
}
