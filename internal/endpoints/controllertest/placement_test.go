package controllertest_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// podNodes is where the Pods are.
type podNodes struct {
	is      atomic.Pointer[inventory.Placement]
	changed chan struct{}
}

func (p *podNodes) Placement() (*inventory.Placement, error) { return p.is.Load(), nil }
func (p *podNodes) Changed() <-chan struct{}                 { return p.changed }

// on says that ready Pods are on these nodes.
func (p *podNodes) on(nodes ...string) {
	p.is.Store(&inventory.Placement{Ready: nodes, Found: true, Local: true})
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Contract 234: so it is with a store of one target.
func TestContract234AStoreOfOneTargetFollowsToo(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pods := newWorld(t, 11, 12, 13), &podNodes{changed: make(chan struct{}, 1)}
		w.opts.Placer = pods
		pods.on("w11", "w12")
		w.start()
		defer w.stop()
		for _, c := range []struct {
			moves func()
			waits time.Duration
			want  []string
		}{
			{func() {}, 10 * time.Second, []string{"10.0.0.11 ready", "10.0.0.12 ready"}},
			{func() { pods.on("w12", "w13") }, 5 * time.Second, []string{"10.0.0.11 draining", "10.0.0.12 ready", "10.0.0.13 ready"}},
			{func() {}, 30 * time.Second, []string{"10.0.0.12 ready", "10.0.0.13 ready"}},
			{func() { pods.on() }, 5 * time.Minute, []string{"10.0.0.12 ready", "10.0.0.13 ready"}},
		} {
			c.moves()
			during(c.waits)
			if got := w.members(); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		}
	})
}
