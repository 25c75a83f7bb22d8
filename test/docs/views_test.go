package docs_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	viewsPage = "docs/how-to/endpoint-views.md"
	envoyPage = "docs/how-to/envoy-by-hand.md"
)

// TestTheBlocksOfEndpointViewsWork has an API server where kubectl looks for one. The page
// about Envoy goes on where the first one ends.
func TestTheBlocksOfEndpointViewsWork(t *testing.T) {
	netns.Require(t)
	s := clusterSession(t)
	s.follow(t, viewsPage)
	s.stop(t)
	s.follow(t, envoyPage)
}

// TestTheProgramOfEndpointViewsIsTheTestedOne compares the block of Go with the example.
func TestTheProgramOfEndpointViewsIsTheTestedOne(t *testing.T) {
	const example = "pkg/views/example_test.go"
	count := 0
	for _, b := range newPage(viewsPage, read(t, viewsPage)).blocks {
		if b.language != "go" {
			continue
		}
		count++
		if !strings.Contains(read(t, example), b.text) {
			t.Errorf("%s:%d: the block is not in %s", viewsPage, b.line, example)
		}
	}
	if count != 1 {
		t.Errorf("%s: got %d blocks of Go, want 1", viewsPage, count)
	}
}

// viewsCalled is the second program where it is called, with what it is given.
var viewsCalled = regexp.MustCompile(`(?:^\s*|\$ |bin/)endpoint-views +([a-z]+)((?: +[^|;&#>\s]+)*)`)

// TestPagesUseOnlyCommandsOfEndpointViewsThatThereAre asks the program for its flags.
func TestPagesUseOnlyCommandsOfEndpointViewsThatThereAre(t *testing.T) {
	uses := 0
	for _, p := range pages(t) {
		p.code(func(line int, text string) {
			for _, found := range viewsCalled.FindAllStringSubmatch(text, -1) {
				uses++
				help := viewsHelp(t, found[1])
				if !strings.Contains(help, "endpoint-views "+found[1]) {
					t.Errorf("%s:%d: there is no command %s", p.path, line, found[1])
				}
				for _, word := range strings.Fields(found[2]) {
					flag, _, _ := strings.Cut(word, "=")
					if strings.HasPrefix(flag, "-") && !slices.Contains(flagsIn(help), flag) {
						t.Errorf("%s:%d: command %s has no flag %s", p.path, line, found[1], flag)
					}
				}
			}
		})
	}
	if uses < 12 {
		t.Errorf("got %d uses of commands: are they still recognised?", uses)
	}
}

// viewsHelp is what the program says of one command.
func viewsHelp(t *testing.T, command string) string {
	t.Helper()
	var out bytes.Buffer
	cli.Program{Stdout: &out, Stderr: &out}.Run(t.Context(), []string{command, "--help"})
	return out.String()
}

// flagsIn are the flags that a help offers.
func flagsIn(help string) []string {
	var flags []string
	for _, f := range offered.FindAllStringSubmatch(help, -1) {
		flags = append(flags, "--"+f[2])
		if f[1] != "" {
			flags = append(flags, "-"+f[1])
		}
	}
	return flags
}
