package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// The times of the election; those of client-go and of Kubernetes' own
// controllers.
const (
	// LeaseDuration is how long after its last renewal a holder keeps the Lease.
	LeaseDuration = 15 * time.Second
	// RenewDeadline is how long after the start of its last successful renewal
	// a holder may write. The rest of LeaseDuration is for requests under way.
	RenewDeadline = 10 * time.Second
	// RetryPeriod is the time between two renewals, and the longest between two
	// attempts to see the Lease.
	RetryPeriod = 2 * time.Second
)

const (
	// requestTimeout bounds one request, so that two fit between the first
	// renewal that was due and the end of RenewDeadline.
	requestTimeout = 4 * time.Second
	// releaseTimeout bounds giving the Lease back. What was to be done took up
	// to five seconds to end, and the process may take ten (contract 30).
	releaseTimeout = 3 * time.Second
	// Stalled is how long the election may not have come round before the
	// program counts as dead (contract 31).
	Stalled = 30 * time.Second
)

// ErrLost says that the Lease is not held any more, or not surely: what needs it
// must stop.
var ErrLost = errors.New("the lease is lost")

// ErrNotElected says that the Lease was never held before the time was over.
var ErrNotElected = errors.New("not elected")

// Options are what an Elector is made of.
type Options struct {
	// Way is the access to the API server.
	Way kube.Way
	// Namespace and Name are those of the Lease.
	Namespace, Name string
	// Identity is what the Lease calls this process. No other process, not even
	// an earlier one of the same Pod, may have the same.
	Identity string
	// Node is the node that this process runs on, for the Lease to say; empty where that is
	// not known.
	Node string
	// Changed gets each state that differs from the one before; it may be nil. It
	// is not called twice at a time and must not block.
	Changed func(before, after State)
	// Noted gets the state on a standby, where the holder or its note is another one; it may
	// be nil. It is called with no holder when the standby leads or ends. It is not called
	// twice at a time and must not block.
	Noted func(State)
	// Random draws how long to wait after a round without a result: at least 0
	// and less than 1. It is rand.Float64 where it is nil; the simulation repeats a seed by it.
	Random func() float64
}

// State is what is known of the election.
type State struct {
	// Enabled says that there is an election at all. Without one, every process
	// leads.
	Enabled bool
	// Leading says that this process holds the Lease.
	Leading bool
	// Holder is the identity of the process that holds the Lease as far as is
	// known, empty when there is none.
	Holder string
	// Address is where that process answers the other replicas; not valid where the
	// Lease does not say it.
	Address netip.AddrPort
	// Protocol is the version in which it does; empty where the Lease does not say it.
	Protocol string
	// Note is what that process tells the standbys, see Elector.Note.
	Note string
	// HandedOver is when the Lease was last handed over, by whichever process; zero for
	// never.
	HandedOver time.Time
	// Since is when Leading or Holder last changed.
	Since time.Time
	// LastErr is why the last request, the Lease or the note failed; nil after a success.
	LastErr error
}

// Elector stands for one Lease. Its methods may be called at the same time.
type Elector struct {
	leases // of the one Lease

	opts Options
	// replies are the requests for the Lease of the replies.
	replies leases
	// news has a value while a note is to be written at once.
	news chan struct{}

	mu    sync.Mutex
	state State
	// renewed runs since the start of the last successful renewal. It counts
	// while leading.
	renewed stopwatch
	// listening is where this process answers the other replicas, if it does.
	listening netip.AddrPort
	// notes are how many may be written.
	notes *rate.Limiter
	// note is what the Lease is to tell the standbys.
	note string
	// stop ends the work while there is some, and successor is to hold the Lease then.
	stop      context.CancelCauseFunc
	successor string
	// beat is when the election last came round; zero while it does not run.
	beat time.Time
}

// New checks the options. It asks for nothing.
func New(opts Options) (*Elector, error) {
	if opts.Namespace == "" || opts.Name == "" || opts.Identity == "" {
		return nil, errors.New("leader election: namespace and name of the lease, and an identity, are required")
	}
	if opts.Changed == nil {
		opts.Changed = func(_, _ State) {}
	}
	if opts.Noted == nil {
		opts.Noted = func(State) {}
	}
	if opts.Random == nil {
		opts.Random = rand.Float64
	}
	client, err := kube.Open(kube.Options{Way: opts.Way, Timeout: requestTimeout})
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Elector{
		leases: leases{client, opts.Namespace, opts.Name}, replies: leases{client, opts.Namespace, opts.Name + RepliesSuffix},
		opts: opts, news: make(chan struct{}, 1), notes: rate.NewLimiter(rate.Every(notePace), notesAtOnce-1), state: State{Enabled: true, Since: time.Now()},
	}, nil
}

// Run waits until this process holds the Lease, and then runs do. The context of
// do ends with ctx, and when the Lease is lost. The Lease is renewed until do has
// returned, and only then released. Run returns what do returned, or an error
// that wraps ErrLost, or ErrHandedOver after HandOver; when ctx ended before the Lease
// was held, it returns an error that wraps ErrNotElected and the cause. It can be called
// once.
func (e *Elector) Run(ctx context.Context, do func(context.Context) error) error {
	defer e.client.Close()
	e.round(time.Now())
	defer e.round(time.Time{})
	lease, err := e.campaign(ctx)
	if err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	e.mu.Lock()
	e.stop = stop
	e.mu.Unlock()
	holding, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	held := make(chan error, 1)
	go func() {
		err := e.hold(holding, lease)
		stop(err)
		held <- err
	}()
	done := do(working)
	leave()
	if lost := <-held; lost != nil {
		return lost
	}
	if successor := e.resign(ctx); successor != "" {
		return e.handedOver(successor)
	}
	return done
}

// resign releases the Lease, and returns for which process if it is handed over. Others
// that find it still held wait until it expires, so a failure costs time and nothing else.
func (e *Elector) resign(ctx context.Context) (successor string) {
	// No write may pass from here on, whatever becomes of the request.
	e.mu.Lock()
	e.renewed, e.stop, successor = stopwatch{}, nil, e.successor
	e.mu.Unlock()
	after, err := e.release(ctx, successor)
	e.change(func(s *State) {
		s.Leading, s.LastErr = false, err
		if err == nil || errors.Is(err, ErrLost) {
			s.take(after)
		}
	})
	return successor
}

// release gives the Lease back if it is ours, to a successor if there is one.
func (e *Elector) release(ctx context.Context, successor string) (record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for {
		lease, _, err := e.look(ctx)
		if err != nil {
			return record{}, err
		}
		if lease == nil {
			return record{}, nil
		}
		if is := recordOf(lease); is.holder != e.opts.Identity {
			if is.holder == "" || is.holder == successor {
				return is, nil
			}
			return is, fmt.Errorf("%w: %s holds it", ErrLost, is.holder)
		}
		// A renewal that was cancelled may still arrive and come between.
		lease = released(lease, successor)
		if _, err = e.update(ctx, lease); !raced(err) {
			return recordOf(lease), err
		}
	}
}

// adopt notes a successful request that made us the holder, or kept us so, and why it lacked the
// note.
func (e *Elector) adopt(lease *coordinationv1.Lease, started stopwatch, refused error) {
	e.mu.Lock()
	e.renewed = started
	e.mu.Unlock()
	r := recordOf(lease)
	e.change(func(s *State) {
		s.Leading, s.LastErr = true, refused
		s.take(r)
	})
}
