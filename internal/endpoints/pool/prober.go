package pool

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
)

// prober is the part of health.Loop that the pool uses; with health checks off it
// does nothing.
type prober struct{ loop *health.Loop }

// newProber joins the hub of the checks.
func (o GroupOptions) newProber() (prober, error) {
	if o.Policy.HealthOff {
		return prober{}, nil
	}
	loop, err := o.Hub.Loop(o.Share, health.LoopOptions{
		Check:        o.Prober.Check,
		Key:          o.Key,
		Interval:     o.Policy.Interval,
		FastInterval: o.fastInterval(),
		Gather:       gather,
		Overlap:      o.HealthTimeout / 2,
	})
	return prober{loop}, err
}

// close ends the checks.
func (p prober) close() {
	if p.loop != nil {
		p.loop.Close()
	}
}

func (p prober) watch(targets []health.Target) {
	if p.loop != nil {
		p.loop.Watch(targets)
	}
}

// refused counts the addresses that are not checked, because there are as many
// checks as there may be.
func (p prober) refused() int {
	if p.loop == nil {
		return 0
	}
	return p.loop.Refused()
}

// ready says that there are results to take.
func (p prober) ready() <-chan struct{} {
	if p.loop == nil {
		return nil
	}
	return p.loop.Ready()
}

// overruns counts the rounds that could not finish within the interval.
func (p prober) overruns() uint64 {
	if p.loop == nil {
		return 0
	}
	return p.loop.Overruns()
}
