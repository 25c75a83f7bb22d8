package watch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// api is an API server with the Service web and its slices, which may lie.
type api struct {
	mu       sync.Mutex
	revision int
	slices   map[string]int // the revision of each slice
	// empty makes so many lists of slices empty, missing what single reads of absent
	// slices answer, in which NAME is that of the slice, secret refuses single reads, down refuses everything.
	empty   int
	missing string
	secret  bool
	down    bool
	watches []*io.PipeWriter
	events  *io.PipeWriter // of the slices
	reads   int
}

func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
	change()
}

// expire ends every watch because its revision is too old: everything is listed
// again.
func (a *api) expire() {
	a.mu.Lock()
	watches := a.watches
	a.watches = nil
	a.mu.Unlock()
	for _, w := range watches {
		_, _ = io.WriteString(w, `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}}`+"\n")
		_ = w.Close()
	}
}

// tell sends an event of a slice.
func (a *api) tell(name string) {
	a.mu.Lock()
	events := a.events
	text, _ := json.Marshal(map[string]any{"type": "MODIFIED", "object": a.slice(name)})
	a.mu.Unlock()
	_, _ = events.Write(append(text, '\n'))
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query := r.URL.Query()
	_, name, single := strings.Cut(strings.TrimPrefix(r.URL.Path, "/apis/discovery.k8s.io/v1/namespaces/shop/"), "endpointslices/")
	switch {
	case a.down:
		return reply(r, http.StatusServiceUnavailable, nil), nil
	case query.Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, nil), nil
	case query.Has("watch"):
		body, end := io.Pipe()
		if a.watches = append(a.watches, end); strings.HasSuffix(r.URL.Path, "/endpointslices") {
			a.events = end
		}
		context.AfterFunc(r.Context(), func() { _ = end.Close() })
		response := reply(r, http.StatusOK, nil)
		response.Body = body
		return response, nil
	case single && a.secret:
		return reply(r, http.StatusForbidden, nil), nil
	case single && a.slices[name] == 0:
		a.reads++
		return reply(r, http.StatusNotFound, json.RawMessage(strings.ReplaceAll(a.missing, "NAME", name))), nil
	case single:
		a.reads++
		return reply(r, http.StatusOK, a.slice(name)), nil
	case strings.HasSuffix(r.URL.Path, "/services"):
		return reply(r, http.StatusOK, &corev1.ServiceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.revision)},
			Items: []corev1.Service{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "1"},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
			}},
		}), nil
	}
	return reply(r, http.StatusOK, a.list()), nil
}

func (a *api) list() *discoveryv1.EndpointSliceList {
	list := &discoveryv1.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.revision)},
	}
	if a.empty > 0 {
		a.empty--
		return list
	}
	for name := range a.slices {
		list.Items = append(list.Items, *a.slice(name))
	}
	return list
}

// slice is web-N with the address 10.0.0.N. Of a large one 10 MiB are kept.
func (a *api) slice(name string) *discoveryv1.EndpointSlice {
	object := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, ResourceVersion: strconv.Itoa(a.slices[name]), Labels: map[string]string{discoveryv1.LabelServiceName: "web"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0." + strings.TrimPrefix(name, "web-")}}},
	}
	if strings.HasPrefix(name, "large-") {
		object.Ports, object.Endpoints = nil, nil
		for n := range 100 {
			object.Ports = append(object.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprint("p", n)), Port: ptr.To(int32(8080))})
			object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("10.0.1.", n)}})
		}
	}
	return object
}

func reply(r *http.Request, code int, object any) *http.Response {
	body, _ := json.Marshal(object)
	return &http.Response{
		Request: r, StatusCode: code, Status: http.StatusText(code), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}
}

