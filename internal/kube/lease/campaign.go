package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// errAgain says that the Lease has to be read again: another process was faster, or
// a watch ended as all do. It is no failure.
var errAgain = errors.New("read again")

// candidate is a process that stands by.
type candidate struct {
	*Elector
	seen observation
	// uncertain says that a request to take the Lease had no answer and may have
	// succeeded.
	uncertain bool
	// failures counts rounds without a result, in a row.
	failures int
	// told is the state that Noted was called with last.
	told State
}

// campaign waits until the Lease is ours and returns it, or an error when ctx
// has ended. It goes on while the API server is away or refuses.
func (e *Elector) campaign(ctx context.Context) (*coordinationv1.Lease, error) {
	c := &candidate{Elector: e}
	defer c.tell(State{Enabled: true})
	for ctx.Err() == nil {
		e.round(time.Now())
		lease, err := c.try(ctx)
		if lease != nil {
			return lease, nil
		}
		if ctx.Err() != nil {
			break
		}
		if !errors.Is(err, errAgain) {
			e.failed(err)
		}
		if err == nil {
			c.failures = 0
			continue
		}
		c.pause(ctx)
	}
	if c.uncertain {
		// Best effort, for the sake of the others.
		_, _ = e.release(ctx, "")
	}
	return nil, e.notElected(context.Cause(ctx))
}

// notElected says why the Lease was not won.
func (e *Elector) notElected(cause error) error {
	state := e.State()
	why := holds(state.Holder)
	if state.LastErr != nil {
		why = state.LastErr.Error()
	}
	return fmt.Errorf("lease %s/%s: %w (%s): %w", e.opts.Namespace, e.opts.Name, ErrNotElected, why, cause)
}

// holds says who holds the Lease.
func holds(holder string) string { return cmp.Or(holder, "no process") + " holds it" }

// try reads the Lease once, takes it if it is free, and otherwise follows it
// until it may be.
func (c *candidate) try(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, revision, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	c.observe(lease)
	if c.seen.expiresIn(c.opts.Identity) == 0 {
		return c.take(ctx, lease)
	}
	return nil, c.follow(ctx, revision)
}

// observe takes in the Lease and shows its holder.
func (c *candidate) observe(lease *coordinationv1.Lease) {
	c.seen.see(lease)
	if r := c.seen.record; r.holder != c.opts.Identity {
		c.change(func(s *State) { s.take(r) })
		c.tell(c.State())
	}
}

// take writes our name into the Lease, from what was seen of it.
func (c *candidate) take(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	started := begin()
	write := c.update
	if lease == nil {
		write = c.create
	}
	lease, err := write(ctx, taken(lease, c.opts, c.address(), ""))
	switch {
	case err == nil:
		c.adopt(lease, started, nil)
		return lease, nil
	case raced(err):
		return nil, errAgain
	case !answered(err):
		c.uncertain = true
	}
	return nil, err
}

// silence is how long a watch may be without an event. A holder renews more often,
// so the connection may be dead, which should be known before the Lease expires.
const silence = 3 * RetryPeriod

// follow watches the Lease from a revision on. It returns nil when it is time to
// read it again: it was released or has expired, or the watch was silent.
func (c *candidate) follow(ctx context.Context, revision string) error {
	events, err := c.watch(ctx, revision, nil)
	if err != nil {
		return err
	}
	defer events.Stop()
	c.failed(nil)
	for {
		c.round(time.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(c.seen.expiresIn(c.opts.Identity), silence)):
			return nil
		case event, open := <-events.ResultChan():
			lease, ok := event.Object.(*coordinationv1.Lease)
			if !open || !ok {
				return errAgain
			}
			c.failures = 0
			c.observe(lease)
			if c.seen.expiresIn(c.opts.Identity) == 0 {
				return nil
			}
		}
	}
}

// backoff is how long to wait after so many rounds without a result, at most RetryPeriod.
func (e *Elector) backoff(failures int) time.Duration {
	bound := min(100*time.Millisecond<<min(failures, 10), RetryPeriod)
	return bound/2 + time.Duration(e.opts.Random()*float64(bound/2))
}

// pause waits longer after each round without a result, at most RetryPeriod, and
// not beyond the end of the Lease.
func (c *candidate) pause(ctx context.Context) {
	wait := c.backoff(c.failures)
	c.failures++
	if left := c.seen.expiresIn(c.opts.Identity); left > 0 {
		wait = min(wait, left)
	}
	kube.Wait(ctx, wait)
}
