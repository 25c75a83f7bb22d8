package kube_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// pluginTransport is a transport that waits for its plugin and ignores the context.
type pluginTransport struct {
	free            chan struct{}
	under, mostSeen atomic.Int64
}

func (p *pluginTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	n := p.under.Add(1)
	for most := p.mostSeen.Load(); n > most && !p.mostSeen.CompareAndSwap(most, n); most = p.mostSeen.Load() {
	}
	defer p.under.Add(-1)
	<-p.free
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: request}, nil
}

func ask(ctx context.Context, t *testing.T, client *http.Client) error {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9/", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestContract30AnExecPluginThatHangsKeepsNoRequestBeyondItsContext(t *testing.T) {
	inner := &pluginTransport{free: make(chan struct{})}
	client := &http.Client{Transport: inner}
	kube.Bound(&rest.Config{ExecProvider: &clientcmdapi.ExecConfig{}}, client)
	var asked sync.WaitGroup
	for range 100 {
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := ask(ctx, t, client); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
		})
	}
	asked.Wait()
	// Contract 33: what is given up lasts as long as the plugin, so it is bounded.
	if got := inner.mostSeen.Load(); got > 16 {
		t.Errorf("got %d requests under way, want at most 16", got)
	}
	close(inner.free)
	if err := ask(t.Context(), t, client); err != nil {
		t.Errorf("when the plugin has ended: %v", err)
	}
}

func TestWithoutAPluginTheTransportIsAsItWas(t *testing.T) {
	inner := &pluginTransport{}
	client := &http.Client{Transport: inner}
	kube.Bound(&rest.Config{}, client)
	if client.Transport != inner {
		t.Errorf("got %v, want the transport itself", client.Transport)
	}
}

// endlessText is a text that goes on with x, for 64 MiB.
type endlessText struct {
	begin string
	read  int
}

func (e *endlessText) Read(into []byte) (int, error) {
	if e.read > 64<<20 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(into, e.begin)
	e.begin = e.begin[n:]
	for i := range into[n:] {
		into[n+i] = 'x'
	}
	e.read += len(into)
	return len(into), nil
}

// TestContract53ARefusalWithoutAnEndIsReadUpToItsBound: the server is that of a remote cluster, and
// the memory that of all pools. What the status of the answer says is known all the same.
func TestContract53ARefusalWithoutAnEndIsReadUpToItsBound(t *testing.T) {
	for name, ask := range map[string]func(*kube.Client) error{
		"a list": func(c *kube.Client) error {
			_, err := c.Each(t.Context(), kube.Services("shop"), metav1.ListOptions{},
				func() runtime.Object { return &corev1.Service{} }, func(o runtime.Object) runtime.Object { return o })
			return err
		},
		"a watch": func(c *kube.Client) error {
			_, err := c.Watch(t.Context(), kube.Services("shop"), metav1.ListOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := &endlessText{begin: `{"kind":"Status","message":"`}
			config := &rest.Config{Host: "https://192.0.2.1"}
			config.Wrap(func(http.RoundTripper) http.RoundTripper {
				return answers(func(r *http.Request) (*http.Response, error) {
					response := answer(r, http.StatusTooManyRequests, "")
					response.Body = io.NopCloser(text)
					return response, nil
				})
			})
			err := ask(reading(t, config))
			if failed := new(kube.Error); !errors.As(err, &failed) || !failed.Unavailable || text.read > 2<<20 {
				t.Errorf("got %v after %d bytes, want that the server is unavailable, after 2 MiB at most", err, text.read)
			}
		})
	}
}
