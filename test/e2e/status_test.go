package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// freeAddresses counts the addresses of this machine that were given away.
var freeAddresses atomic.Int64

// freeAddress is an address of this machine without a listener. Its IP address is given
// away once, so no other program can take the port before the one that it is for.
func freeAddress() string { return fmt.Sprintf("127.0.9.%d:8090", freeAddresses.Add(1)) }

func TestStatusWaitsForTheDaemonAndShowsWhatItSees(t *testing.T) {
	netns.Require(t)
	for name, changes := range map[string][]string{"at work": nil, "in a dry run": {"DRY_RUN=true"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLocalWorld(t)
			w.env["ADMIN_ADDRESS"] = freeAddress()
			waited := make(chan result, 1)
			environ := w.environ(changes...)
			go func() { waited <- runProgram(t, environ, "status", "--wait", "-o", "json") }()
			s := newSurfaces(w.start(changes...))
			got := <-waited
			var d struct {
				Healthy  bool
				Services []struct{ Summary string }
			}
			if err := json.Unmarshal([]byte(got.stdout), &d); err != nil || got.code != 0 || !d.Healthy || len(d.Services) != 1 || d.Services[0].Summary != "3 of 3 nodes ready in default/web" {
				t.Errorf("status --wait: got %+v, want all ready", got)
			}
			w.nodes[1].backends[0].kill()
			s.await(w.nodes[1].Name, "ProbeRefused")
			got = w.command(changes, "status")
			for _, says := range []string{"2 of 3 nodes ready in default/web\n", w.nodes[1].Name, "down", "ProbeRefused"} {
				if got.code != 1 || got.stderr != "" || !strings.Contains(got.stdout, says) {
					t.Errorf("status: got %+v, want status 1 and %q", got, says)
				}
			}
			if dry := strings.Contains(got.stdout, "Dry run"); dry != (changes != nil) {
				t.Errorf("status: got %q, want it to tell a dry run", got.stdout)
			}
			s.kill()
			got = w.command(changes, "status", "-o", "wide")
			if !strings.Contains(got.stderr, "nothing listens there") || !strings.Contains(got.stdout, "ProbeRefused") {
				t.Errorf("status without a daemon: got %+v", got)
			}
		})
	}
}
