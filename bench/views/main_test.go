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
	// sizes are how many endpoints there are, readers how many streams.
	sizes, readers []int
	// changes and bursts are how many are measured of each.
	changes, bursts int
	// idle is longer than a watch lasts, except in the form tiny.
	idle time.Duration
}

func forms() map[string]form {
	return map[string]form{
		// To see that all of it works.
		"tiny":  {[]int{200}, []int{1, 3}, 4, 2, time.Second},
		"short": {[]int{1_000, 10_000}, []int{1, 50}, 50, 4, 70 * time.Second},
		"long":  {[]int{1_000, 10_000}, []int{1, 50, 500}, 200, 10, 10 * time.Minute},
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
