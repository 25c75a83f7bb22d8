//go:build simulation

package simulation_test

import (
	"context"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// The kinds of a prober's fault: then the prober knows nothing of any endpoint.
const (
	cutOff  = "the prober is cut off"
	noFiles = "the prober has no file descriptors"
	lossy   = "of the checks 60 % are lost"
)

// prober is the health check as one process makes it.
type prober struct{ *process }

// Check answers as the backend behaves when it is asked.
func (p prober) Check(ctx context.Context, a netip.Addr) inventory.Result {
	w := p.w
	result := inventory.Result{Address: a, At: time.Now()}
	w.mu.Lock()
	p.beginCheck(a)
	outcome, takes := w.answer(a)
	w.mu.Unlock()
	if sleep(ctx, takes) != nil {
		outcome = inventory.LocalError
	}
	result.Outcome, result.Message = outcome, outcome.String()
	result.NoConnection, result.Latency = outcome == inventory.Silent, time.Since(result.At)
	switch outcome {
	case inventory.Pass:
		result.Reason = inventory.Ready
	case inventory.Refused:
		result.Reason = inventory.ProbeRefused
	case inventory.Silent:
		result.Reason = inventory.ProbeTimeout
	case inventory.LocalError, inventory.Elsewhere:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p.endCheck(a, outcome, result.At)
	return result
}

// answer is what a check of the address learns, and how long that takes.
func (w *world) answer(a netip.Addr) (inventory.Outcome, time.Duration) {
	b, ok := w.backends[a]
	if !ok {
		b = w.listen(a, refuses)
	}
	b.asked++
	takes := odd(b.odd)
	is := b.is
	switch {
	case w.probing.in(cutOff), w.blind(a):
		is = silent
	case w.probing.in(noFiles):
		is = troubles
	case w.probing.in(lossy) && w.dice("loss "+a.String(), b.asked).IntN(10) < 6:
		is = silent
	case is == flaps:
		is = pick(w.dice(a.String(), b.asked), passes, refuses, silent, slow, troubles)
	}
	switch is {
	case slow:
		return inventory.Pass, takes + time.Duration(w.dice("slow "+a.String(), b.asked).Int64N(int64(w.set.healthTimeout)))
	case refuses:
		return inventory.Refused, takes
	case silent:
		return inventory.Silent, takes + w.set.healthTimeout
	case troubles:
		return inventory.LocalError, takes
	case passes, flaps:
	}
	return inventory.Pass, takes
}
