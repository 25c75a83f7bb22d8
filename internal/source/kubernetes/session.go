package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

const (
	// silence is how long an open watch may be without an event: API servers send a
	// bookmark about once a minute.
	silence = 150 * time.Second
	// pauseMin and pauseMax bound the wait before the next attempt. client-go's
	// own goes up to a minute, which a change after an outage would wait.
	pauseMin = 200 * time.Millisecond
	pauseMax = time.Second
	// pauseList bounds that wait where each attempt costs a complete list, which may
	// be 80 MB, and longEnough is how long a session lasts that was worth its list.
	pauseList  = 30 * time.Second
	longEnough = time.Minute
	// answerTimeout bounds the wait for the first byte of a watch, and one page of a
	// list.
	answerTimeout = 20 * time.Second
)

// errGap ends a session whose nodes are too old to resume a watch.
var errGap = errors.New("the known nodes are too old to resume the watch: a complete list is needed")

// session is one complete list and the watches that go on from it. It ends when
// the credentials change, when the watch is silent, or when an outage was so long
// that a new complete list is due; the next session begins with one.
type session struct {
	client *kubeapi.Client
	cache  *nodeCache
	// notBefore is when the server wants to be asked again (Retry-After).
	notBefore time.Time
	// lastEvent is when anything was received last, or is expected.
	lastEvent atomic.Pointer[time.Time]
	// watchErr is why the watch failed, unless the server only cannot stream lists:
	// then a list would be of no use.
	watchErr error
}

// run lists and watches until the session is over.
func (s *session) run(ctx context.Context) {
	reflection := kubeapi.Reflection{
		Object: &corev1.Node{}, List: s.list, Watch: s.watch, Store: s.cache,
		Backoff: wait.Backoff{Duration: pauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: pauseMax},
	}
	_ = reflection.Run(ctx) // its error was noted where it arose
}

// list answers the reflector, which asks so only where the server cannot stream
// the list as the beginning of a watch.
func (s *session) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if s.watchErr != nil {
		return nil, s.watchErr // without a watch a list is out of date at once
	}
	if err := s.awaitRetryAfter(ctx); err != nil {
		return nil, err
	}
	list := &corev1.NodeList{}
	err := s.client.List(ctx, kubeapi.Nodes(), options, list)
	if err == nil && list.ResourceVersion == "" {
		err = errors.New("the answer to the list of nodes is not a list: it has no resourceVersion")
	}
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	s.touch()
	for i := range list.Items {
		list.Items[i] = *slim(&list.Items[i])
	}
	return list, nil
}

// watch opens a stream: one that begins with the complete list, or one that goes
// on from what is known.
func (s *session) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	resumes := options.SendInitialEvents == nil
	if err := s.awaitRetryAfter(ctx); err != nil {
		return nil, err
	}
	if resumes && !s.cache.resumable() {
		return nil, errGap
	}
	events, err := s.client.Watch(ctx, kubeapi.Nodes(), options)
	if err != nil {
		err = s.failed(ctx, err)
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			s.watchErr = err
		}
		return nil, err
	}
	s.touch()
	s.cache.connected(resumes)
	stream := &stream{inner: events, session: s, events: make(chan watch.Event), done: make(chan struct{})}
	go stream.pass()
	return stream, nil
}

// awaitRetryAfter waits until the server wants to be asked again.
func (s *session) awaitRetryAfter(ctx context.Context) error {
	if !kubeapi.Wait(ctx, time.Until(s.notBefore)) {
		return ctx.Err()
	}
	s.touch()
	return nil
}

// failed notes an error, unless we ended the request ourselves, and returns it
// in a form that may be shown.
func (s *session) failed(ctx context.Context, err error) error {
	if answer := new(kubeapi.Error); errors.As(err, &answer) && answer.RetryAfter > 0 {
		s.notBefore = time.Now().Add(answer.RetryAfter)
		s.expect(s.notBefore)
	}
	forbidden, unauthorized := apierrors.IsForbidden(err), apierrors.IsUnauthorized(err)
	switch {
	case forbidden:
		err = inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; grant the user of SECURED_KUBECONFIG get, list and watch on nodes", err))
	case unauthorized:
		err = inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; the API server does not accept the credentials in SECURED_KUBECONFIG: renew them", err))
	}
	if !errors.Is(context.Cause(ctx), errStopped) {
		s.cache.failed(err, forbidden || unauthorized)
	}
	return err
}

func (s *session) touch() { s.expect(time.Now()) }

func (s *session) expect(at time.Time) { s.lastEvent.Store(&at) }

// silent reports whether nothing was received for so long that the connection must
// be broken.
func (s *session) silent() bool { return time.Since(*s.lastEvent.Load()) > silence }

// stream passes on the events of a watch and notes when it ends.
type stream struct {
	inner   watch.Interface
	session *session
	events  chan watch.Event
	done    chan struct{}
	once    sync.Once
}

// pass passes events on until either side ends.
func (s *stream) pass() {
	defer close(s.events)
	for event := range s.inner.ResultChan() {
		s.session.touch()
		if event.Type == watch.Error {
			s.session.cache.failed(s.session.client.Mask(apierrors.FromObject(event.Object)), false)
		}
		select {
		case s.events <- event:
		case <-s.done:
			return
		}
	}
}

// ResultChan is what the reflector reads.
func (s *stream) ResultChan() <-chan watch.Event { return s.events }

// Stop is what the reflector calls when it reads no more, also when the watch
// has ended by itself.
func (s *stream) Stop() {
	s.once.Do(func() {
		close(s.done)
		s.inner.Stop()
		s.session.cache.disconnected()
	})
}
