package archtest_test

import (
	"strings"
	"testing"
)

// parse makes a unit of one file at a place.
func parse(t *testing.T, dir, source string) unit {
	t.Helper()
	u, err := newUnit(dir, source)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// check runs every rule that the package has on a unit.
func check(u unit) []violation {
	violations := append(statesImports(u), importsDown(u)...)
	for i := range libraries {
		violations = append(violations, usesLibrary(u, i)...)
	}
	violations = append(violations, impure(u)...)
	for _, rule := range rules {
		if !in(u.dir, rule.except...) {
			violations = append(violations, rule.check(u)...)
		}
	}
	return append(violations, longFunctions(u)...)
}

func TestEveryRuleSeesItsBreach(t *testing.T) {
	const header = "// Package x does.\npackage x\n"
	long := strings.Repeat("\n", 51)
	tests := []struct {
		name, dir, source, want string
	}{
		{"unlisted package", "internal/util", header, "not in the table"},
		{"upward import", "internal/endpoints/publish", header + `import _ "` + module + `internal/endpoints/controller"`, "may not import internal/endpoints/controller"},
		{"sibling import", "internal/endpoints/store/cluster", header + `import _ "` + module + `internal/endpoints/store"`, "may not import internal/endpoints/store"},
		{"cluster client in a stage", "internal/endpoints/controller", header + `import _ "k8s.io/client-go/tools/cache"`, "may not import k8s.io/client-go/tools/cache"},
		{"second client of API servers", "internal/endpoints/store/cluster", header + `import _ "k8s.io/client-go/rest"`, "may not import k8s.io/client-go/rest"},
		{"proxy of the environment", "internal/kube", header + "import \"net/http\"\nvar x = http.ProxyFromEnvironment", "uses net/http.ProxyFromEnvironment"},
		{"the Pod's cluster", "internal/kube", header + "import \"k8s.io/client-go/tools/clientcmd\"\nvar x = clientcmd.BuildConfigFromFlags", "uses k8s.io/client-go/tools/clientcmd.BuildConfigFromFlags"},
		{"cloud SDK in the wiring", "internal/endpoints/cli", header + `import _ "github.com/ionos-cloud/sdk-go/v6"`, "may not import github.com/ionos-cloud"},
		{"program run in a source", "internal/endpoints/source", header + `import _ "os/exec"`, "may not import os/exec"},
		{"logging adapter", "internal/endpoints/store/cluster", header + `import _ "log/slog"`, "may not import log/slog"},
		{"testing in the product", "internal/endpoints/controller", header + `import _ "testing"`, "may not import testing"},
		{"context in a pure stage", "internal/endpoints/guard", header + `import _ "context"`, "imports context"},
		{"clock in a pure stage", "internal/endpoints/guard", header + "import \"time\"\nvar x = time.Now()", "uses time.Now"},
		{"renamed import", "internal/endpoints/controller", header + "import o \"os\"\nvar x = o.Getenv", "uses os.Getenv"},
		{"environment", "internal/endpoints/controller", header + "import \"os\"\nfunc f() { os.LookupEnv(\"A\") }", "uses os.LookupEnv"},
		{"init", "internal/endpoints/controller", header + "func init() {}", "has a func init"},
		{"context from nowhere", "internal/endpoints/controller", header + "import \"context\"\nfunc f() { context.TODO() }", "uses context.TODO"},
		{"participle", "internal/endpoints/controller", header + "type known struct{}", "the type known is named by a participle"},
		{"sleep", "internal/endpoints/controller", header + "import \"time\"\nfunc f() { time.Sleep(1) }", "uses time.Sleep"},
		{"exit", "internal/endpoints/cli", header + "import \"os\"\nfunc f() { os.Exit(1) }", "uses os.Exit"},
		{"no package comment", "internal/endpoints/controller", "package x", "package comment"},
		{"assigned global", "internal/endpoints/controller", header + "var x int\nfunc f() { x = 1 }", "changes the package-level variable x"},
		{"counted global", "internal/endpoints/controller", header + "var x int\nfunc f() { x++ }", "changes the package-level variable x"},
		{"filled global", "internal/endpoints/controller", header + "var x = map[int]int{}\nfunc f() { x[1] = 2 }", "changes the package-level variable x"},
		{"emptied global", "internal/endpoints/controller", header + "var x = map[int]int{}\nfunc f() { clear(x) }", "changes the package-level variable x"},
		{"field of a global", "internal/endpoints/controller", header + "var x struct{ y int }\nfunc f() { x.y = 2 }", "changes the package-level variable x"},
		{"address of a global", "internal/endpoints/controller", header + "var x int\nfunc f() *int { return &x }", "changes the package-level variable x"},
		{"method on a global", "internal/endpoints/controller", header + "type c int\nfunc (c *c) add() {}\nvar x c\nfunc f() { x.add() }", "changes the package-level variable x"},
		{"another package's variable", "internal/endpoints/controller", header + `import "` + module + "internal/endpoints/publish\"\nfunc f() { publish.X = 1 }", "changes a variable of package"},
		{"mutex", "internal/endpoints/controller", header + "import \"sync\"\nvar x sync.Mutex", "made to change, a sync.Mutex"},
		{"channel", "internal/endpoints/controller", header + "var x = make(chan int)", "made to change, a channel"},
		{"long function", "internal/endpoints/controller", header + "func f() {" + long + "}", "f has 52 lines"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := check(parse(t, test.dir, test.source))
			if len(got) != 1 || !strings.Contains(got[0].String(), test.want) {
				t.Errorf("got %v, want one violation with %q", got, test.want)
			}
		})
	}
}

func TestWhatIsAllowedIsNoBreach(t *testing.T) {
	u := parse(t, "internal/endpoints/controller", `// Package x does.
package x

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"`+module+`internal/endpoints/guard"
)

var (
	// ErrGone is a sentinel.
	ErrGone = errors.New("gone")
	word    = regexp.MustCompile("a")
	table   = map[string]int{"a": 1}
	lazy    = sync.OnceValue(func() *sync.Mutex { return new(sync.Mutex) })
	mode    guard.Mode
)

type two interface {
	a()
	b()
}

func f(ctx context.Context, log *slog.Logger) error {
	table := map[string]int{}
	table["a"] = 2 // a local one hides the package's
	mode := &mode2{}
	mode.x = 1
	<-time.After(time.Duration(table["a"]))
	if word.MatchString("a") {
		return ErrGone
	}
	return ctx.Err()
}

type mode2 struct{ x int }
`)
	for _, v := range check(u) {
		t.Errorf("got %v, want nothing", v)
	}
}
