package settings_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestTheReferenceNamesEveryVariableOnceWithAMeaning(t *testing.T) {
	page := settings.Reference()
	for _, setting := range (settings.Config{}).Describe() {
		rows := 0
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "| ") && strings.Contains(strings.Split(line, " | ")[0], "`"+setting.Variable+"`") {
				rows++
				if meaning := strings.Split(line, " | ")[2]; len(meaning) < len("Token of the API.") {
					t.Errorf("%s: meaning is only %q", setting.Variable, meaning)
				}
			}
		}
		if rows != 1 {
			t.Errorf("%s: %d rows in the reference, want 1", setting.Variable, rows)
		}
	}
}

func TestTheReferenceBeginsWithTheMainVariables(t *testing.T) {
	before, _, found := strings.Cut(settings.Reference(), "\n## Advanced\n")
	if got := strings.Count(before, "\n| `"); !found || got != 15 {
		t.Errorf("got %d variables before the advanced ones, want 15: is one misspelt?", got)
	}
}
