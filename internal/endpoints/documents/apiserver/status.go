package apiserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

const (
	// look is the time between two looks at what objects are to say.
	look = time.Second
	// least is the least time between two writes of one object.
	least = 5 * time.Second
	// mostBusy is how long slices that wait hold up every status at most.
	mostBusy = 30 * time.Second
	// mostEarly is how long an object is waited for of which more will be known soon.
	mostEarly = 30 * time.Second
	// batch is how many are written before it is looked again whether slices wait, and
	// lanes how many at a time.
	batch = 32
	lanes = 4
)

// Status is what an object is to say of itself.
type Status struct {
	Key documents.Key
	// UID is that of the object: another one of the same name says nothing of this.
	UID string
	// Pool or Binding is set. Their conditions need no time.
	Pool    *v1alpha1.EndpointPoolStatus
	Binding *v1alpha1.EndpointBindingStatus
	// Early says that more will be known soon.
	Early bool
}

// StatusOptions say what is written, and how.
type StatusOptions struct {
	// Want returns what all objects are to say, one after the other, and whether slices wait
	// to be written.
	Want func() (all iter.Seq[Status], busy bool)
	// Revision is another one whenever Want may return something else than before, and every
	// 30 seconds. While it stays, and so do the objects, Want is not called: to work out what
	// 1,000 objects are to say is most of what they cost at rest.
	Revision func() uint64
	// Fence goes around each write; nil for none.
	Fence func(ctx context.Context, write func(context.Context) error) error
	// Trouble is called with the objects whose status is not written, those that were
	// refused last first, when there are others than before, and with none when all are
	// written again.
	Trouble func([]Failure)
}

// statuses writes the status of objects.
type statuses struct {
	StatusOptions
	watcher *Watcher

	mu sync.Mutex
	// wrote is when each object was written last, and since when it is early.
	wrote, early map[documents.Key]time.Time
	refusals     map[documents.Key]*refusal
}

// Tell keeps the status of every object as it is to be, until ctx ends. An object is
// written at most once in five seconds, when no slice waits, and not at all where it says
// that already. Objects whose status is refused are tried again apart, ever more rarely.
func (w *Watcher) Tell(ctx context.Context, options StatusOptions) {
	s := &statuses{
		StatusOptions: options, watcher: w,
		wrote: make(map[documents.Key]time.Time), early: make(map[documents.Key]time.Time), refusals: make(map[documents.Key]*refusal),
	}
	if s.Fence == nil {
		s.Fence = func(ctx context.Context, write func(context.Context) error) error { return write(ctx) }
	}
	defer w.unwritten.Store(nil) // it is another replica's then
	var again sync.WaitGroup
	defer again.Wait()
	again.Go(func() { s.keep(ctx, true) })
	s.keep(ctx, false)
}

// revision is that of what is compared: what objects are to say, and the objects.
type revision struct{ wanted, objects uint64 }

// keep writes the objects whose last write was refused, or the others.
func (s *statuses) keep(ctx context.Context, refused bool) {
	var busySince time.Time
	var equal revision // where nothing differed and nothing waited; 0 for none
	for kube.Wait(ctx, look) {
		if is := (revision{s.Revision(), s.watcher.revision.Load()}); is != equal {
			equal = revision{}
			if s.equalize(ctx, refused, &busySince) {
				equal = is
			}
		}
		s.tell()
	}
}

// equalize writes what differs, and reports whether nothing is left that differs or waits.
func (s *statuses) equalize(ctx context.Context, refused bool, busySince *time.Time) bool {
	for s.any(refused) {
		now := time.Now()
		all, busy := s.Want()
		if !busy {
			*busySince = time.Time{}
		} else if busySince.IsZero() {
			*busySince = now
		}
		due, waits := s.due(all, now, refused)
		if len(due) == 0 {
			return !waits
		}
		if busy && now.Sub(*busySince) < mostBusy || !s.write(ctx, due, refused) {
			return false // the rest waits for the next look
		}
	}
	return false
}

// update is one write.
type update struct {
	key     documents.Key
	object  []byte
	version string
	says    summary
}

// due returns what differs and may be written now, no more than a batch. It reports whether
// something waits that may differ.
func (s *statuses) due(all iter.Seq[Status], now time.Time, refused bool) (due []update, waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := make(map[documents.Key]bool)
	for want := range all {
		if known[want.Key] = true; (s.refusals[want.Key] != nil) != refused {
			continue
		}
		if !want.Early {
			delete(s.early, want.Key)
		} else if since, known := s.early[want.Key]; !known || now.Sub(since) < mostEarly {
			if !known {
				s.early[want.Key] = now
			}
			waits = true
			continue
		}
		if last, ever := s.wrote[want.Key]; ever && now.Sub(last) < least {
			waits = true
			continue
		}
		u, differs := s.watcher.differs(&want, now)
		switch r := s.refusals[want.Key]; {
		case !differs:
			delete(s.refusals, want.Key)
		case r != nil && now.Before(r.next) && r.version == u.version: // another version may be accepted
			waits = true
		default:
			if due = append(due, u); len(due) == 2*batch {
				due = s.first(due)
			}
		}
	}
	s.forget(known, now)
	return s.first(due), waits
}

// first returns a batch of those that were written longest ago: objects that change all the time
// hold up no other. It expects the lock.
func (s *statuses) first(due []update) []update {
	slices.SortStableFunc(due, func(a, b update) int { return s.wrote[a.key].Compare(s.wrote[b.key]) })
	return due[:min(len(due), batch)]
}

