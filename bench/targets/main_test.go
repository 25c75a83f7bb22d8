package targets_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

var (
	formName = flag.String("form", "", "how thorough to measure: tiny, short or long; nothing is measured without")
	only     = flag.String("shapes", "", "shapes to measure, such as 1000x100, separated by commas, instead of the form's")
)

// form is how thorough a run is.
type form struct {
	shapes []shape
	// carried are the shapes at which carriers of documents are compared.
	carried []shape
	// rounds are how often a node dies and comes back, for each shape.
	rounds int
	// idle is how long nothing happens.
	idle time.Duration
}

// shape is so many Services with so many endpoints each.
type shape struct{ targets, endpoints int }

// String is a part of the names of namespaces.
func (s shape) String() string { return fmt.Sprintf("%dx%d", s.targets, s.endpoints) }

// all is how many endpoints there are in all Services.
func (s shape) all() int { return s.targets * s.endpoints }

func forms() map[string]form {
	all := []shape{{1, 100}, {10, 100}, {100, 100}, {1000, 100}, {100, 1000}}
	return map[string]form{
		// To see that all of it works.
		"tiny":  {[]shape{{1, 10}, {20, 10}}, []shape{{20, 10}}, 1, time.Second},
		"short": {all, []shape{{1000, 100}}, 3, 20 * time.Second},
		"long":  {all, []shape{{1000, 100}}, 15, 10 * time.Minute},
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
	f.shapes = nil
	for text := range strings.SplitSeq(*only, ",") {
		var s shape
		if _, err := fmt.Sscanf(text, "%dx%d", &s.targets, &s.endpoints); err != nil {
			t.Fatalf("-shapes %s: %v", text, err)
		}
		f.shapes = append(f.shapes, s)
	}
	f.carried = f.shapes
	return f
}

// subnet holds the addresses of all nodes.
const subnet = "10.64.0.0/12"

// TestMain enters the namespace and lets all its addresses answer.
func TestMain(m *testing.M) {
	flag.Parse()
	if *formName == "" {
		os.Exit(m.Run())
	}
	program.Main(m, subnet)
}
