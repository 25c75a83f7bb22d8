package cluster_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// script is an API server that holds one Service and no slice. It sends what the test
// writes into its watches.
type script struct {
	slices, services *io.PipeWriter
	watches          map[string]io.ReadCloser
	// before, where there is one, happens before a create is answered, and code
	// is the answer's, by default 201.
	before func()
	code   int
	// beforeRead, where there is one, happens before a list of one slice is answered.
	beforeRead func()

	mu sync.Mutex
	// lists are the revisions that lists were asked for, "" being the newest.
	lists []string
}

func newScript() *script {
	s := &script{watches: map[string]io.ReadCloser{}}
	s.watches["endpointslices"], s.slices = io.Pipe()
	s.watches["services"], s.services = io.Pipe()
	return s
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.Split(r.URL.Path, "/")
	resource := path[len(path)-1]
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		created := sent(r.Body, "11")
		if s.before != nil {
			s.before()
		}
		return reply(r, cmp.Or(s.code, http.StatusCreated), slice(created)), nil
	case query.Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, nil), nil
	case query.Has("watch"):
		response := reply(r, http.StatusOK, nil)
		response.Body = s.watches[resource]
		return response, nil
	case resource == "services":
		s.listed(query)
		return reply(r, http.StatusOK, &corev1.ServiceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Service{*knownService("10")},
		}), nil
	}
	s.listed(query)
	revision := "10"
	if query.Get("fieldSelector") != "" { // of one slice, after all that the watch has told
		revision = "30"
		if s.beforeRead != nil {
			s.beforeRead()
		}
	}
	return reply(r, http.StatusOK, &discoveryv1.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"},
		ListMeta: metav1.ListMeta{ResourceVersion: revision},
	}), nil
}

func (s *script) listed(query url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = append(s.lists, query.Get("resourceVersion"))
}

// A server may answer a list at resourceVersion 0 from a cache of any age, and a
// standby that takes over would begin from slices of long ago.
func TestContract28WhereListsCannotBeStreamedTheNewestIsAskedFor(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, _ *single) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Equal(s.lists, []string{"", ""}) {
			t.Errorf("got lists of the revisions %q, want two of the newest", s.lists)
		}
	})
}

func reply(r *http.Request, code int, object any) *http.Response {
	body, _ := json.Marshal(object)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(body))),
	}
}

// sent is the slice that a request has, as it is stored at that version.
func sent(body io.Reader, version string) *discoveryv1.EndpointSlice {
	text, _ := io.ReadAll(body)
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), text)
	if err != nil {
		panic(err)
	}
	stored := object.(*discoveryv1.EndpointSlice)
	stored.ResourceVersion = version
	return stored
}

func slice(object *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	object.APIVersion, object.Kind, object.Namespace = "discovery.k8s.io/v1", "EndpointSlice", "default"
	return object
}

func knownService(version string) *corev1.Service {
	object := service()
	object.APIVersion, object.Kind, object.UID, object.ResourceVersion = "v1", "Service", "s-1", version
	object.Namespace = "default"
	return object
}

// scripted runs the test in a bubble with a store that is in sync.
func scripted(t *testing.T, test func(t *testing.T, s *script, store *single)) {
	bubble.Test(t, func(t *testing.T) {
		s := newScript()
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return s })
		store := newStore(t, config, storetest.Target("default"))
		stop := run(t, store)
		if _, err := store.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		drain(store)
		test(t, s, store)
		s.slices.Close()
		s.services.Close()
		stop()
	})
}

// tell sends one event and returns how much news it makes.
func tell(t *testing.T, watch io.Writer, store *single, kind string, object any) int {
	t.Helper()
	if err := json.NewEncoder(watch).Encode(map[string]any{"type": kind, "object": object}); err != nil {
		t.Fatal(err)
	}
	return drain(store)
}

