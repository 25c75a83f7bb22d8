package cluster_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// failingNetwork is a network that fails as a test wants: watches that stall, and
// answers to writes that get lost.
type failingNetwork struct {
	http.RoundTripper

	mu         sync.Mutex
	gate       chan struct{} // closed while watches flow
	loseAnswer bool
}

func newFailingNetwork() *failingNetwork {
	t := &failingNetwork{}
	t.flow()
	return t
}

// wrap is for rest.Config.Wrap.
func (t *failingNetwork) wrap(inner http.RoundTripper) http.RoundTripper {
	t.RoundTripper = inner
	return t
}

// stall delays all events of the watches from now on.
func (t *failingNetwork) stall() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = make(chan struct{})
}

// flow lets it through again.
func (t *failingNetwork) flow() {
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
func (t *failingNetwork) loseNextAnswer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loseAnswer = true
}

func (t *failingNetwork) RoundTrip(request *http.Request) (*http.Response, error) {
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

	transport *failingNetwork
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
