package kubernetes_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/pipes"
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
func TestContract36ASilentWatchIsGivenUpForACompleteListAndANewConnection(t *testing.T) {
	simulated(t, mute(whole()), func(t *testing.T, a *api, _ *pipes.Network, source *kubernetes.Source) {
		readable(t, source, 22*time.Second)
		if got := a.watched(); len(got) != 1 {
			t.Fatalf("after 22 s: got %d requests, want one", len(got))
		}
		readable(t, source, 13*time.Second)
		got := a.watched()
		lists := slices.IndexFunc(got, func(r *http.Request) bool { return !r.URL.Query().Has("watch") })
		if first, last := got[0], got[len(got)-1]; lists < 0 || lists == len(got)-1 || last.RemoteAddr == first.RemoteAddr {
			t.Errorf("after 35 s: got %d requests, want a list and then a watch on another connection", len(got))
		}
	})
}

func TestContract22AtRestAWatchFollowsAnotherWithoutAList(t *testing.T) {
	simulated(t, resting(whole()), func(t *testing.T, a *api, _ *pipes.Network, source *kubernetes.Source) {
		readable(t, source, 10*time.Minute)
		got := a.watched()
		if len(got) < 20 || len(got) > 30 {
			t.Errorf("got %d watches in 10 minutes, want two each minute", len(got))
		}
		for _, r := range got[1:] {
			if begins(r) {
				t.Errorf("got the request %s, want no list but the first", r.URL)
			}
		}
	})
}

// A right that is taken away shows when the next watch is opened, and the watch that is
// open tells nothing.
func TestContract36ALostRightOnNodesAndASilentWatchAreToldWithin45Seconds(t *testing.T) {
	forbidden := status(http.StatusForbidden, metav1.StatusReasonForbidden, `nodes is forbidden: User "x" cannot watch resource "nodes"`)
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		accepts bool
		want    string
	}{
		"the right is taken away":              {forbidden, false, "grant the user of SECURED_KUBECONFIG get, list and watch on nodes"},
		"requests are not answered":            {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, false, "has sent no event since"},
		"watches are accepted and say nothing": {accepting, true, "has sent no event since"},
	} {
		t.Run(name, func(t *testing.T) {
			simulated(t, resting(whole()), func(t *testing.T, a *api, _ *pipes.Network, source *kubernetes.Source) {
				readable(t, source, 10*time.Minute)
				drain(source)
				before := a.requests()
				for a.set(c.answer); c.accepts && a.requests() == before; { // the open watch still tells that it ends
					time.Sleep(100 * time.Millisecond)
				}
				told(t, source, 45*time.Second, func(nodes []inventory.Node, err error) bool {
					return nodes == nil && isStale(err) && strings.Contains(err.Error(), c.want)
				})
				a.set(resting())
				told(t, source, 90*time.Second, func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 0 })
			})
		})
	}
}

// told reads each time the source announces a change, until the answer is as wanted.
func told(t *testing.T, source *kubernetes.Source, within time.Duration, wanted func([]inventory.Node, error) bool) {
	t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		select {
		case <-source.Changed():
			if wanted(source.Read(t.Context())) {
				return
			}
		case <-timer.C:
			nodes, err := source.Read(t.Context())
			t.Fatalf("after %v: got %d nodes, %v", within, len(nodes), err)
		}
	}
}

// accepting accepts a watch, and tells nothing.
func accepting(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("watch") {
		stream(w, r)
	} else {
		<-r.Context().Done()
	}
}

// resting is how an API server streams nodes that do not change: with a bookmark two
// seconds before the end.
func resting(nodes ...*corev1.Node) http.HandlerFunc {
	return answers(nodes, func(w http.ResponseWriter) { tell(w, "BOOKMARK", &corev1.Node{}) })
}

// mute tells its nodes when it is asked for a list, and nothing else.
func mute(nodes ...*corev1.Node) http.HandlerFunc { return answers(nodes) }

func answers(nodes []*corev1.Node, before ...func(http.ResponseWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !r.URL.Query().Has("watch") {
			all := &corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			for _, node := range nodes {
				all.Items = append(all.Items, *node)
			}
			_ = json.NewEncoder(w).Encode(all)
			return
		}
		if begins(r) {
			list(w, nodes...)
		}
		stream(w, r, before...)
	}
}

// stream is a watch that ends in time, and what comes two seconds before its end.
func stream(w http.ResponseWriter, r *http.Request, before ...func(http.ResponseWriter)) {
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if kube.Wait(r.Context(), time.Duration(seconds)*time.Second-2*time.Second) {
		for _, do := range before {
			do(w)
		}
		kube.Wait(r.Context(), 2*time.Second)
	}
}
