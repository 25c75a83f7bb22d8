package kubernetes_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/pipes"
)

// A node is deleted while no stream can be opened. Only a complete list shows that: a
// stream from the old revision on sends no event. A server that refuses connections was
// away, and may come back with another history.
func TestContract02AfterAGapLongerThanTheGraceACompleteListIsAskedFor(t *testing.T) {
	const short, long = grace - 2*time.Second, grace + 2*time.Second
	for name, c := range map[string]struct {
		gap time.Duration
		// busy is a server that answers 429; any other refuses connections.
		busy bool
		// complete says that a complete list is wanted after the gap.
		complete bool
	}{
		"Retry-After shorter than the grace": {gap: short, busy: true},
		"Retry-After longer than the grace":  {gap: long, busy: true, complete: true},
		"refused for less than the grace":    {gap: short, complete: true},
		"refused for more than the grace":    {gap: long, complete: true},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, endsAfter(12*time.Second), func(t *testing.T, a *api, network *pipes.Network, source *kubernetes.Source) {
				readable(t, source, 11*time.Second)
				a.set(tooMany(c.gap))
				network.Refuse(!c.busy)
				time.Sleep(500 * time.Millisecond)
				stale(t, source, c.gap)
				a.set(changedMeanwhile)
				network.Refuse(false)
				a.resumed(t, source, c.gap, c.complete)
			})
		})
	}
}

// isStale reports whether the error says since when nothing is known.
func isStale(err error) bool {
	return err != nil && strings.Contains(err.Error(), "has sent no event since 2")
}

// stale checks that reads are errors as soon as the stream, which is about to end,
// has been over for the grace.
func stale(t *testing.T, source *kubernetes.Source, gap time.Duration) {
	t.Helper()
	for over := 500 * time.Millisecond; over < gap; over += time.Second {
		time.Sleep(time.Second)
		_, err := source.Read(t.Context())
		if isStale(err) != (over > grace) {
			t.Errorf("%v after the end of the stream: got %v, want an error only after %v", over, err, grace)
		}
	}
}

// resumed waits until the source watches again after the gap, with a complete list or
// without, and compares what it reads then.
func (a *api) resumed(t *testing.T, source *kubernetes.Source, gap time.Duration, complete bool) {
	t.Helper()
	before := len(a.watched())
	var last []*http.Request
	for range 10 {
		synctest.Wait()
		if last = a.watched()[before:]; len(last) > 0 {
			break
		}
		if _, err := source.Read(t.Context()); gap > grace && err == nil {
			t.Error("got no error although nothing was heard yet")
		}
		time.Sleep(time.Second)
	}
	if len(last) != 1 || begins(last[0]) != complete {
		t.Fatalf("after the gap: got %d watches, want one; with a complete list: got %t, want %t", len(last), !complete, complete)
	}
	nodes, err := source.Read(t.Context())
	if err != nil || (len(nodes) == 0) != complete {
		t.Errorf("got %d nodes, %v, want the deletion known: %t", len(nodes), err, complete)
	}
}

// endsAfter is a server that shuts down: it streams a list, ends the stream after a
// time, and takes no other request on that connection.
func endsAfter(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		list(w, whole())
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// tooMany answers 429 with Retry-After.
func tooMany(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", strconv.Itoa(int(d/time.Second)))
		status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "not now")(w, r)
	}
}

// changedMeanwhile is a server with an empty list. It sends nothing after that.
func changedMeanwhile(w http.ResponseWriter, r *http.Request) {
	if begins(r) {
		list(w)
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}
