package placement_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/pipes"
)

// remote is the API server of a remote cluster, behind a network in memory.
type remote struct {
	*httptest.Server

	network *pipes.Network

	mu       sync.Mutex
	revision int
	objects  map[string]any // by path and name
	events   []event
	news     chan struct{} // closed by the next event
	answer   http.HandlerFunc
	asked    []*http.Request
}

// event is one change of an object.
type event struct {
	revision  int
	kind, key string
	object    any
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{network: pipes.New(), revision: 10, objects: make(map[string]any), news: make(chan struct{})}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, q)
		answer := r.answer
		r.mu.Unlock()
		if answer == nil {
			answer = r.serve
		}
		answer(w, q)
	}))
	_ = r.Listener.Close()
	r.Listener = r.network
	r.EnableHTTP2 = true
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	r.StartTLS()
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// answers makes the server answer so, nil for as it is.
func (r *remote) answers(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// requests are those so far.
func (r *remote) requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

func sliceKey(o *discoveryv1.EndpointSlice) string {
	return fmt.Sprintf("/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices %s", o.Namespace, o.Name)
}

func serviceKey(o *corev1.Service) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/services %s", o.Namespace, o.Name)
}

// put creates or changes objects.
func (r *remote) put(objects ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range objects {
		r.revision++
		var key string
		switch o := o.(type) {
		case *discoveryv1.EndpointSlice:
			o.TypeMeta, o.ResourceVersion = metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, strconv.Itoa(r.revision)
			key = sliceKey(o)
		case *corev1.Service:
			o.TypeMeta, o.ResourceVersion = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, strconv.Itoa(r.revision)
			key = serviceKey(o)
		}
		kind := "MODIFIED"
		if r.objects[key] == nil {
			kind = "ADDED"
		}
		r.objects[key] = o
		r.events = append(r.events, event{r.revision, kind, key, o})
	}
	r.tell()
}

// remove deletes what has a name that begins so.
func (r *remote) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, o := range r.objects {
		if _, has, _ := strings.Cut(key, " "); strings.HasPrefix(has, name) {
			r.revision++
			delete(r.objects, key)
			r.events = append(r.events, event{r.revision, "DELETED", key, o})
		}
	}
	r.tell()
}

func (r *remote) tell() {
	close(r.news)
	r.news = make(chan struct{})
}

// restore makes the server one that was restored from a backup of nothing: its revisions
// begin anew.
func (r *remote) restore() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.objects, r.events = 1, make(map[string]any), nil
}

// serve answers as an API server does: with a bookmark two seconds before the end of a
// watch.
func (r *remote) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	r.mu.Lock()
	revision, listed := r.revision, r.list(q.URL.Path)
	r.mu.Unlock()
	if !q.URL.Query().Has("watch") {
		kind, version := "EndpointSliceList", "discovery.k8s.io/v1"
		if strings.HasSuffix(q.URL.Path, "services") {
			kind, version = "ServiceList", "v1"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": strconv.Itoa(revision)}, "items": listed})
		return
	}
	if q.URL.Query().Get("sendInitialEvents") == "true" {
		for _, o := range listed {
			send(w, "ADDED", o)
		}
		bookmark(w, q.URL.Path, revision, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	} else {
		revision, _ = strconv.Atoi(q.URL.Query().Get("resourceVersion"))
	}
	w.(http.Flusher).Flush()
	r.follow(w, q, revision)
}

func (r *remote) list(path string) []any {
	all := []any{}
	for key, o := range r.objects {
		if strings.HasPrefix(key, path+" ") {
			all = append(all, o)
		}
	}
	return all
}

// follow tells what comes after a revision.
func (r *remote) follow(w http.ResponseWriter, q *http.Request, revision int) {
	seconds, _ := strconv.Atoi(q.URL.Query().Get("timeoutSeconds"))
	mark, end := time.After(time.Duration(seconds)*time.Second-2*time.Second), time.After(time.Duration(seconds)*time.Second)
	for {
		r.mu.Lock()
		events, news := slices.Clone(r.events), r.news
		r.mu.Unlock()
		for _, e := range events {
			if e.revision > revision && strings.HasPrefix(e.key, q.URL.Path+" ") {
				send(w, e.kind, e.object)
			}
			revision = max(revision, e.revision)
		}
		select {
		case <-news:
		case <-mark:
			bookmark(w, q.URL.Path, revision, nil)
		case <-end:
			return
		case <-q.Context().Done():
			return
		}
	}
}

func bookmark(w http.ResponseWriter, path string, revision int, annotations map[string]string) {
	about := metav1.ObjectMeta{ResourceVersion: strconv.Itoa(revision), Annotations: annotations}
	if strings.HasSuffix(path, "services") {
		send(w, "BOOKMARK", &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: about})
		return
	}
	send(w, "BOOKMARK", &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}, ObjectMeta: about})
}

func send(w http.ResponseWriter, kind string, o any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": o})
	w.(http.Flusher).Flush()
}

// refuses is a server without a right, for a part of the paths.
func refuses(part string, otherwise http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if !strings.Contains(q.URL.Path, part) {
			otherwise(w, q)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Message: `endpointslices is forbidden: User "x" cannot watch`, Code: http.StatusForbidden,
		})
	}
}

// mute accepts watches, and tells nothing.
func mute(w http.ResponseWriter, q *http.Request) {
	if q.URL.Query().Has("watch") {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
	}
	seconds, _ := strconv.Atoi(q.URL.Query().Get("timeoutSeconds"))
	select {
	case <-time.After(time.Duration(max(1, seconds)) * time.Second):
	case <-q.Context().Done():
	}
}
