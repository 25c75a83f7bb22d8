package views_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var formName = flag.String("form", "", "how thorough to measure: tiny, short or long; nothing is measured without")

// form is how thorough a run is.
type form struct {
	// sizes are how many endpoints there are.
	sizes []int
	loads []load
	// idle is longer than a watch lasts, away longer than the longest pause between two
	// attempts to reach the API server; except in the form tiny.
	idle, away time.Duration
}

// load is a number of readers, and how many changes and bursts are measured with them.
// Many readers cost the measuring process much time for each, so there are fewer.
type load struct{ readers, changes, bursts int }

func forms() map[string]form {
	return map[string]form{
		// To see that all of it works.
		"tiny":  {[]int{200}, []load{{1, 4, 2}, {3, 4, 2}}, time.Second, time.Second},
		"short": {[]int{1_000, 10_000}, []load{{1, 50, 4}, {50, 50, 4}, {500, 20, 1}}, 70 * time.Second, 5 * time.Second},
		"long":  {[]int{1_000, 10_000}, []load{{1, 200, 10}, {50, 200, 10}, {500, 100, 5}}, 10 * time.Minute, time.Minute},
	}
}

// TestMain makes the programs of the API server known: bench has a go.mod of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	bin, err := filepath.Abs("../../.tools/bin")
	if err == nil {
		err = os.Setenv("KUBEBUILDER_ASSETS", bin)
	}
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// build compiles a program as the image does.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return path
}

// result prints what was measured as a benchmark would: values and units in turn.
func result(name string, values ...any) {
	line := fmt.Sprintf("Benchmark%s 1", name)
	for i := 0; i+1 < len(values); i += 2 {
		switch v := values[i].(type) {
		case time.Duration:
			line += fmt.Sprintf(" %d %v", v.Nanoseconds(), values[i+1])
		case float64:
			line += fmt.Sprintf(" %.4g %v", v, values[i+1])
		default:
			line += fmt.Sprintf(" %v %v", v, values[i+1])
		}
	}
	fmt.Println(line)
}
