package endtoend_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

var (
	formName = flag.String("form", "", "how thorough to measure: tiny, short or long; nothing is measured without")
	only     = flag.String("sizes", "", "numbers of nodes to measure at, separated by commas, instead of the form's")
)

// form is how thorough a run is.
type form struct {
	// sizes are how many nodes there are, ascending.
	sizes []int
	// memory are those of them at which the memory is measured.
	memory []int
	// changes, cycles and starts are how many of them are measured at each size.
	changes, cycles, starts int
	// idle, heartbeats and steady are how long each is watched.
	idle, heartbeats, steady time.Duration
	// rate is how many heartbeats a second there are while their cost is measured.
	rate int
}

func forms() map[string]form {
	return map[string]form{
		// To see that all of it works.
		"tiny": {sizes: []int{3, 100}, memory: []int{100}, changes: 4, cycles: 1, starts: 2,
			idle: time.Second, heartbeats: 2 * time.Second, steady: 3 * time.Second, rate: 20},
		"short": {sizes: []int{3, 100, 1_000, 5_000, 10_000}, memory: []int{3, 100, 1_000, 10_000}, changes: 50, cycles: 3, starts: 10,
			idle: 3 * time.Second, heartbeats: 6 * time.Second, steady: 15 * time.Second, rate: 40},
		"long": {sizes: []int{3, 100, 1_000, 5_000, 10_000}, memory: []int{3, 100, 1_000, 5_000, 10_000}, changes: 200, cycles: 10, starts: 30,
			idle: 15 * time.Second, heartbeats: time.Minute, steady: 10 * time.Minute, rate: 40},
	}
}

// chosen is the form that the flags ask for.
func chosen(t *testing.T) form {
	t.Helper()
	f, known := forms()[*formName]
	if !known {
		t.Skipf("-form %q: measures nothing", *formName)
	}
	if *only == "" {
		return f
	}
	f.sizes = nil
	for text := range strings.SplitSeq(*only, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		f.sizes = append(f.sizes, n)
	}
	return f
}

// TestMain enters the namespace and lets all its addresses answer.
func TestMain(m *testing.M) {
	flag.Parse()
	if *formName == "" {
		os.Exit(m.Run())
	}
	netns.Enter()
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"KUBEBUILDER_ASSETS": filepath.Join(root, ".tools", "bin"), // bench has a go.mod of its own
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if out, err := exec.Command("ip", "route", "add", "local", subnet, "dev", "lo").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "ip route add local %s dev lo: %v: %s\n", subnet, err, out)
		os.Exit(1)
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
func result(name string, iterations int, values ...any) {
	line := fmt.Sprintf("Benchmark%s %d", name, iterations)
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

var begun = time.Now()

// progress reports what happens now.
func progress(format string, args ...any) {
	fmt.Printf("# %4.0f s  %s\n", time.Since(begun).Seconds(), fmt.Sprintf(format, args...))
}
