package controllertest_test

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// closedPort is a port on which nothing listens until it is opened.
type closedPort struct {
	*world
	open *atomic.Bool
}

func (c closedPort) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	if c.open.Load() {
		return c.world.Check(ctx, addr)
	}
	return inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Refused, Reason: inventory.ProbeRefused, Message: "connection refused"}
}

// TestContract227AnotherPortWaitsUntilItAnswers: TARGET_PORT is another one after a restart.
// The endpoints of before stay, and are checked, until those of the new port pass.
func TestContract227AnotherPortWaitsUntilItAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, heard := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer = heard
		w.start()
		during(10 * time.Second)
		w.stop()
		var open atomic.Bool
		w.opts.Prober, w.opts.Target.Ports = closedPort{w, &open}, []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 9090}}
		w.opts.Checker = func(check assign.Check) (pool.Prober, error) {
			if check.Port != 8080 {
				t.Errorf("got a check of port %d, want one of the port of before", check.Port)
			}
			return w, nil
		}
		w.start()
		w.set(func() { w.dead[ip(13)] = true })
		during(time.Minute)
		published := func() (port uint16) {
			state, err := w.store.Memory.Load(t.Context())
			if err != nil || len(state.Slices) != 1 {
				t.Fatalf("got %+v, %v, want one slice", state, err)
			}
			return state.Slices[0].Ports[0].Number
		}
		if got := published(); got != 8080 {
			t.Errorf("port %d is published, and nothing listens there", got)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
		waits := slices.DeleteFunc(said(heard.taken()), func(note string) bool { return !strings.HasPrefix(note, assign.TakesOverWithLess) })
		if len(waits) != 1 || !strings.Contains(waits[0], "the variables name another port") || !strings.Contains(waits[0], "at least 2 must pass") || !strings.Contains(waits[0], "if the change is meant, set MAX_REMOVAL_PERCENT higher") {
			t.Errorf("told %q, want once, though other numbers have to pass later", waits)
		}
		open.Store(true)
		during(10 * time.Second)
		if got := published(); got != 9090 {
			t.Errorf("port %d is published, want the new one, which answers", got)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
		w.stop()
	})
}
