package cluster_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// transport is a network that fails as a test wants: watches that stall, and
// answers to writes that get lost.
type transport struct {
	http.RoundTripper

	mu         sync.Mutex
	gate       chan struct{} // closed while watches flow
	loseAnswer bool
}

func newTransport() *transport {
	t := &transport{}
	t.flow()
	return t
}

// wrap is for rest.Config.Wrap.
func (t *transport) wrap(inner http.RoundTripper) http.RoundTripper {
	t.RoundTripper = inner
	return t
}

// stall delays all events of the watches from now on.
func (t *transport) stall() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = make(chan struct{})
}

// flow lets it through again.
func (t *transport) flow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gate != nil {
		close(t.gate)
		return
	}
	t.gate = make(chan struct{})
	close(t.gate)
}

// loseNextAnswer delivers the next write and drops its answer.
func (t *transport) loseNextAnswer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loseAnswer = true
}

func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if request.URL.Query().Get("watch") != "" {
		response.Body = &stallingBody{ReadCloser: response.Body, transport: t, done: request.Context().Done()}
		return response, nil
	}
	if t.loseAnswer && request.Method != http.MethodGet {
		t.loseAnswer = false
		response.Body.Close()
		return nil, errors.New("connection lost")
	}
	return response, nil
}

// stallingBody hands on what was read when the gate is open.
type stallingBody struct {
	io.ReadCloser

	transport *transport
	done      <-chan struct{}
}

func (b *stallingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.transport.mu.Lock()
	gate := b.transport.gate
	b.transport.mu.Unlock()
	select {
	case <-gate:
	case <-b.done:
	}
	return n, err
}
