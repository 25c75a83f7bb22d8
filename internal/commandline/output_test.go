package commandline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// nasty has what a terminal does not show, or shows elsewhere.
const nasty = "a\u202eb\x7fc\x1b[2J\u200bd\U000e0041é"

func TestContract189NoFormHasCharactersThatATerminalHides(t *testing.T) {
	t.Parallel()
	for _, format := range []commandline.Format{commandline.JSON, commandline.YAML} {
		for _, value := range []string{nasty, "plain", "a\u202eb"} {
			var out strings.Builder
			data := map[string][]string{"values": {value, "b"}}
			if err := format.Print(&out, data, ""); err != nil {
				t.Fatalf("%s of %q: %v", format, value, err)
			}
			if strings.ContainsAny(out.String(), "\u202e\x7f\x1b\u200b\U000e0041") {
				t.Errorf("%s of %q: got %q", format, value, out.String())
			}
			decode := json.Unmarshal
			if format == commandline.YAML {
				decode = func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
			}
			var back map[string][]string
			if err := decode([]byte(out.String()), &back); err != nil || back["values"][0] != value {
				t.Errorf("%s: got %q back, %v, want %q", format, back, err, value)
			}
		}
	}
}

// TestContract189NorHasOneOfSeveralData: JSON is one line each, YAML a document each.
func TestContract189NorHasOneOfSeveralData(t *testing.T) {
	t.Parallel()
	for format, begins := range map[commandline.Format]string{commandline.JSON: `{"value":"a`, commandline.YAML: "---\n"} {
		for _, value := range []string{nasty, "plain"} {
			var out strings.Builder
			raw := json.RawMessage(`"` + strings.NewReplacer("\x1b", `\u001b`).Replace(value) + `"`)
			if err := format.PrintNext(&out, map[string]json.RawMessage{"value": raw}); err != nil {
				t.Fatalf("%s of %q: %v", format, value, err)
			}
			one, ended := strings.CutSuffix(out.String(), "\n")
			if strings.ContainsAny(one, "\u202e\x7f\x1b\u200b\U000e0041") || !strings.HasPrefix(strings.Replace(one, "plain", "a", 1), begins) || !ended {
				t.Errorf("%s of %q: got %q", format, value, one)
			}
			if format == commandline.JSON && strings.Contains(one, "\n") {
				t.Errorf("got more than one line: %s", one)
			}
			var back map[string]string
			if err := yaml.Unmarshal([]byte(one), &back); format == commandline.YAML && (err != nil || back["value"] != value) {
				t.Errorf("got %q back, %v, want %q", back, err, value)
			}
		}
	}
}

func TestContract189ALongValueIsCutInTheTable(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("xy ", 50_000)
	table := settings.Settings{{Variable: "A", Value: long}, {Variable: "B", Value: nasty}}.String()
	if len(table) > 2000 || !strings.Contains(table, "(150000 bytes)") {
		t.Errorf("got %d bytes of table, want a short one that says how long the value is", len(table))
	}
	if strings.ContainsAny(table, "\u202e\x7f\x1b\u200b\U000e0041") {
		t.Errorf("got %q", table)
	}
}
