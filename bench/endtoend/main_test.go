package endtoend_test

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
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
	program.Main(m, subnet)
}
