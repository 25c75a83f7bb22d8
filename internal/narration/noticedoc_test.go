package narration_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
)

//go:generate go test . -run TestTheReferenceOfEventsIsUpToDate -update

var update = flag.Bool("update", false, "write the reference anew")

func TestTheReferenceOfEventsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "events.md")
	want := noticesReference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date, run go generate ./internal/narration (-want +got):\n%s", path, diff)
	}
}

// noticesReference returns docs/reference/events.md.
func noticesReference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/narration by "go generate ./internal/narration". Do not edit. -->

# Events

The daemon reports what happened to the Service as Events on it:

` + "```sh" + `
kubectl -n NAMESPACE describe service SERVICE
kubectl -n NAMESPACE events --for service/SERVICE
` + "```" + `

An Event reports one thing that happened, with the actual values in its note. A state that lasts is reported once, and a steady state makes no Event. The log says the same. There are none in a dry run and none with ` + "`STORE_KIND=memory`" + `. The daemon needs the right to create ` + "`events`" + ` of ` + "`events.k8s.io`" + ` in the namespace of the Service; without it, and while the API server cannot be reached, it goes on without Events and logs that once.

With ` + "`DOCUMENTS_DIR`" + ` each Service has the Events about itself and its slices. What happens to a pool (` + "`SourceUnavailable`, `SourceRecovered`, `RemovalHeld`, `RemovalPending`, `RemovalAccepted`, `RemovalReleased`, `FailOpenEngaged`, `FailOpenCleared`" + `) is reported at the Services that use it, and the note begins with the name of the pool. A pool may have thousands of Services, so of each pool and reason at most 50 Services get it at once and then one in ten seconds; the first Service of each namespace comes before the second of any. Why a source cannot be read is in the log only: the error is for those who have its credentials.

Of one reason at most 25 Events come at once and then one in ten seconds. The next one says how many were left out.

| reason | type | when | what to do |
|---|---|---|---|
`)
	for _, doc := range narration.NoticeReasons() {
		kind := "Normal"
		if doc.Reason.Warning() {
			kind = "Warning"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", doc.Reason, kind, doc.When, doc.Remedy)
	}
	return b.String()
}

func TestEveryReasonOfAnEventIsExplained(t *testing.T) {
	want := append(constants(t, "notice.go", "NoticeReason"), constants(t, filepath.Join("..", "plan", "service.go"), "Kind")...)
	var got []string
	for _, doc := range narration.NoticeReasons() {
		got = append(got, string(doc.Reason))
		if doc.When == "" || doc.Remedy == "" {
			t.Errorf("%s is explained by nothing", doc.Reason)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons in the code and explained ones (-want +got):\n%s", diff)
	}
}

// constants returns the values of the constants of a type that a file declares.
func constants(t *testing.T, path, typeName string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if named, ok := spec.Type.(*ast.Ident); ok && named.Name == typeName {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s declares no constant of type %s", path, typeName)
	}
	return values
}