// drain returns how much news there is when everybody has done what there was
// to do.
func drain(store *single) int {
	synctest.Wait()
	for n := 0; ; n++ {
		select {
		case <-store.Changed():
		default:
			return n
		}
	}
}

func TestTheEchoOfAWriteIsNoNews(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, store *single) {
		if _, err := store.Write(t.Context(), create()); err != nil {
			t.Fatal(err)
		}
		told := func(kind, name, version string, want int) {
			t.Helper()
			object := &discoveryv1.EndpointSlice{}
			object.Name, object.ResourceVersion = name, version
			object.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
			if got := tell(t, s.slices, store, kind, slice(object)); got != want {
				t.Errorf("%s %s at %s: got %d news, want %d", kind, name, version, got, want)
			}
		}
		told("ADDED", "web-remote", "11", 0) // the echo
		told("MODIFIED", "web-remote", "12", 1)
		told("ADDED", "web-x7f2k", "13", 0) // another controller's
		told("BOOKMARK", "", "14", 0)
		told("DELETED", "web-remote", "15", 1)
		told("ADDED", "web-remote-2", "16", 1)
	})
}

func TestAnEchoBeforeTheAnswerIsNoNewsEither(t *testing.T) {
	tests := []struct {
		name     string
		code     int
		versions []string
		want     int
	}{
		{"the echo", 0, []string{"11"}, 0},
		{"the echo, and then another hand", 0, []string{"11", "12"}, 1},
		{"another hand, and our write failed", http.StatusConflict, []string{"11"}, 1},
		{"nothing, and our write failed", http.StatusConflict, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripted(t, func(t *testing.T, s *script, store *single) {
				s.code = test.code
				s.before = func() {
					for _, version := range test.versions {
						object := &discoveryv1.EndpointSlice{}
						object.Name, object.ResourceVersion = "web-remote", version
						object.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
						if got := tell(t, s.slices, store, "MODIFIED", slice(object)); got != 0 {
							t.Errorf("got %d news while the write is under way, want none", got)
						}
					}
				}
				if _, err := store.Write(t.Context(), create()); (err != nil) != (test.code != 0) {
					t.Fatal(err)
				}
				if got := drain(store); got != test.want {
					t.Errorf("got %d news when the write has ended, want %d", got, test.want)
				}
				object := &discoveryv1.EndpointSlice{}
				object.Name, object.ResourceVersion = "web-remote", "20"
				object.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
				if got := tell(t, s.slices, store, "MODIFIED", slice(object)); got != 1 {
					t.Errorf("got %d news of a change after that, want 1", got)
				}
			})
		})
	}
}

// TestTheEndOfASliceDuringAWriteIsNews: the write's answer says that the slice
// exists.
func TestTheEndOfASliceDuringAWriteIsNews(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, store *single) {
		s.before = func() {
			for _, kind := range []string{"ADDED", "DELETED"} {
				object := &discoveryv1.EndpointSlice{}
				object.Name, object.ResourceVersion = "web-remote", "11"
				object.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
				if got := tell(t, s.slices, store, kind, slice(object)); got != 0 {
					t.Errorf("got %d news while the write is under way, want none", got)
				}
			}
		}
		if _, err := store.Write(t.Context(), create()); err != nil {
			t.Fatal(err)
		}
		if got := drain(store); got != 1 {
			t.Errorf("got %d news when the write has ended, want 1", got)
		}
		if state, err := store.Load(t.Context()); err != nil || len(state.Slices)+len(state.Refused) != 0 {
			t.Errorf("got %v, %v; want no slice", state, err)
		}
	})
}

