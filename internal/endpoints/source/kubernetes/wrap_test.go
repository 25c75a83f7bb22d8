package kubernetes_test

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

// onlooker sees the requests of a client, and its credentials.
type onlooker struct {
	mu   sync.Mutex
	seen []string
}

func (o *onlooker) wrap(inner http.RoundTripper) http.RoundTripper { return lookTransport{inner, o} }

type lookTransport struct {
	http.RoundTripper

	onlooker *onlooker
}

func (l lookTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	l.onlooker.mu.Lock()
	l.onlooker.seen = append(l.onlooker.seen, request.Header.Get("Authorization"))
	l.onlooker.mu.Unlock()
	return l.RoundTripper.RoundTrip(request)
}

func TestContract04NewCredentialsAreUsedSoonAndEveryRequestIsSeen(t *testing.T) {
	a := newAPI(t, serve(whole()))
	kubeconfig := a.kubeconfig(t)
	o := &onlooker{}
	way := remote(kubeconfig)
	way.Wrap = o.wrap
	source := newSource(t, kubernetes.Options{Way: way})
	stop := run(t, source)
	await(t, source, "the nodes", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 1 })
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	write(t, kubeconfig, strings.ReplaceAll(string(content), canary, "rotated-"+canary))
	rotated := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.asked[len(a.asked)-1].Header.Get("Authorization") == "Bearer rotated-"+canary
	}
	const soon = 30 * time.Second // the watch that is open lasts longer
	for deadline := time.Now().Add(soon); !rotated(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no request with the new token")
		}
	}
	stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := a.requests(); len(o.seen) < got || len(o.seen) > got+1 {
		t.Errorf("got %d requests seen, want all %d that arrived", len(o.seen), got)
	}
	if first, last := o.seen[0], o.seen[len(o.seen)-1]; first != "Bearer "+canary || last != "Bearer rotated-"+canary {
		t.Error("what watches does not see the requests as they are sent")
	}
}
