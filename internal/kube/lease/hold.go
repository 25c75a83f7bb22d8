package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hold renews the Lease until ctx ends, and then returns nil. It returns an
// error that wraps ErrLost when another process holds the Lease, or when it could
// not be renewed for RenewDeadline.
func (e *Elector) hold(ctx context.Context, lease *coordinationv1.Lease) error {
	next := schedule{pause: RetryPeriod, news: e.news}
	for next.due(ctx, e.Remaining()) {
		e.round(time.Now())
		if e.Remaining() == 0 {
			// A process that was stopped gets here before any request: another
			// one may lead by now.
			return e.lose(e.State().Holder, "not renewed for "+RenewDeadline.String(), e.State().LastErr)
		}
		started, note := begin(), e.takeNote(next.refused != nil)
		renewed, err := e.renew(ctx, lease, note)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // stopping is no failure of the lease
		case err != nil:
			e.failed(err)
			next = next.afterFailure(note, err)
		case recordOf(renewed).holder != e.opts.Identity:
			holder := recordOf(renewed).holder
			return e.lose(holder, holds(holder), nil)
		default:
			before := e.State().Note
			lease = renewed
			e.adopt(lease, started, next.refused)
			next = e.schedule(next, RetryPeriod-started.elapsed(), e.State().Note != before)
		}
	}
	return nil
}

// lose ends the right to write, and says why.
func (e *Elector) lose(holder, why string, cause error) error {
	err := fmt.Errorf("lease %s/%s: %w: %s", e.opts.Namespace, e.opts.Name, ErrLost, why)
	if cause != nil {
		err = fmt.Errorf("%w; last error: %w", err, cause)
	}
	e.change(func(s *State) {
		s.Leading, s.LastErr = false, err
		s.take(record{holder: holder, handedOver: s.HandedOver})
	})
	return err
}

// renewals is how often one renewal is tried when the Lease has changed.
const renewals = 3

// renew renews the Lease while it is surely held. A Lease that changed and still
// names us, because an answer was lost or a label was added, is renewed as it is
// now; one that was deleted is created again. One that another process has taken is
// returned as it is.
func (e *Elector) renew(ctx context.Context, lease *coordinationv1.Lease, note string) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Remaining())
	defer cancel()
	write := e.update
	for try := 1; ; try++ {
		renewed, err := write(ctx, taken(lease, e.opts, e.address(), note))
		if err == nil {
			return renewed, nil
		}
		if !raced(err) && !apierrors.IsNotFound(err) || try == renewals {
			return nil, err
		}
		seen, _, err := e.look(ctx)
		switch {
		case err != nil:
			return nil, err
		case seen == nil:
			write, lease = e.create, anew(lease)
		case recordOf(seen).holder != e.opts.Identity:
			return seen, nil
		default:
			write, lease = e.update, seen
		}
	}
}

// anew returns the Lease as one that is to be created.
func anew(lease *coordinationv1.Lease) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name, Labels: lease.Labels, Annotations: lease.Annotations},
		Spec:       lease.Spec,
	}
}
