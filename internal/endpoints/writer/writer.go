package writer

import (
	"context"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Store holds the slices.
type Store interface {
	// Load returns the slices and the Service as they are.
	Load(ctx context.Context) (publish.State, error)
	// Write carries one write out and returns the slice's version afterwards,
	// empty where that is not known without another load. An error that wraps
	// publish.ErrConflict says that the slice is no longer what the write was computed
	// from, one that wraps publish.ErrUnavailable that no slice can be written.
	Write(ctx context.Context, write publish.Write) (version string, err error)
}

// WriteTimeout bounds one request to the store; a write that is under way when the
// program is told to stop still ends within it (contract 30).
const WriteTimeout = 5 * time.Second

// Options are what a Target is made of.
type Options struct {
	// Fills are what fills the Service: one for each of its pools, so at least one.
	Fills []Fill
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	// Observe gets the outcome of each event after its writes were sent. It must
	// not block, and may be nil.
	Observe func(Outcome)
}

// Fill is how one pool fills a Service.
type Fill struct {
	// Pool is the name under which the pool's verdicts are published.
	Pool  string
	Store Store
	// Target is the Service, and how the slices of this pool are named and made.
	Target publish.Target
	// Phase is what it is at first; Target.Move changes it.
	Phase Phase
	// State is what the store holds, if that is known already; where it is nil, the
	// store is read before anything is decided: without that published endpoints
	// would be forgotten.
	State *publish.State
}

// Phase is how far a hand-over has taken the slices of one pool.
type Phase uint8

// The phases.
const (
	// Serving slices publish what the pool decided.
	Serving Phase = iota
	// Draining ones publish the endpoints that still pass as draining, without those that
	// other slices of the Service publish as ready.
	Draining
	// Emptied ones publish no endpoint, whether anything was decided or not.
	Emptied
)

// key tells the slices of one fill from those of all others.
func (f Fill) key() string { return f.Target.Namespace + "/" + f.Target.SliceName }

// service names the Service.
func (f Fill) service() string { return f.Target.Namespace + "/" + f.Target.Service }

// Filler fills one Service of a Set.
type Filler struct {
	opts  Options
	inbox *inbox
	gone  chan struct{}

	// Only the loop touches these: requests is how many are in flight, and one more before
	// it is removed.
	fills    []*fill
	requests int
}

// Gone is closed when the target was removed and none of its requests is in flight any
// more, so that its stores may be closed. It stays open where Run ended before.
func (t *Filler) Gone() <-chan struct{} { return t.gone }

// ended notes the end of a request, or of the target.
func (t *Filler) ended() {
	if t.requests--; t.requests == 0 {
		close(t.gone)
	}
}

// Changed says that another client may have changed what the stores answer. It may
// be called from any goroutine and never blocks.
func (t *Filler) Changed() { t.inbox.put(func(n *news) { n.changed[t] = true }) }

// Move gives each fill its phase, in the order of Options.Fills. It may be called from any
// goroutine and never blocks.
func (t *Filler) Move(phases []Phase) { t.inbox.put(func(n *news) { n.phases[t] = phases }) }

// Load reads a store within WriteTimeout. A store that panics gives an error.
func Load(ctx context.Context, store Store) (state publish.State, err error) {
	ctx, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	defer recovered(&err)
	return store.Load(ctx)
}

// Write carries one write out within WriteTimeout, even if ctx ends meanwhile. A
// store that panics gives an error.
func Write(ctx context.Context, store Store, w publish.Write) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), WriteTimeout)
	defer cancel()
	r := Result{Write: w, Sent: time.Now()}
	r.Version, r.Err = write(ctx, store, w)
	if r.Err != nil {
		r.Err = fmt.Errorf("%s slice %s: %w", w.Operation, w.Slice.Name, r.Err)
	}
	return r
}

func write(ctx context.Context, store Store, w publish.Write) (version string, err error) {
	defer recovered(&err)
	return store.Write(ctx, w)
}
