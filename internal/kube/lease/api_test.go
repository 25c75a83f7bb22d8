package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// api is an API server with one Lease, in memory: it works in simulated time. It is
// the transport of its clients.
type api struct {
	mu       sync.Mutex
	lease    *coordinationv1.Lease
	revision int
	watches  map[chan []byte]bool
	// refuses, if set, says which Leases the server refuses as invalid.
	refuses func(*coordinationv1.Lease) bool
	// swallows, if set, says which Leases do not reach the server.
	swallows func(*coordinationv1.Lease) bool
	log      []request
}

// request is one that arrived, or was meant to.
type request struct {
	who, verb string
	at        time.Time
}

// client is the way of one process to the API server.
type client struct {
	api *api
	who string

	mu sync.Mutex
	// gate is asked before a request is carried out, with the verb. What it
	// returns is the answer: see the values below.
	gate func(verb string) outcome
}

// outcome is what becomes of a request.
type outcome int

const (
	served   outcome = iota
	refused          // no connection
	hanging          // no answer, and nothing is done
	lost             // it is done, and the answer gets lost
	denied           // 403
	missing          // 404, as for a namespace that is not there
	deferred         // it is done a minute later, without an answer
	slow             // it is done, and answered three seconds later
)

func newAPI() *api { return &api{watches: map[chan []byte]bool{}} }

// config is the access of a process.
func (c *client) config() *rest.Config {
	return &rest.Config{Host: "http://api", Transport: c}
}

// set changes what becomes of the requests from now on.
func (c *client) set(gate func(verb string) outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = gate
}

// RoundTrip carries out a request.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	verb := map[string]string{http.MethodGet: "list", http.MethodPost: "create", http.MethodPut: "update"}[r.Method]
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	do := served
	if gate != nil {
		do = gate(verb)
	}
	c.api.note(c.who, verb)
	switch do {
	case refused:
		return nil, errors.New("connection refused")
	case hanging:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case lost, deferred:
		if lease, err := decoded(r.Body); err == nil {
			delay := time.Nanosecond
			if do == deferred {
				delay = time.Minute
			}
			time.AfterFunc(delay, func() { _ = c.api.write(verb, lease).Body.Close() })
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	case denied:
		return failure(http.StatusForbidden, metav1.StatusReasonForbidden, "no right"), nil
	case missing:
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, `namespaces "infra" not found`), nil
	case slow:
		defer time.Sleep(3 * time.Second)
	case served:
	}
	return c.api.serve(r, verb)
}

func (a *api) note(who, verb string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, request{who, verb, time.Now()})
}

// count returns how many requests there were of a process, with one of the verbs.
func (a *api) count(who string, verbs ...string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, r := range a.log {
		for _, verb := range verbs {
			if r.who == who && r.verb == verb {
				n++
			}
		}
	}
	return n
}

// serve does what a request asks for.
func (a *api) serve(r *http.Request, verb string) (*http.Response, error) {
	switch verb {
	case "watch":
		return a.watch(r), nil
	case "list":
		return a.list(), nil
	}
	lease, err := decoded(r.Body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	swallows := a.swallows
	a.mu.Unlock()
	if swallows != nil && swallows(lease) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return a.write(verb, lease), nil
}

func (a *api) list() *http.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := &coordinationv1.LeaseList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(a.revision)}}
	list.Kind, list.APIVersion = "LeaseList", "coordination.k8s.io/v1"
	if a.lease != nil {
		list.Items = []coordinationv1.Lease{*a.lease}
	}
	return answer(http.StatusOK, list)
}

func (a *api) write(verb string, lease *coordinationv1.Lease) *http.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.refuses != nil && a.refuses(lease):
		return failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "too much")
	case verb == "create" && a.lease != nil:
		return failure(http.StatusConflict, metav1.StatusReasonAlreadyExists, "it exists")
	case verb == "update" && a.lease == nil:
		return failure(http.StatusNotFound, metav1.StatusReasonNotFound, "no lease")
	// An update without a resourceVersion wins over everything, as in Kubernetes.
	case verb == "update" && lease.ResourceVersion != "" && lease.ResourceVersion != a.lease.ResourceVersion:
		return failure(http.StatusConflict, metav1.StatusReasonConflict, "it changed")
	}
	a.store(lease)
	return answer(http.StatusOK, a.lease)
}

// store sets the Lease (nil for none) and informs the watches.
func (a *api) store(lease *coordinationv1.Lease) {
	kind, told := "MODIFIED", lease
	switch {
	case lease == nil:
		kind, told = "DELETED", a.lease
	case a.lease == nil:
		kind = "ADDED"
	}
	a.revision++
	told = told.DeepCopy()
	told.Kind, told.APIVersion = "Lease", "coordination.k8s.io/v1"
	told.ResourceVersion = strconv.Itoa(a.revision)
	a.lease = told
	if lease == nil {
		a.lease = nil
	}
	event, _ := json.Marshal(map[string]any{"type": kind, "object": told})
	for w := range a.watches {
		w <- event
	}
}

// watch opens a watch from now on: the fake has no history, and its clients
// list and watch without a pause.
func (a *api) watch(r *http.Request) *http.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	reader, writer := io.Pipe()
	events := make(chan []byte, 1000)
	a.watches[events] = true
	go func() {
		defer writer.Close()
		for {
			select {
			case <-r.Context().Done():
				a.mu.Lock()
				defer a.mu.Unlock()
				delete(a.watches, events)
				return
			case event, open := <-events:
				if _, err := writer.Write(event); !open || err != nil {
					return
				}
			}
		}
	}()
	context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
	response := answer(http.StatusOK, nil)
	response.Body = reader
	return response
}

// silence keeps the watches open, but they send nothing any more.
func (a *api) silence() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.watches)
}

// cut ends the watches.
func (a *api) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for w := range a.watches {
		close(w)
	}
	clear(a.watches)
}

// change edits the Lease as another client would; nil deletes it.
func (a *api) change(edit func(*coordinationv1.Lease) *coordinationv1.Lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(edit(a.lease.DeepCopy()))
}

// get returns the Lease.
func (a *api) get() *coordinationv1.Lease {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lease.DeepCopy()
}

// holder returns the holder of the Lease, or "-" if there is none.
func (a *api) holder() string {
	lease := a.get()
	if lease == nil {
		return "-"
	}
	return *lease.Spec.HolderIdentity
}
