package peers_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
)

const (
	port    = 8080
	timeout = time.Second
)

// world is a leader and its standbys around one Lease. It is for one bubble.
type world struct {
	*peerstest.Lease

	t     *testing.T
	asker *peers.Asker
}

func newWorld(t *testing.T) *world {
	t.Helper()
	lease := peerstest.New()
	return newWorldOf(t, lease, lease.Options())
}

// newWorldOf makes one whose leader has these options.
func newWorldOf(t *testing.T, lease *peerstest.Lease, options peers.Options) *world {
	t.Helper()
	w := &world{Lease: lease, t: t, asker: peers.New(options)}
	w.start(w.asker.Run)
	w.start(w.Run)
	return w
}

// start runs something until the test ends.
func (w *world) start(run func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
	})
}

// standby begins to stand by.
func (w *world) standby(name string, reaches func(netip.Addr) time.Duration) *peers.Answerer {
	a := w.Standby(name, reaches)
	w.start(a.Run)
	return a
}

// all reaches everything at once.
func all(netip.Addr) time.Duration { return time.Millisecond }

// none reaches nothing.
func none(netip.Addr) time.Duration { return 0 }

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

// fails is the n-th failure in a row of an address, just now.
func fails(n int, address netip.Addr) guard.Ask {
	return guard.Ask{Address: address, At: time.Now(), Failures: n, Urgent: true}
}
