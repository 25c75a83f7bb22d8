package metrics_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/metrics"
)

var update = flag.Bool("update", false, "write the files that the tests compare with")

func TestTheReferenceOfMetricsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "metrics.md")
	want := metrics.Reference()
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
		t.Errorf("%s is out of date, run go generate ./internal/metrics (-want +got):\n%s", path, diff)
	}
}

// The reference speaks of what is served: every family with its type, help and
// labels, and no other.
func TestTheReferenceListsWhatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2)
		w.during(time.Minute)
		served, err := w.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		// They are there only where they say something.
		absent := []string{"source_rate_limit_remaining", "not_eligible", "service_problem"}
		type shape struct{ Type, Help, Labels string }
		got, want := map[string]shape{}, map[string]shape{}
		for _, f := range served {
			if ours := strings.HasPrefix(f.GetName(), "ionos_endpointslice_"); !ours {
				continue
			}
			s := shape{Type: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
			for _, l := range f.GetMetric()[0].GetLabel() {
				s.Labels += l.GetName() + " "
			}
			got[f.GetName()] = s
		}
		for _, f := range metrics.Families() {
			if _, ok := got[f.Name]; !ok && (strings.Contains(f.Name, "credential_") || slices.Contains(absent, strings.TrimPrefix(f.Name, "ionos_endpointslice_")) || strings.HasPrefix(f.Name, "rest_")) {
				continue
			}
			s := shape{Type: string(f.Type), Help: f.Help}
			names := map[string]bool{}
			for _, l := range f.Labels {
				names[l.Name] = true
			}
			for _, name := range []string{"client", "code", "goversion", "kind", "method", "mode", "operation", "outcome", "pool", "reason", "result", "source", "state", "target_namespace", "target_service", "version"} {
				if names[name] {
					s.Labels += name + " "
				}
			}
			want[f.Name] = s
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("families (-reference +served):\n%s", diff)
		}
	})
}

func TestEveryFamilySaysWhatToDo(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range metrics.Families() {
		if seen[f.Name] {
			t.Errorf("%s stands there twice", f.Name)
		}
		seen[f.Name] = true
		if f.Help == "" || f.Advice == "" || !strings.Contains(f.Use, f.Name) || strings.ContainsAny(f.Help+f.Use+f.Advice, "|\n") {
			t.Errorf("%s: got %q, %q, %q; want a sentence, a query with its name and what that means, fit for a table", f.Name, f.Help, f.Use, f.Advice)
		}
	}
}

// TestContract215NamesOfMetricsSayOneWordForOneThing: the pool is in the label, and the old words
// are in no name that stays.
func TestContract215NamesOfMetricsSayOneWordForOneThing(t *testing.T) {
	about := []string{"ionos_endpointslice_pool_services", "ionos_endpointslice_pool_problem"}
	gauges := make(map[string]bool)
	for _, f := range metrics.Families() {
		gauges[f.Name] = true
	}
	for _, f := range metrics.Families() {
		if counted := strings.TrimSuffix(f.Name, "_total"); counted != f.Name && gauges[counted] {
			t.Errorf("%s: is %s in OpenMetrics, as another one is", f.Name, counted)
		}
		if strings.Contains(f.Name, "_pool_") && !slices.Contains(about, f.Name) {
			t.Errorf("%s: the label pool says it", f.Name)
		}
		for _, word := range []string{"member", "candidate", "suspect", "probe", "target", "alarm", "ratelimit", "plan", "token"} {
			if strings.Contains(f.Name, word) {
				t.Errorf("%s: is called after a %s, want the word of the texts", f.Name, word)
			}
		}
	}
}

// constants returns the values of the constants of a type in a file; of numbers
// their names.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, declaration := range parsed.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		current := ""
		for _, spec := range general.Specs {
			value := spec.(*ast.ValueSpec)
			if name, ok := value.Type.(*ast.Ident); ok {
				current = name.Name
			}
			if current != typeName {
				continue
			}
			text := value.Names[0].Name
			if len(value.Values) == 1 {
				if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, _ = strconv.Unquote(literal.Value)
				}
			}
			found = append(found, text)
		}
	}
	return found
}
