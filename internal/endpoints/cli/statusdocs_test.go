package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheExamplesOfTheStatusReferenceAreTrue -update

// consoleBlock is a block of docs/reference/status.md: a command, and what it prints of the
// document in status.example.json.
var consoleBlock = regexp.MustCompile("(?s)```console\n\\$ ionos-endpointslice-controller (.*?)\n(.*?)```")

func TestTheExamplesOfTheStatusReferenceAreTrue(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs", "reference")
	text, err := os.ReadFile(filepath.Join(dir, "status.md"))
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile(filepath.Join(dir, "status.example.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(dir, "status.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(example)))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Fatalf("the example does not fit its schema: %v", err)
	}
	environ := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(example) })
	commands := 0
	want := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		commands++
		command := consoleBlock.FindStringSubmatch(block)[1]
		_, stdout, _ := run(t, environ, strings.Fields(command)...)
		return fmt.Sprintf("```console\n$ ionos-endpointslice-controller %s\n%s```", command, stdout)
	})
	if commands < 2 {
		t.Errorf("got %d examples of commands on the page, want status and explain", commands)
	}
	if golden.Updating() {
		if err := os.WriteFile(filepath.Join(dir, "status.md"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(text)); diff != "" && !golden.Updating() {
		t.Errorf("the page is out of date, run go generate ./internal/endpoints/cli (-want +got):\n%s", diff)
	}
}
