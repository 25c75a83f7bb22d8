package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// disturbance is all that a team does at once, until its context ends.
type disturbance struct {
	t       *testing.T
	ctx     context.Context
	running sync.WaitGroup
}

// disturb lets the team of a namespace do all at once: hundreds of Services made at once, checks
// as many as are allowed (2,000), pools that hang and are silent, a wish that changes ten
// times a second, and a Service that comes and goes. With bindings that is as many
// documents and statuses. It goes on until the function that it returns is called.
func (p *platform) disturb(team asker) (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	d := &disturbance{t: p.t, ctx: ctx}
	own := 2000/crowded + 10 // some more checks than are allowed
	d.make(p.crowd(), func(i int) error {
		of := wish{pool: "crowd"}
		switch {
		case i < own:
			of.path = fmt.Sprintf("/%d", i)
		case i < own+20:
			of.pool = []string{"hangs", "silent"}[i%2]
		}
		return team.ask(ctx, fmt.Sprintf("one-%d", i), of)
	})
	d.every(100*time.Millisecond, func(n int) error {
		return team.change(ctx, "flip", []string{"green", "blue", "secret", ""}[n%4])
	})
	d.every(500*time.Millisecond, func(n int) error {
		if n%2 == 0 {
			return team.ask(ctx, "comes-and-goes", wish{pool: "green"})
		}
		return team.withdraw(ctx, "comes-and-goes")
	})
	return func() { cancel(); d.running.Wait() }
}

// make does something so many times, a few at a time.
func (d *disturbance) make(count int, do func(i int) error) {
	for maker := range makers {
		d.running.Go(func() {
			for i := maker; i < count; i += makers {
				if err := do(i); err != nil && d.ctx.Err() == nil {
					d.t.Error(err)
					return
				}
			}
		})
	}
}

// every does something again and again.
func (d *disturbance) every(pause time.Duration, do func(n int) error) {
	d.running.Go(func() {
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-d.ctx.Done():
				return
			case <-ticker.C:
			}
			if err := do(n); err != nil && d.ctx.Err() == nil && !apierrors.IsNotFound(err) {
				d.t.Error(err)
				return
			}
		}
	})
}
