package events

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 5 * time.Second
	// attempts is how often an Event is sent at the most, with pauses that double
	// from pause: half a minute in all.
	attempts = 6
	pause    = time.Second
	// maxPause bounds what the server may ask to wait (Retry-After).
	maxPause = time.Minute
	// maxInstance is the most bytes of a reportingInstance.
	maxInstance = 128
	// forgotten is after what time the trouble of a namespace is forgotten.
	forgotten = time.Hour
)

// kind is the kind of a trouble; each is reported once.
type kind int

const (
	none kind = iota
	retried
	forbidden
	other
)

// trouble is why the last Event of a namespace was not delivered, and when that was.
type trouble struct {
	kind kind
	at   time.Time
}

// deliver sends one Event. Where that fails and may succeed later, the Event waits among
// the retries, and so do later ones of its namespace.
func (a *Announcer) deliver(ctx, last context.Context, i item) {
	i.event = a.event(i)
	if (a.trouble(i) == none || ctx.Err() != nil) && !a.attempt(ctx, last, &i) {
		return
	}
	select {
	case a.retries <- i:
	default:
		a.leaveOut(i, &a.dropped)
	}
}

// retry sends Events again until they are delivered, or given up: those of one namespace one
// after another, and none waits for the pause of another namespace.
func (a *Announcer) retry(ctx, last context.Context) {
	waiting := newLine(cap(a.retries))
	for coming := a.retries; coming != nil || waiting.total > 0; {
		next, ok := waiting.soonest()
		var due <-chan time.Time
		var ended <-chan struct{}
		if ok {
			due, ended = time.After(time.Until(waiting.of[next][0].notBefore)), ctx.Done()
		}
		select {
		case i, open := <-coming:
			if !open {
				coming = nil
			} else if left := waiting.add(i); left != nil {
				a.leaveOut(*left, &a.dropped)
			}
			continue
		case <-due:
		case <-ended:
		}
		if !a.attempt(ctx, last, &waiting.of[next][0]) {
			waiting.take(next)
		}
	}
}

// attempt sends an Event, and reports whether it is to be sent again: not where the Event of the
// namespace before it was given up. When ctx has ended there are no further attempts, and at the
// end of last no request.
func (a *Announcer) attempt(ctx, last context.Context, i *item) (again bool) {
	if last.Err() != nil {
		a.dropped.Add(1)
		return false
	}
	for i.tries++; ; i.tries++ {
		err := a.send(last, i.event)
		switch exists := apierrors.IsAlreadyExists(err); {
		case err == nil, exists && i.sent:
			// Or the answer to the attempt before was lost on the way.
			a.delivered.Add(1)
			a.tell(*i, none, nil)
		case exists && i.tries < attempts:
			// Another process chose the same nanosecond.
			i.event.Name = i.name(i.at.Add(time.Duration(1 + rand.IntN(1_000_000))))
			continue
		case last.Err() != nil:
			a.dropped.Add(1) // stopping is not a failure
		case lacksRight(err):
			a.fail(*i, forbidden, fmt.Errorf("the right to create events of events.k8s.io in namespace %s is missing; add it to the Role: %w", i.subject.namespace, err))
		case !worthwhile(err), i.tries >= attempts, ctx.Err() != nil, a.trouble(*i) > retried:
			a.fail(*i, other, fmt.Errorf("send Event %s on Service %s/%s: %w", i.event.Reason, i.subject.namespace, i.subject.service, err))
		default:
			a.tell(*i, retried, nil)
			i.sent, i.notBefore = true, time.Now().Add(wait(i.tries, err))
			return true
		}
		return false
	}
}

func (a *Announcer) send(ctx context.Context, event *eventsv1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return a.opts.Client.Create(ctx, kube.Events(event.Namespace), event, nil)
}

func (a *Announcer) event(i item) *eventsv1.Event {
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: i.subject.namespace, Name: i.name(i.at)},
		EventTime:           metav1.NewMicroTime(i.at),
		ReportingController: Controller,
		ReportingInstance:   transport.Cut(a.opts.Instance, maxInstance),
		Reason:              string(i.Reason),
		Action:              action(i.Reason),
		Type:                corev1.EventTypeNormal,
		Note:                note(i),
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: i.subject.namespace, Name: i.subject.service, UID: types.UID(i.Service),
		},
	}
	if i.Reason.Warning() {
		e.Type = corev1.EventTypeWarning
	}
	return e
}

