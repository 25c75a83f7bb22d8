package kube_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// refusalServer is an API server that refuses everything, and counts.
type refusalServer struct {
	t        *testing.T
	mu       sync.Mutex
	requests int
}

func (r *refusalServer) RoundTrip(request *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if got := request.URL.Query().Get("labelSelector"); got != "app=web" {
		r.t.Errorf("got label selector %q in %s, want app=web", got, request.URL)
	}
	return &http.Response{
		Request: request, StatusCode: http.StatusForbidden, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")),
	}, nil
}

func (r *refusalServer) count() int {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}

// A right that is missing may be missing for ever. That it was given is known elsewhere.
func TestAReflectorAsksSeldomWhereItIsRefusedAndAtOnceAfterNews(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		server := &refusalServer{t: t}
		news := make(chan chan struct{}, 1)
		news <- make(chan struct{})
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return server })
		r := &kube.Reflector{
			Client: newClient(t, kube.Fixed(config), time.Second), Resource: kube.Leases("n"), Selection: metav1.ListOptions{LabelSelector: "app=web"},
			Object: &coordinationv1.Lease{},
			Store:  &kube.Feed[*coordinationv1.Lease, string]{},
			Longest: func(err error) time.Duration {
				if apierrors.IsForbidden(err) {
					return time.Minute
				}
				return 0
			},
			News: func() <-chan struct{} {
				next := <-news
				defer func() { news <- next }()
				return next
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go r.Run(ctx)
		time.Sleep(10 * time.Minute) // until the pauses are as long as they get
		before := server.count()
		time.Sleep(time.Hour)
		after := server.count()
		// A pause is half a minute to one and a half, an attempt at most two requests.
		if got := after - before; got < 40 || got > 240 {
			t.Errorf("got %d requests in an hour, want 40 to 240", got)
		}
		if err := r.Failed(); !apierrors.IsForbidden(err) || !r.Known().IsZero() {
			t.Errorf("got error %v, last known %v, want a refusal, and nothing known", err, r.Known())
		}
		close(<-news)
		news <- make(chan struct{})
		if server.count() == after {
			t.Error("no request at once after the news")
		}
	})
}
