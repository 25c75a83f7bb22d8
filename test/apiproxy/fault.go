package apiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is what the proxy does to requests. The zero value passes them on.
type Fault struct {
	// Only are the requests that the fault applies to; empty means all.
	Only []Match
	// Delay is how long each request waits before anything else happens.
	Delay time.Duration
	// Status is the answer in place of the API server's; 0 for none. 429 is answered
	// like a server with a full API Priority and Fairness.
	Status int
	// RetryAfter goes with Status, in whole seconds; 0 for no such header.
	RetryAfter time.Duration
}

// Set makes the fault the only one; requests under way are as before.
func (p *Proxy) Set(fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// Refuse resets all connections and refuses new ones until [Proxy.Mend].
func (p *Proxy) Refuse() { p.gate.refuse() }

// Swallow accepts connections and requests and answers nothing at all, also to
// what is under way, until [Proxy.Mend].
func (p *Proxy) Swallow() { p.gate.swallow() }

// Strand lets every connection that is open go silent for good, while new ones
// are served: as when a firewall or a load balancer has forgotten them, or the
// server's machine was replaced.
func (p *Proxy) Strand() { p.gate.strand() }

// Mend ends every fault. Points and stranded connections stay.
func (p *Proxy) Mend() {
	p.t.Helper()
	p.Set(Fault{})
	if err := p.gate.open(p.t.Context()); err != nil {
		p.t.Fatalf("apiproxy: serve again: %v", err)
	}
}

// CutWatches ends every watch under way in the middle of its answer.
func (p *Proxy) CutWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.watches {
		end()
	}
}

// LoseAnswer lets the next request that matches reach the API server, and
// resets the connection instead of answering. The channel is closed then.
func (p *Proxy) LoseAnswer(match Match) <-chan struct{} {
	return p.Break(Answered, match, func() {})
}

// Conflict lets the next n updates of slices run into a real conflict: the
// slice is changed under the administrator's name before the update arrives.
func (p *Proxy) Conflict(n int) <-chan struct{} {
	match := Match{Verb: "update", Resource: "endpointslices"}
	return p.at(&point{when: Arrives, match: match, left: n, do: p.touch})
}

// serve receives every request.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	request := read(r)
	p.mu.Lock()
	p.requests = append(p.requests, request)
	fault := p.fault
	p.mu.Unlock()
	if request.Verb == "watch" {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		r = r.WithContext(ctx)
		p.watching(r, end)
		defer p.watching(r, nil)
	}
	p.pass(r, Arrives)
	meant := len(fault.Only) == 0 || slices.ContainsFunc(fault.Only, func(m Match) bool { return m.matches(request) })
	if meant && fault.strike(w, r) {
		return
	}
	p.handler.ServeHTTP(w, r)
}

// watching remembers how to end a watch, and forgets it when end is nil.
func (p *Proxy) watching(r *http.Request, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if end == nil {
		delete(p.watches, r)
		return
	}
	p.watches[r] = end
}

// strike reports whether the request was answered.
func (f Fault) strike(w http.ResponseWriter, r *http.Request) bool {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		}
	}
	if f.Status == 0 {
		return false
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.RetryAfter/time.Second)))
	}
	if f.Status == http.StatusTooManyRequests {
		http.Error(w, "Too many requests, please try again later.", f.Status)
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may have gone
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(f.Status),
		Reason: metav1.StatusReasonInternalError, Message: "the proxy was told to answer " + strconv.Itoa(f.Status),
	})
	return true
}

// touch changes the object that a request is for.
func (p *Proxy) touch(r *http.Request) {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/touched":"%d"}}}`, time.Now().UnixNano())
	url := *r.URL
	url.Scheme, url.Host, url.RawQuery = p.target.Scheme, p.target.Host, ""
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPatch, url.String(), bytes.NewBufferString(patch))
	if err != nil {
		panic(err) // the URL came in a request
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := p.admin.RoundTrip(request)
	if err != nil {
		return // the API server has a fault of its own
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
}
