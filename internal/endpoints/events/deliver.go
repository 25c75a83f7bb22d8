package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
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
)

// kind is the kind of a trouble; each is reported once.
type kind int

const (
	none kind = iota
	forbidden
	other
)

// deliver sends one Event, again if that may help. When ctx has ended there are
// no pauses and no further attempts, and at the end of last no request.
func (a *Announcer) deliver(ctx, last context.Context, i item) {
	if last.Err() != nil {
		a.count(func(s *Stats) { s.Dropped++ })
		return
	}
	event, sent := a.event(i), false
	for attempt := 1; ; attempt++ {
		err := a.send(last, event)
		switch exists := apierrors.IsAlreadyExists(err); {
		case err == nil, exists && sent:
			// Or the answer to the attempt before was lost on the way.
			a.count(func(s *Stats) { s.Delivered++ })
			a.tell(none, nil)
			return
		case exists && attempt < attempts:
			// Another process chose the same nanosecond.
			event.Name = i.name(i.at.Add(time.Duration(1 + rand.IntN(1_000_000))))
			continue
		case last.Err() != nil:
			a.count(func(s *Stats) { s.Dropped++ }) // stopping is not a failure
			return
		case lacksRight(err):
			a.fail(i, forbidden, fmt.Errorf("the right to create events of events.k8s.io in namespace %s is missing; add it to the Role: %w", i.subject.namespace, err))
			return
		case !worthwhile(err), attempt == attempts, !kube.Wait(ctx, wait(attempt, err)):
			a.fail(i, other, fmt.Errorf("send Event %s on Service %s/%s: %w", event.Reason, i.subject.namespace, i.subject.service, err))
			return
		}
		sent = true
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

// fail gives the notice up: it is left out, and so are those that it counts.
func (a *Announcer) fail(i item, k kind, err error) {
	a.mu.Lock()
	i.subject.leftOut[i.Reason] += i.leftOut + 1
	a.stats.Failed++
	a.mu.Unlock()
	a.tell(k, err)
}

// tell reports a trouble, or its end, once.
func (a *Announcer) tell(k kind, err error) {
	a.mu.Lock()
	news := a.troubled != k
	a.troubled = k
	a.mu.Unlock()
	if news {
		a.opts.Trouble(err)
	}
}

// lacksRight reports whether a right is missing. A namespace that is being deleted
// is forbidden as well.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// worthwhile reports whether the same request may succeed later.
func worthwhile(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // the server was not reached, or did not answer
	}
	switch code := int(status.Status().Code); code {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		return code >= http.StatusInternalServerError
	}
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
