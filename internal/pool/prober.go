package pool

import (
	"context"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// prober is the part of probe.Loop that the pool uses; with health checks off it
// does nothing.
type prober struct{ loop *probe.Loop }

// newProber makes the scheduler of the checks.
func (o Options) newProber() (prober, error) {
	if o.Policy.HealthOff {
		return prober{}, nil
	}
	loop, err := probe.NewLoop(probe.LoopOptions{
		Check:        o.Prober.Check,
		Interval:     o.Policy.Interval,
		FastInterval: o.fastInterval(),
		Concurrency:  o.Concurrency,
		Gather:       gather,
		Overlap:      o.HealthTimeout / 2,
	})
	return prober{loop}, err
}

func (p prober) run(ctx context.Context) {
	if p.loop != nil {
		_ = p.loop.Run(ctx) // it only ends with ctx
	}
}

func (p prober) watch(targets []probe.Target) {
	if p.loop != nil {
		p.loop.Watch(targets)
	}
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