// gone is what an API server says of a slice that does not exist.
func gone(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{"name":%q,"group":"discovery.k8s.io","kind":"endpointslices"}}`, name)
}

// watched runs the test in a bubble with a source that is in sync.
func watched(t *testing.T, test func(t *testing.T, a *api, source *watch.Watcher)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		a := &api{revision: 10, slices: map[string]int{"web-1": 5, "web-2": 6}}
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return a })
		source, err := watch.New(watch.Options{
			Way: kube.Fixed(config), Namespaces: []string{"shop"}, Selected: func(*corev1.Service) bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { source.Run(ctx) })
		time.Sleep(time.Second)
		if got := addresses(t, source); !slices.Equal(got, []string{"10.0.0.1", "10.0.0.2"}) {
			t.Fatalf("got %v, want both endpoints", got)
		}
		test(t, a, source)
		cancel()
		running.Wait()
	})
}

// addresses are those in the cache.
func addresses(t *testing.T, source *watch.Watcher) []string {
	t.Helper()
	events, _, err := source.Cache().List(cache.Selection{Namespace: func(string) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range events {
		var object struct{ Spec struct{ Address string } }
		if err := json.Unmarshal(e.Object(), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object.Spec.Address)
	}
	return all
}

func TestContract39AnEmptyListTakesNothingAwayThatTheServerHolds(t *testing.T) {
	watched(t, func(t *testing.T, a *api, source *watch.Watcher) {
		a.set(func() { a.empty = 1; a.slices["web-3"] = a.revision })
		a.expire()
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if got := addresses(t, source); len(got) < 2 {
				t.Fatalf("got %v, want what the server holds", got)
			}
		}
		if got := addresses(t, source); len(got) != 3 || len(source.Cache().Unconfirmed()) != 0 {
			t.Errorf("got %v, want also what only the wrong list left out", got)
		}
	})
}

// TestContract39AnEventOfWhatAListLeftOutBringsAnotherList, also where reads are refused.
func TestContract39AnEventOfWhatAListLeftOutBringsAnotherList(t *testing.T) {
	watched(t, func(t *testing.T, a *api, source *watch.Watcher) {
		a.set(func() { a.empty, a.secret, a.slices["web-3"] = 1, true, a.revision })
		a.expire()
		time.Sleep(5 * time.Second)
		if got := len(source.Cache().Unconfirmed()); got != 2 {
			t.Fatalf("got %d unconfirmed objects, want both slices that are known", got)
		}
		a.set(func() { a.slices["web-1"] = a.revision })
		a.tell("web-1")
		time.Sleep(5 * time.Second)
		if got := addresses(t, source); len(got) != 3 || len(source.Cache().Unconfirmed()) != 0 {
			t.Errorf("got %v, want also what only the wrong list left out", got)
		}
	})
}

func TestContract39WhatWentUnseenGoesOnceTheServerConfirms(t *testing.T) {
	watched(t, func(t *testing.T, a *api, source *watch.Watcher) {
		a.set(func() { delete(a.slices, "web-2"); a.missing = `{"message":"no such page"}` })
		a.expire()
		time.Sleep(10 * time.Second)
		if got := addresses(t, source); len(got) != 2 {
			t.Errorf("got %v: a 404 of a proxy says nothing", got)
		}
		a.set(func() { a.missing = gone("web-9") })
		time.Sleep(10 * time.Second)
		if got := addresses(t, source); len(got) != 2 {
			t.Errorf("got %v: another slice is gone", got)
		}
		a.set(func() { a.missing = gone("web-2") })
		time.Sleep(3 * time.Second)
		if got := addresses(t, source); !slices.Equal(got, []string{"10.0.0.1"}) {
			t.Errorf("got %v, want what is left", got)
		}
	})
}

// TestContract148WhatIsConfirmedToBeGoneMakesRoom for what the list had and there was no room for.
func TestContract148WhatIsConfirmedToBeGoneMakesRoom(t *testing.T) {
	watched(t, func(t *testing.T, a *api, source *watch.Watcher) {
		large := func(prefix string) func() {
			return func() {
				a.slices = make(map[string]int)
				for n := range 5 {
					a.slices[fmt.Sprint("large-", prefix, n)] = a.revision
				}
				a.missing = gone("NAME")
			}
		}
		a.set(large("a"))
		a.expire()
		time.Sleep(10 * time.Second)
		if got := source.Cache().Crowded(); got != nil {
			t.Fatalf("got %q, want room", got)
		}
		a.set(large("b"))
		a.expire()
		time.Sleep(10 * time.Second)
		if got := source.Cache().Crowded(); got != nil || len(source.Cache().Unconfirmed()) > 0 {
			t.Errorf("got %q and %v, want room for all slices that are there", got, source.Cache().Unconfirmed())
		}
	})
}

func TestContract39AnHourWithoutTheServerTakesNothingAwayAndIsTold(t *testing.T) {
	watched(t, func(t *testing.T, a *api, source *watch.Watcher) {
		if _, err := source.Stale(time.Now()); err != nil || source.Blind() {
			t.Errorf("got %v of watches that are current, blind: %t", err, source.Blind())
		}
		a.set(func() { a.down = true })
		a.expire()
		began := time.Now()
		time.Sleep(90 * time.Second)
		if since, err := source.Stale(time.Now()); err == nil || since.After(began) || !strings.Contains(err.Error(), "namespace shop") {
			t.Errorf("got %v since %v within 90 s, want which watch tells nothing", err, since)
		}
		if !source.Blind() {
			t.Error("this replica does not know that it is cut off")
		}
		time.Sleep(time.Hour)
		if got := addresses(t, source); len(got) != 2 {
			t.Errorf("got %v, want the last state", got)
		}
		a.set(func() { a.down = false; delete(a.slices, "web-2"); a.missing = gone("web-2") })
		time.Sleep(10 * time.Second)
		if _, err := source.Stale(time.Now()); err != nil || source.Blind() {
			t.Errorf("got %v after the server came back, blind: %t", err, source.Blind())
		}
		if got := addresses(t, source); len(got) != 1 {
			t.Errorf("got %v, want what is left", got)
		}
	})
}

func TestContract44IdleItAsksNothingButTheWatches(t *testing.T) {
	watched(t, func(t *testing.T, a *api, _ *watch.Watcher) {
		time.Sleep(time.Hour)
		a.set(func() {
			if a.reads != 0 {
				t.Errorf("got %d reads of single objects, want none", a.reads)
			}
		})
	})
}
