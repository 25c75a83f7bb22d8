package config_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

var update = flag.Bool("update", false, "rewrite the generated reference")

func TestTheReferenceIsCurrent(t *testing.T) {
	for path, got := range map[string]string{
		"../../docs/reference/configuration.md":                config.Reference(),
		"../../docs/reference/endpoint-views-configuration.md": config.ViewsReference(),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s drifted from the code (-file +code), run \"go generate ./internal/config\":\n%s", path, diff)
		}
	}
}

func TestTheReferenceNamesEveryVariableOnceWithAMeaning(t *testing.T) {
	page := config.Reference()
	for _, setting := range (config.Config{}).Describe() {
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
	before, _, found := strings.Cut(config.Reference(), "\n## Advanced\n")
	if got := strings.Count(before, "\n| `"); !found || got != 15 {
		t.Errorf("got %d variables before the advanced ones, want 15: is one misspelt?", got)
	}
}
