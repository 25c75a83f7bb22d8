package fleet

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The times of the election, which are those of the library. Another operator leads
// leaseDuration after the last renewal at the earliest; a leader gives up renewDeadline after
// it.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
)

// errNotLeader says that a request was not sent.
var errNotLeader = errors.New("no object is written: this operator does not hold the Lease any more")

// fence sends requests that change something only while the Lease is renewed. The library
// asks for the Lease for another renewDeadline before it gives up, and works meanwhile: an
// operator that hung would write what it knew before, and undo what its successor did.
type fence struct {
	mu      sync.Mutex
	renewed time.Time
}

// around puts the fence before a way to the API server. All ways of a process share it.
func (f *fence) around(next http.RoundTripper) http.RoundTripper { return fencedTransport{f, next} }

// open reports whether the Lease was renewed, by the wall clock, which moves on while the
// machine sleeps, and by the monotonic clock.
func (f *fence) open(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.renewed.IsZero() && max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0))) < renewDeadline
}

// renew notes that the Lease is held from the time on at which that was asked for.
func (f *fence) renew(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

type fencedTransport struct {
	fence *fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	now := time.Now()
	switch {
	case request.Method == http.MethodGet:
		return f.next.RoundTrip(request)
	case strings.Contains(request.URL.Path, "/apis/coordination.k8s.io/"):
		response, err := f.next.RoundTrip(request)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			f.fence.renew(now)
		}
		return response, err
	case f.fence.open(now):
		return f.next.RoundTrip(request)
	}
	if request.Body != nil {
		_ = request.Body.Close() // who does not send a request closes its body
	}
	return nil, fmt.Errorf("%s %s: %w", request.Method, request.URL.Path, errNotLeader)
}
