package cluster_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// world is an API server with several namespaces.
type world struct {
	mu       sync.Mutex
	revision int
	services []corev1.Service
	slices   []discoveryv1.EndpointSlice
	// refused are namespaces of which every request is refused, mute the beginning of
	// the names of slices about which no read is answered, and writes is the code of
	// every answer to a write.
	refused map[string]bool
	// listable says of refused namespaces how many lists are still answered, while each
	// watch is refused.
	listable map[string]int
	asked    map[string]int // how many requests there were for each namespace
	mute     string
	writes   int
	// expired is the revision before which no watch may begin.
	expired int
	watches map[*io.PipeWriter][2]string // namespace and resource of each
	// newest is when an object of a namespace and resource, or of all namespaces, was put last.
	newest map[[2]string]int
}

func newWorld() *world {
	return &world{
		revision: 10, refused: map[string]bool{}, asked: map[string]int{}, watches: map[*io.PipeWriter][2]string{}, newest: map[[2]string]int{},
	}
}

// put makes an object say so, and tells the watches.
func (w *world) put(kind string, object any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision++
	namespace, resource := "", "services"
	switch o := object.(type) {
	case *corev1.Service:
		o.APIVersion, o.Kind, o.ResourceVersion = "v1", "Service", strconv.Itoa(w.revision)
		namespace = o.Namespace
		w.services = slices.DeleteFunc(w.services, func(p corev1.Service) bool { return p.Namespace == o.Namespace && p.Name == o.Name })
		if kind != "DELETED" {
			w.services = append(w.services, *o)
		}
	case *discoveryv1.EndpointSlice:
		o.APIVersion, o.Kind, o.ResourceVersion = "discovery.k8s.io/v1", "EndpointSlice", strconv.Itoa(w.revision)
		namespace, resource = o.Namespace, "endpointslices"
		w.slices = slices.DeleteFunc(w.slices, func(p discoveryv1.EndpointSlice) bool { return p.Namespace == o.Namespace && p.Name == o.Name })
		if kind != "DELETED" {
			w.slices = append(w.slices, *o)
		}
	}
	w.newest[[2]string{namespace, resource}], w.newest[[2]string{"", resource}] = w.revision, w.revision
	for stream, of := range w.watches {
		if of[1] == resource && (of[0] == namespace || of[0] == "") {
			_ = json.NewEncoder(stream).Encode(map[string]any{"type": kind, "object": object})
		}
	}
}

// refuse ends the watches of a namespace and refuses all of it from now on, or no more.
// Watches begin with a list after that.
func (w *world) refuse(namespace string, refused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revision++
	w.refused[namespace], w.expired = refused, w.revision
	for stream, of := range w.watches {
		if of[0] == namespace {
			stream.Close()
		}
	}
}

// requests returns how many there were for the namespace.
func (w *world) requests(namespace string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[namespace]
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	namespace, resource := "", r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if _, after, ok := strings.Cut(r.URL.Path, "/namespaces/"); ok {
		namespace, _, _ = strings.Cut(after, "/")
	}
	query := r.URL.Query()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[namespace]++
	name, one := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
	switch {
	case w.refused[namespace] && !w.lists(namespace, query):
		return reply(r, http.StatusForbidden, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Message: "not for you",
		}), nil
	case r.Method != http.MethodGet:
		return reply(r, w.writes, nil), nil
	case query.Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, nil), nil
	case query.Has("watch") && w.before(query.Get("resourceVersion"), namespace, resource):
		return reply(r, http.StatusGone, nil), nil
	case query.Has("watch"):
		return w.stream(r, namespace, resource, query.Get("timeoutSeconds")), nil
	case one && w.mute != "" && strings.HasPrefix(name, w.mute):
		w.mu.Unlock()
		defer w.mu.Lock()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return w.list(r, namespace, resource, name), nil
}

// lists reports whether a request for a list of a refused namespace is accepted.
func (w *world) lists(namespace string, query url.Values) bool {
	if w.listable[namespace] == 0 || query.Has("watch") && !query.Has("sendInitialEvents") {
		return false
	}
	if !query.Has("watch") {
		w.listable[namespace]--
	}
	return true
}

// before reports whether a watch from the revision would miss something: what was put
// after a list and before its watch, too.
func (w *world) before(revision, namespace, resource string) bool {
	n, _ := strconv.Atoi(revision)
	return n < max(w.expired, w.newest[[2]string{namespace, resource}])
}