// action names what the daemon did when the notice arose.
func action(reason explain.NoticeReason) string {
	switch reason {
	case explain.EndpointsUpdated, explain.StoredOtherwise:
		return "Write"
	case explain.SourceUnavailable, explain.SourceRecovered, explain.PlacementUnavailable, explain.PlacementRecovered, explain.StoreUnavailable, explain.StoreRecovered:
		return "Read"
	case explain.RemovalHeld, explain.RemovalReleased, explain.RemovalPending, explain.RemovalAccepted, explain.FailOpenEngaged, explain.FailOpenCleared,
		explain.PlacementRejected, explain.UnknownNode, explain.ReplicasDisagree:
		return "Guard"
	case explain.Invalid, explain.PoolNotAllowed, explain.PortNotAllowed, explain.RemoteNamespaceNotAllowed, explain.LimitReached, explain.HealthCheckPortAmbiguous,
		explain.UnknownAnnotation, explain.BindingWins, explain.TrafficPolicyLocal, explain.TopologyIgnored, explain.FamilyUnused, explain.HeadlessPort,
		explain.TakesOverWithLess:
		return "Resolve"
	case explain.SliceOwnedByOther, explain.MirroredSliceFound:
	}
	return "Check"
}

// name is the name of an Event, made as client-go makes it. It stays the same in
// every attempt, so that a lost answer never makes two Events.
func (i item) name(at time.Time) string {
	return fmt.Sprintf("%s.%x", i.subject.service, at.UnixNano())
}

// leaveOut leaves the notice out, and so those that it counts.
func (a *Announcer) leaveOut(i item, counted *atomic.Uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i.leaveOut(counted)
}

// leaveOut is that of the Announcer for who has its lock.
func (i item) leaveOut(counted *atomic.Uint64) {
	counted.Add(1)
	i.subject.leftOut[i.Reason] += i.leftOut + 1
}

// fail gives the notice up.
func (a *Announcer) fail(i item, k kind, err error) {
	a.leaveOut(i, &a.failed)
	a.tell(i, k, err)
}

// trouble returns the kind of that of the namespace.
func (a *Announcer) trouble(i item) kind {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.troubled[i.subject.namespace].kind
}

// tell notes what became of an Event, and reports a kind of trouble when the first namespace
// has it, and the end when no namespace has any. A namespace that had no Event for an hour may
// be gone.
func (a *Announcer) tell(i item, k kind, err error) {
	now, known := time.Now(), false
	a.mu.Lock()
	maps.DeleteFunc(a.troubled, func(_ string, t trouble) bool { return now.Sub(t.at) > forgotten })
	for _, t := range a.troubled {
		known = known || t.kind == k
	}
	if k == none {
		delete(a.troubled, i.subject.namespace)
	} else {
		a.troubled[i.subject.namespace] = trouble{k, now}
	}
	news := k > retried && !known || a.told && len(a.troubled) == 0
	a.told = (a.told || news) && len(a.troubled) > 0
	a.mu.Unlock()
	if news {
		a.opts.Trouble(err)
	}
}

// lacksRight reports whether a right is missing. A namespace that is being deleted, or has as
// many Events as its quota allows, is forbidden as well.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		!strings.Contains(err.Error(), "exceeded quota")
}

// worthwhile reports whether the same request may succeed later.
func worthwhile(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the server was not reached, or did not answer
	}
	code := int(status.Status().Code)
	return code >= http.StatusInternalServerError || slices.Contains([]int{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests}, code)
}

// wait is how long to wait after an attempt: as long as the server asks for, or
// anything from half of a pause that doubles to all of it.
func wait(attempt int, err error) time.Duration {
	if failed := new(kube.Error); errors.As(err, &failed) && failed.RetryAfter > 0 {
		return min(failed.RetryAfter, maxPause)
	}
	longest := pause << (attempt - 1)
	return longest/2 + rand.N(longest/2)
}
