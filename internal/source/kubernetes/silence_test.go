package kubernetes_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/kubernetes"
)

// begins reports whether a watch is asked for that begins with a complete list.
func begins(r *http.Request) bool { return r.URL.Query().Get("sendInitialEvents") == "true" }

// watched are the requests so far, each of which is a watch.
func (a *api) watched() []*http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// readable reads every second for so long, and fails the test on an error.
func readable(t *testing.T, source *kubernetes.Source, within time.Duration) {
	t.Helper()
	for range within / time.Second {
		time.Sleep(time.Second)
		if nodes := read(t, source); len(nodes) != 1 {
			t.Fatalf("got %d nodes, want one", len(nodes))
		}
	}
}

// The server goes on answering the pings of HTTP/2: only the watch is silent.
func TestASilentWatchIsGivenUpForACompleteListOnANewConnection(t *testing.T) {
	simulated(t, serve(whole()), func(t *testing.T, a *api, _ *pipes, source *kubernetes.Source) {
		readable(t, source, 149*time.Second)
		if got := a.watched(); len(got) != 1 {
			t.Fatalf("after 149 s: got %d watches, want one", len(got))
		}
		readable(t, source, 11*time.Second)
		got := a.watched()
		if len(got) != 2 {
			t.Fatalf("after 160 s: got %d watches, want two", len(got))
		}
		if !begins(got[1]) || got[1].RemoteAddr == got[0].RemoteAddr {
			t.Errorf("the second watch: got %s on connection %s, want a complete list on another than %s", got[1].URL, got[1].RemoteAddr, got[0].RemoteAddr)
		}
	})
}

func TestAWatchWithABookmarkAMinuteLivesOn(t *testing.T) {
	simulated(t, bookmarks(time.Minute), func(t *testing.T, a *api, _ *pipes, source *kubernetes.Source) {
		readable(t, source, 4*time.Minute)
		if got := a.watched(); len(got) != 1 {
			t.Errorf("got %d watches in 4 minutes, want one", len(got))
		}
	})
}

// bookmarks streams a list, and then a bookmark ever so often.
func bookmarks(every time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list(w, whole())
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-ticker.C:
				tell(w, "BOOKMARK", &corev1.Node{})
			}
		}
	}
}