func (w *world) list(r *http.Request, namespace, resource, name string) *http.Response {
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(w.revision)}
	if resource == "services" {
		list := &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: meta}
		for _, o := range w.services {
			if namespace == "" || o.Namespace == namespace {
				list.Items = append(list.Items, o)
			}
		}
		return reply(r, http.StatusOK, list)
	}
	list := &discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, ListMeta: meta}
	for _, o := range w.slices {
		if (namespace == "" || o.Namespace == namespace) && (name == "" || o.Name == name) {
			list.Items = append(list.Items, o)
		}
	}
	return reply(r, http.StatusOK, list)
}

// stream is a watch, which ends in time. As of a real API server, a bookmark comes two
// seconds before.
func (w *world) stream(r *http.Request, namespace, resource, seconds string) *http.Response {
	body, stream := io.Pipe()
	w.watches[stream] = [2]string{namespace, resource}
	n, _ := strconv.Atoi(seconds)
	go func() { //nolint:contextcheck // it is the request's
		defer stream.Close()
		if !kube.Wait(r.Context(), time.Duration(n-2)*time.Second) {
			return
		}
		w.mu.Lock()
		_ = json.NewEncoder(stream).Encode(map[string]any{"type": "BOOKMARK", "object": bookmark(resource, strconv.Itoa(w.revision))})
		w.mu.Unlock()
		kube.Wait(r.Context(), 2*time.Second)
	}()
	context.AfterFunc(r.Context(), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watches, stream)
	})
	response := reply(r, http.StatusOK, nil)
	response.Body = body
	return response
}

// bookmark is the object of one.
func bookmark(resource, revision string) runtime.Object {
	if resource == "services" {
		return &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: revision}}
	}
	return &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: revision}}
}

// awaitWatches waits, in real time, until so many watches are open.
func (w *world) awaitWatches(t testing.TB, many int) {
	t.Helper()
	for deadline := time.Now().Add(waitLimit); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		open := len(w.watches)
		w.mu.Unlock()
		if open >= many {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d watches, want %d", open, many)
		}
	}
}

// inWorld runs the test in a bubble with a hub over the namespaces that runs. What the
// test does at once may come before the first list, after it or after its watch;
// before says what is so before them all.
func inWorld(t *testing.T, namespaces []string, test func(*testing.T, *world, *cluster.Hub), before ...func(*world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld()
		for _, do := range before {
			do(w)
		}
		hub := w.hub(t, namespaces)
		stop := run(t, hub)
		test(t, w, hub)
		stop()
	})
}

func (w *world) hub(t testing.TB, namespaces []string) *cluster.Hub {
	t.Helper()
	config := &rest.Config{Host: "https://192.0.2.1"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return w })
	hub, err := cluster.New(cluster.Options{Way: kube.Fixed(config), ManagedBy: manager})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range namespaces {
		hub.Watch(namespace)
	}
	return hub
}

// stayWanted lets so many minutes pass, in which somebody wants the namespaces.
func stayWanted(hub *cluster.Hub, minutes int, namespaces ...string) {
	for range minutes {
		for _, namespace := range namespaces {
			hub.Watch(namespace)
		}
		time.Sleep(time.Minute)
	}
}

// viewOf returns the view of a target that fills a Service by slices of that name.
func viewOf(t testing.TB, hub *cluster.Hub, namespace, service, sliceName string) *cluster.Store {
	t.Helper()
	store, err := hub.Target(targetOf(namespace, service, sliceName))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func targetOf(namespace, service, sliceName string) publish.Target {
	target := storetest.Target(namespace)
	target.Service, target.SliceName = service, sliceName
	return target
}

func serviceOf(namespace, name string) *corev1.Service {
	object := service()
	object.Namespace, object.Name, object.UID = namespace, name, "s-1"
	return object
}

// sliceOf is a slice of a Service with so many endpoints.
func sliceOf(namespace, name, service, managedBy string, endpoints int) *discoveryv1.EndpointSlice {
	object := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	object.Namespace, object.Name = namespace, name
	object.Labels = map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: managedBy}
	for i := range endpoints {
		address := "10.0." + strconv.Itoa(i/250) + "." + strconv.Itoa(i%250+1)
		object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, Zone: new("zone-a"),
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		})
	}
	return object
}

// loaded returns what the store says without any doubt.
func loaded(t *testing.T, store *cluster.Store) publish.State {
	t.Helper()
	state, err := store.Load(t.Context())
	if err != nil || state.Stale != nil || len(state.Unread) > 0 {
		t.Errorf("got %v, %v and %q unread, want no doubt", err, state.Stale, state.Unread)
	}
	return state
}

// news is how much of it there is when everybody has done what there was to do.
func news(changed <-chan struct{}) int {
	synctest.Wait()
	for n := 0; ; n++ {
		select {
		case <-changed:
		default:
			return n
		}
	}
}
