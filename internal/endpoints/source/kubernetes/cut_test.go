package kubernetes_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// cutter is an API server, without a network, that ends each stream at once: a stream
// with a complete list, and one that goes on from it. With away there is no server.
type cutter struct {
	away bool

	mu           sync.Mutex
	lists, tries int
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.tries++
	away := c.away
	streams := r.URL.Query().Has("sendInitialEvents")
	if streams && !away {
		c.lists++
	}
	c.mu.Unlock()
	if away {
		return nil, io.ErrUnexpectedEOF
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if streams {
		list(w, whole())
	}
	response := w.Result()
	response.Request = r
	return response, nil
}

// cut runs a source against that server for a time, and returns how many complete
// lists and how many requests it sent in it.
func cut(t *testing.T, c *cutter, d time.Duration) (lists, tries int) {
	t.Helper()
	kubeconfig := writeKubeconfig(t, "", "http://127.0.0.1:1", &rest.Config{BearerToken: canary})
	bubble.Test(t, func(t *testing.T) {
		way := remote(kubeconfig)
		way.Wrap = func(http.RoundTripper) http.RoundTripper { return c }
		source, err := kubernetes.New(kubernetes.Options{Way: way})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- source.Run(ctx) }()
		time.Sleep(d)
		stop()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return c.lists, c.tries
}

// A complete list of ten thousand nodes may be 80 MB.
func TestContract33AServerThatCutsStreamsIsAskedEverMoreRarelyForACompleteList(t *testing.T) {
	const minutes = 10
	lists, _ := cut(t, &cutter{}, minutes*time.Minute)
	if lists > 4*minutes {
		t.Errorf("got %d complete lists in %d minutes, want one in half a minute at the end", lists, minutes)
	}
}

func TestAServerThatIsAwayIsAskedAgainWithinThreeSeconds(t *testing.T) {
	const minutes = 10
	_, tries := cut(t, &cutter{away: true}, minutes*time.Minute)
	if tries < 20*minutes {
		t.Errorf("got %d requests in %d minutes, want one in three seconds at least", tries, minutes)
	}
}

// A watch that is opened late goes on from what is known, although that was not trusted any
// more: whoever reads when the source says so has its nodes again.
func TestAWatchThatIsOpenedAfterTheGraceIsAnnounced(t *testing.T) {
	kubeconfig := writeKubeconfig(t, "", "http://127.0.0.1:1", &rest.Config{BearerToken: canary})
	bubble.Test(t, func(t *testing.T) {
		opens := make(chan struct{})
		way := remote(kubeconfig)
		way.Wrap = func(http.RoundTripper) http.RoundTripper { return &late{opens: opens} }
		source := newSource(t, kubernetes.Options{Way: way, Grace: grace})
		run(t, source)
		read(t, source)
		told(t, source, grace+4*time.Second, failed)
		close(opens)
		told(t, source, grace-time.Second, func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 1 })
	})
}

// late is a server that ends streams after two seconds, and accepts those that go on only when
// it is told to, also where they were given up meanwhile.
type late struct {
	cutter

	opens chan struct{}
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") && !begins(r) {
		<-l.opens
	}
	response, err := l.cutter.RoundTrip(r)
	response.Body = io.NopCloser(io.MultiReader(response.Body, ends{r.Context()}))
	return response, err
}

// ends is the end of a stream, two seconds later.
type ends struct{ context.Context }

func (e ends) Read([]byte) (int, error) {
	kube.Wait(e, 2*time.Second)
	return 0, io.EOF
}
