package lease_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// process is one candidate for the Lease.
type process struct {
	t       *testing.T
	client  *client
	elector *lease.Elector
	// leads is closed when its work begins, stopping when the work is asked to end,
	// done when Run has returned err.
	leads, stopping, done chan struct{}
	err                   error
	// stop asks it to stop; finish lets its work end by itself with an error.
	stop   context.CancelFunc
	finish chan error
	// linger is how long its work takes to end when it is asked to.
	linger time.Duration

	// cause is why its work was asked to end.
	cause error

	mu      sync.Mutex
	changes []lease.State
	// heard are the states that Noted was called with.
	heard []lease.State
}

// linger is how long that takes by default.
const linger = 3 * time.Second

// prepare makes a process that does not stand yet.
func prepare(t *testing.T, a *api, who string) *process {
	t.Helper()
	p := &process{t: t, client: &client{api: a, who: who}, leads: make(chan struct{}), stopping: make(chan struct{}), done: make(chan struct{}), finish: make(chan error, 1), linger: linger}
	var err error
	p.elector, err = lease.New(lease.Options{
		Way: kube.Fixed(p.client.config()), Namespace: "infra", Name: "lease", Identity: who,
		Changed: func(_, after lease.State) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.changes = append(p.changes, after)
		},
		Noted: func(state lease.State) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.heard = append(p.heard, state)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start runs a process until the test ends. Its work lasts until it is asked to stop,
// and a bit longer.
func start(t *testing.T, a *api, who string) *process {
	t.Helper()
	p := prepare(t, a, who)
	p.run()
	return p
}

func (p *process) run() {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.stop = cancel
	p.t.Cleanup(func() {
		cancel()
		<-p.done
	})
	go func() {
		defer close(p.done)
		p.err = p.elector.Run(ctx, func(ctx context.Context) error {
			close(p.leads)
			select {
			case err := <-p.finish:
				return err
			case <-ctx.Done():
				p.cause = context.Cause(ctx)
				close(p.stopping)
				time.Sleep(p.linger)
				return nil
			}
		})
	}()
}

// leading reports whether its work has begun.
func (p *process) leading() bool {
	synctest.Wait()
	return closed(p.leads)
}

// closed reports whether a channel without a sender is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ended reports whether Run has returned.
func (p *process) ended() bool {
	synctest.Wait()
	return closed(p.done)
}

// wantLeading demands that exactly these lead, and may write.
func wantLeading(t *testing.T, all []*process, want ...*process) {
	t.Helper()
	synctest.Wait()
	for _, p := range all {
		leads := false
		for _, w := range want {
			leads = leads || p == w
		}
		if got := p.elector.Remaining() > 0; got != leads {
			t.Errorf("%s may write: got %t, want %t", p.client.who, got, leads)
		}
	}
}

// within demands that the condition holds within d.
func within(t *testing.T, d time.Duration, what string, condition func() bool) {
	t.Helper()
	began := time.Now()
	for !condition() {
		if time.Since(began) > d {
			t.Fatalf("%s: not within %s", what, d)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}
}

// wantLost demands that the process ended because it lost the Lease.
func (p *process) wantLost() {
	p.t.Helper()
	<-p.done
	if !errors.Is(p.err, lease.ErrLost) {
		p.t.Errorf("%s: got %v, want ErrLost", p.client.who, p.err)
	}
	if state := p.elector.State(); state.Leading || !errors.Is(state.LastErr, lease.ErrLost) {
		p.t.Errorf("%s: got %+v, want that it says it has lost the lease", p.client.who, state)
	}
}

// told returns the states that were reported so far.
func (p *process) told() []lease.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]lease.State{}, p.changes...)
}

// held is a Lease that another process holds.
func held(who string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "lease"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &who, LeaseDurationSeconds: ptr.To[int32](15), LeaseTransitions: ptr.To[int32](4),
			AcquireTime: &metav1.MicroTime{Time: renewed}, RenewTime: &metav1.MicroTime{Time: renewed},
		},
	}
}

// holds puts that Lease into the API server.
func (a *api) holds(who string, renewed time.Time) {
	a.change(func(*coordinationv1.Lease) *coordinationv1.Lease { return held(who, renewed) })
}