// TestContract21AReadThatBeganBeforeAWriteFailedSaysNothingOfIt: that write may have
// been carried out after the read was answered.
func TestContract21AReadThatBeganBeforeAWriteFailedSaysNothingOfIt(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, store *single) {
		s.code = http.StatusInternalServerError
		fail := func() {
			if _, err := store.Write(t.Context(), create()); err == nil {
				t.Error("got no error of a write that fails")
			}
		}
		reads := 0
		s.beforeRead = func() {
			if reads++; reads == 1 {
				fail()
			}
		}
		fail()
		for _, want := range []int{1, 2, 2} {
			if _, err := store.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if reads != want {
				t.Errorf("got %d reads of the slice, want %d", reads, want)
			}
		}
	})
}

func TestWhatPublishesBesideOursIsNewsWhenItChanges(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, store *single) {
		told := func(kind, version string, endpoints, want, known int) {
			t.Helper()
			object := &discoveryv1.EndpointSlice{}
			object.Name, object.ResourceVersion = "web-x7f2k", version
			object.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
			for range endpoints {
				object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.0.1"}})
			}
			if got := tell(t, s.slices, store, kind, slice(object)); got != want {
				t.Errorf("%s at %s with %d endpoints: got %d news, want %d", kind, version, endpoints, got, want)
			}
			state, err := store.Load(t.Context())
			if err != nil || len(state.Beside) != known {
				t.Errorf("%s at %s with %d endpoints: got %v, %v, want %d beside ours", kind, version, endpoints, state.Beside, err, known)
			}
		}
		told("ADDED", "11", 0, 0, 0)
		told("MODIFIED", "12", 2, 1, 1)
		told("MODIFIED", "13", 2, 0, 1) // an annotation, say
		told("MODIFIED", "14", 3, 1, 1)
		told("MODIFIED", "15", 0, 1, 0)
		told("MODIFIED", "16", 1, 1, 1)
		told("DELETED", "17", 1, 1, 0)
	})
}

func TestASliceDeletedRightAfterOurWriteIsGone(t *testing.T) {
	scripted(t, func(t *testing.T, s *script, store *single) {
		if _, err := store.Write(t.Context(), create()); err != nil {
			t.Fatal(err)
		}
		gone := &discoveryv1.EndpointSlice{}
		gone.Name, gone.ResourceVersion = "web-remote", "12"
		if got := tell(t, s.slices, store, "DELETED", slice(gone)); got != 1 {
			t.Errorf("got %d news, want 1", got)
		}
		state, err := store.Load(t.Context())
		if err != nil || len(state.Slices)+len(state.Refused) != 0 {
			t.Errorf("got %v, %v; want no slice", state, err)
		}
	})
}

func TestOnlyWhatMattersOfTheServiceIsNews(t *testing.T) {
	tests := []struct {
		name   string
		change func(*corev1.Service)
		want   int
	}{
		{"a status", func(o *corev1.Service) { o.Status.Conditions = []metav1.Condition{{Type: "Ready"}} }, 0},
		{"an annotation", func(o *corev1.Service) { o.Annotations = map[string]string{"a": "b"} }, 0},
		{"a selector", func(o *corev1.Service) { o.Spec.Selector = map[string]string{"a": "b"} }, 1},
		{"its type", func(o *corev1.Service) { o.Spec.Type = corev1.ServiceTypeExternalName }, 1},
		{"an appProtocol", func(o *corev1.Service) { o.Spec.Ports[0].AppProtocol = new("http") }, 1},
		{"publishNotReadyAddresses", func(o *corev1.Service) { o.Spec.PublishNotReadyAddresses = true }, 1},
		{"a port", func(o *corev1.Service) { o.Spec.Ports[0].Name = "other" }, 1},
		{"its deletion", func(o *corev1.Service) { o.DeletionTimestamp = new(metav1.Now()) }, 1},
		{"another UID", func(o *corev1.Service) { o.UID = "s-2" }, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scripted(t, func(t *testing.T, s *script, store *single) {
				object := knownService("11")
				test.change(object)
				if got := tell(t, s.services, store, "MODIFIED", object); got != test.want {
					t.Errorf("got %d news, want %d", got, test.want)
				}
			})
		})
	}
}