// write writes some of them, and reports whether any was accepted.
func (s *statuses) write(ctx context.Context, due []update, refused bool) bool {
	s.mu.Lock()
	for _, u := range due {
		s.wrote[u.key] = time.Now()
	}
	s.mu.Unlock()
	bound := firstBound
	if refused {
		bound = laterBound
	}
	queue := make(chan update)
	var running sync.WaitGroup
	var taken atomic.Bool
	for range min(lanes, len(due)) {
		running.Go(func() {
			for u := range queue {
				bounded, cancel := context.WithTimeout(ctx, bound)
				err := s.Fence(bounded, func(ctx context.Context) error { return s.watcher.update(ctx, u) })
				cancel()
				if ctx.Err() == nil && s.note(u, err) {
					taken.Store(true)
				}
			}
		})
	}
	for _, u := range due {
		queue <- u
	}
	close(queue)
	running.Wait()
	return taken.Load()
}

// update writes one status, and takes over what the server answers.
func (w *Watcher) update(ctx context.Context, u update) error {
	k := w.kindOf(u.key.Kind)
	resource, answer := k.resource, &kube.Raw{}
	resource.Namespace = u.key.Namespace
	if err := w.client.UpdateStatus(ctx, resource, u.key.Name, u.object, answer); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if o := k.objects[u.key]; o != nil && o.document.Object.UID == string(answer.UID) && !newer(o.version, answer.ResourceVersion) {
		now := *o
		now.version, now.has, now.sent = answer.ResourceVersion, k.summary(answer.JSON), nil
		if now.has.digest != u.says.digest {
			now.sent = &attempt{u.says, time.Now()}
		}
		k.objects[u.key] = &now
	}
	return nil
}

// differs returns the object with the status that is wanted, and whether it says something
// else.
func (w *Watcher) differs(want *Status, now time.Time) (u update, differs bool) {
	k := w.kindOf(want.Key.Kind)
	k.mu.Lock()
	o := k.objects[want.Key]
	k.mu.Unlock()
	if o == nil || o.leftOut || o.document.Object.UID != want.UID {
		return update{}, false
	}
	metadata := map[string]string{"name": want.Key.Name, "uid": want.UID, "resourceVersion": o.version}
	if want.Key.Namespace != "" {
		metadata["namespace"] = want.Key.Namespace
	}
	var status any
	var says summary
	if want.Pool != nil {
		to := *want.Pool
		to.Conditions = o.last().dated(to.Conditions, now)
		status, says = to, summaryOf(to, to.Conditions)
	} else {
		to := *want.Binding
		to.Conditions = o.last().dated(to.Conditions, now)
		status, says = to, summaryOf(to, to.Conditions)
	}
	if o.says(says.digest, now) {
		return update{}, false
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": want.Key.Kind, "metadata": metadata, "status": status,
	})
	return update{want.Key, object, o.version, says}, err == nil
}

// kindOf returns what is known of a kind.
func (w *Watcher) kindOf(name string) *kind {
	return w.kinds[slices.IndexFunc(w.kinds, func(k *kind) bool { return k.name == name })]
}

// summary is what is kept of the status that an object has: enough to see whether another one
// differs, and since when its conditions are as they are. The texts of 1,000 objects would
// be memory.
type summary struct {
	digest digest
	since  []transition
}

// digest tells one status from another.
type digest [sha256.Size / 2]byte

// transition is when the status of a condition changed last.
type transition struct {
	kind   string
	status metav1.ConditionStatus
	at     int64 // in seconds, as the API server stores it
}

// summary reads the status of an object. What cannot be read differs from all that is wanted.
func (k *kind) summary(object []byte) summary {
	if k.name == v1alpha1.KindEndpointPool {
		var is struct{ Status v1alpha1.EndpointPoolStatus }
		_ = json.Unmarshal(object, &is)
		return summaryOf(is.Status, is.Status.Conditions)
	}
	var is struct {
		Status v1alpha1.EndpointBindingStatus
	}
	_ = json.Unmarshal(object, &is)
	return summaryOf(is.Status, is.Status.Conditions)
}

func summaryOf(status any, conditions []metav1.Condition) summary {
	var out summary
	if text, err := json.Marshal(status); err == nil {
		sum := sha256.Sum256(text)
		out.digest = digest(sum[:len(digest{})])
	}
	for _, c := range conditions {
		out.since = append(out.since, transition{c.Type, c.Status, c.LastTransitionTime.Unix()})
	}
	return out
}

// attempt is a status that the API server accepted and did not store as it was.
type attempt struct {
	summary
	at time.Time
}

// last is what the object was told last.
func (o *object) last() summary {
	if o.sent != nil {
		return o.sent.summary
	}
	return o.has
}

// says reports whether a status says nothing new. One that was not stored as it was is
// written again after a long time: the definition may be another one by then.
func (o *object) says(wanted digest, now time.Time) bool {
	return wanted == o.has.digest || o.sent != nil && wanted == o.sent.digest && now.Sub(o.sent.at) < mostRefused
}

// dated gives conditions the time when their status changed.
func (s summary) dated(to []metav1.Condition, now time.Time) []metav1.Condition {
	out := slices.Clone(to)
	for i := range out {
		out[i].LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
		for _, before := range s.since {
			if before.kind == out[i].Type && before.status == out[i].Status {
				out[i].LastTransitionTime = metav1.Unix(before.at, 0)
			}
		}
	}
	return out
}
