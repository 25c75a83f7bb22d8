package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// assignments returns, as NAME=value, what a script of plain assignments sets on
// the lines that match.
func assignments(t *testing.T, script string, line *regexp.Regexp) []string {
	t.Helper()
	var found []string
	for text := range strings.Lines(script) {
		match := line.FindStringSubmatch(strings.TrimSpace(text))
		if match == nil {
			continue
		}
		words, err := settings.Args(match[1])
		if err != nil || len(words) != 1 {
			t.Fatalf("%q is no plain assignment: %v", text, err)
		}
		found = append(found, words[0])
	}
	return found
}

// merged puts assignments together; later ones win.
func merged(assignments ...string) env {
	e := env{}
	for _, assignment := range assignments {
		name, value, _ := strings.Cut(assignment, "=")
		e[name] = value
	}
	return e
}

var (
	exported  = regexp.MustCompile(`^export (.*)$`)
	commented = regexp.MustCompile(`^# export (.*)$`)
	assigned  = regexp.MustCompile(`^([A-Z_]+=.*)$`)
)

func TestTheExampleForDirenvIsAValidConfiguration(t *testing.T) {
	script, err := os.ReadFile("../../.envrc.example")
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, merged(assignments(t, string(script), exported)...))
	if c.Source.Kind != settings.SourceFile || c.Store.Kind != settings.StoreMemory || c.File.Path == "" {
		t.Errorf("source %s (%q), store %s; want the local dry run", c.Source.Kind, c.File.Path, c.Store.Kind)
	}
	if _, err := os.Stat(filepath.Join("../..", c.File.Path)); err != nil {
		t.Errorf("the inventory of the example: %v", err)
	}
}

func TestTheAlternativesInTheExampleForDirenvAreValidToo(t *testing.T) {
	script, err := os.ReadFile("../../.envrc.example")
	if err != nil {
		t.Fatal(err)
	}
	active := assignments(t, string(script), exported)
	alternatives := assignments(t, string(script), commented)
	if len(alternatives) < 5 {
		t.Fatalf("found only %v", alternatives)
	}
	token := tokenFile(t)
	for i, alternative := range alternatives {
		if strings.HasPrefix(alternative, "IONOS_TOKEN_FILE=") {
			alternatives[i] = "IONOS_TOKEN_FILE=" + token
		}
	}
	for _, alternative := range alternatives {
		load(t, merged(append(slices.Concat(active, alternatives), alternative)...))
	}
}

// tokenFile stands in for the one that an example names: the file of a secret is
// looked at.
func tokenFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The examples of the reference, put together with what is required.
func TestTheExamplesOfTheReferenceAreValid(t *testing.T) {
	blocks := strings.Split(settings.Reference(), "```sh\n")[1:]
	if len(blocks) < 10 {
		t.Fatalf("found only %d examples", len(blocks))
	}
	token := tokenFile(t)
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		example := merged(assignments(t, text, assigned)...)
		if _, ok := example["IONOS_TOKEN_FILE"]; ok {
			example["IONOS_TOKEN_FILE"] = token
		}
		whole := with(example)
		if _, alone := example["DOCUMENTS_DIR"]; alone {
			whole = example
		}
		if _, err := environment.Load(whole.list()); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
}

func TestTheExampleInventoryHasThreeWorkersAndEveryOptionalKey(t *testing.T) {
	content, err := os.ReadFile("../../deploy/inventory.example.json")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []struct {
		Name       string   `json:"name"`
		ID         string   `json:"id"`
		PrivateIP  string   `json:"private_ip"`
		PrivateIPs []string `json:"private_ips"`
		Zone       string   `json:"zone"`
		Ready      *bool    `json:"ready"`
		Worker     *bool    `json:"worker"`
		Leaving    *bool    `json:"leaving"`
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&nodes); err != nil {
		t.Fatal(err)
	}
	plain, keys := 0, map[string]bool{}
	for _, node := range nodes {
		if node.PrivateIP != "" && node.ID == "" && *node.Ready && *node.Worker {
			plain++
		}
		keys["id"] = keys["id"] || node.ID != ""
		keys["private_ips"] = keys["private_ips"] || len(node.PrivateIPs) > 1
		keys["zone"] = keys["zone"] || node.Zone != ""
		keys["leaving"] = keys["leaving"] || node.Leaving != nil
	}
	want := map[string]bool{"id": true, "private_ips": true, "zone": true, "leaving": true}
	if diff := cmp.Diff(want, keys); diff != "" || plain != 3 {
		t.Errorf("%d plain workers, want 3; optional keys shown (-want +got):\n%s", plain, diff)
	}
}
