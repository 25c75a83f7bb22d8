package events_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is an API server that keeps Events. It answers without a network: a synctest
// bubble can hold it.
type api struct {
	t *testing.T

	mu sync.Mutex
	// answer is asked before an Event is kept: a status other than 0 refuses it.
	answer func(attempt int, e *eventsv1.Event) (status int, retryAfter string)
	// takes is how long an answer takes; lost answers are kept and not sent.
	takes time.Duration
	// hangs is a namespace about which no request is answered.
	hangs string
	lost  func(attempt int) bool
	// cause is the cause that a refusal gives.
	cause string
	tries []try
	kept  map[string]*eventsv1.Event
	order []*eventsv1.Event
}

// try is one request.
type try struct {
	at   time.Time
	path string
	name string
}

func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// events returns what was kept, in order.
func (a *api) events() []*eventsv1.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.order)
}

// requests returns what was asked for.
func (a *api) requests() []try {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tries)
}

// RoundTrip serves one request.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e := a.decode(body)
	a.mu.Lock()
	a.tries = append(a.tries, try{time.Now(), r.Method + " " + r.URL.Path, e.Name})
	attempt, takes := len(a.tries), a.takes
	if e.Namespace == a.hangs {
		takes = time.Hour
	}
	a.mu.Unlock()
	timer := time.NewTimer(max(takes, time.Nanosecond))
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-timer.C:
	}
	return a.keep(attempt, e)
}

// keep decides what becomes of the Event.
func (a *api) keep(attempt int, e *eventsv1.Event) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	status, after := 0, ""
	if a.answer != nil {
		status, after = a.answer(attempt, e)
	}
	if status == 0 && a.kept[e.Name] != nil {
		status = http.StatusConflict
	}
	if status != 0 {
		return refusal(w, status, after, a.cause), nil
	}
	a.kept[e.Name] = e
	a.order = append(a.order, e)
	if a.lost != nil && a.lost(attempt) {
		return nil, io.ErrUnexpectedEOF
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"`+e.Name+`"}}`)
	return w.Result(), nil
}

// refusal is an answer as a server gives it: plain text where it has no time at
// all (priority and fairness), else a Status.
func refusal(w *httptest.ResponseRecorder, status int, after, cause string) *http.Response {
	if after != "" {
		w.Header().Set("Retry-After", after)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "Too many requests, please try again later.")
		return w.Result()
	}
	w.WriteHeader(status)
	reason := map[int]string{http.StatusConflict: "AlreadyExists", http.StatusForbidden: "Forbidden"}[status]
	_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"not so: `+cause+`","reason":"`+reason+`","details":{"causes":[{"reason":"`+cause+`"}]},"code":`+strconv.Itoa(status)+`}`)
	return w.Result()
}

// decode reads what was sent, in any encoding.
func (a *api) decode(body []byte) *eventsv1.Event {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(eventsv1.SchemeGroupVersion, &eventsv1.Event{})
	metav1.AddToGroupVersion(scheme, eventsv1.SchemeGroupVersion)
	object, _, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(bytes.Clone(body), nil, nil)
	if err != nil {
		a.t.Errorf("the server cannot read what it was sent: %v", err)
		return &eventsv1.Event{}
	}
	return object.(*eventsv1.Event)
}

// world is an announcer, its server and the troubles that it reported.
type world struct {
	*events.Announcer
	*events.Subject
	t   *testing.T
	api *api

	mu       sync.Mutex
	troubles []error
	stop     func()
}

// inWorld runs a test with an announcer that delivers.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		test(t, w)
		w.stop()
	})
}

func newWorld(t *testing.T) *world { t.Helper(); return newWorldOf(t, "pod-1") }

// newWorldOf makes a world whose process has that name.
func newWorldOf(t *testing.T, instance string) *world {
	t.Helper()
	return newWorldWith(t, events.Options{Instance: instance})
}

// newWorldWith makes a world whose process has these options, with a client to the
// world's server where they have none.
func newWorldWith(t *testing.T, options events.Options) *world {
	t.Helper()
	w := &world{t: t, api: &api{t: t, kept: map[string]*eventsv1.Event{}}}
	var err error
	if options.Client == nil {
		options.Client, err = kube.New(kube.Options{Way: kube.Fixed(&rest.Config{Host: "http://api", Transport: w.api}), UserAgent: events.Controller})
	}
	if err != nil {
		t.Fatal(err)
	}
	options.Trouble = func(err error) { w.mu.Lock(); defer w.mu.Unlock(); w.troubles = append(w.troubles, err) }
	w.Announcer = events.New(options)
	w.Subject = w.About("default", "web")
	return w
}

// start delivers until stop is called, once.
func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	w.stop = func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
		w.stop = func() {}
	}
}

// updated is a notice like many.
func updated(note string) explain.Notice {
	return explain.Notice{Reason: explain.EndpointsUpdated, Note: note, Service: "uid-1"}
}

// during lets time pass and waits until everything has settled.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantCounts compares what was counted.
func (w *world) wantCounts(delivered, failed uint64) {
	w.t.Helper()
	if got, want := w.Stats(), (events.Stats{Delivered: delivered, Failed: failed}); got != want {
		w.t.Errorf("got %+v, want %+v", got, want)
	}
}

// wantTroubles compares how often trouble, or its end, was reported.
func (w *world) wantTroubles(want int) []error {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.troubles) != want {
		w.t.Fatalf("got troubles %v, want %d", w.troubles, want)
	}
	return w.troubles
}
