package narration_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
)

var update = flag.Bool("update", false, "write the reference anew")

func TestTheReferenceOfEventsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "events.md")
	want := narration.NoticesReference()
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
