package page

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// question is what a request asks for.
type question[K report.Answer] struct {
	// path is where the leader answers it, below LeaderPath, and led takes that answer; it is
	// empty where only this process is asked.
	path string
	led  K
	// own makes what this process knows.
	own func() (K, error)
}

// reader reads what a request asks for. An error is a mistake of the request.
type reader[K report.Answer] func(*http.Request) (question[K], error)

// shown sends what is asked for as JSON.
func shown[K report.Answer](s *Server, ask reader[K]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := ask(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		show(s, w, r, a, "application/json", func(k K) ([]byte, error) {
			text, err := json.Marshal(k)
			return append(text, '\n'), err
		})
	}
}

// show sends what is asked for, which is the leader's where another replica leads. A
// leader that does not answer holds no place where things are made.
func show[K report.Answer](s *Server, w http.ResponseWriter, r *http.Request, a question[K], contentType string, render func(K) ([]byte, error)) {
	if !s.sending.enter(r.Context()) {
		busy(w)
		return
	}
	defer s.sending.leave()
	var led bool
	var err error
	if a.path != "" {
		led, err = s.opts.Ask(r.Context(), a.path, a.led)
	}
	s.send(w, r, contentType, func() ([]byte, error) {
		switch none := (*report.NoService)(nil); {
		case led:
			return render(a.led)
		case errors.As(err, &none):
			return nil, err
		}
		own, fault := a.own()
		if fault != nil {
			return nil, fault
		}
		own.ByItself(s.standstill(), err)
		return render(own)
	})
}

// send sends what render makes. It is made as a whole first, so that a slow reader
// holds memory, which is bounded, and never a place where things are made.
func (s *Server) send(w http.ResponseWriter, r *http.Request, contentType string, render func() ([]byte, error)) {
	if !s.rendering.enter(r.Context()) {
		busy(w)
		return
	}
	text, err := render()
	s.rendering.leave()
	if none := (*report.NoService)(nil); errors.As(err, &none) {
		http.Error(w, none.Message, http.StatusNotFound)
		return
	}
	if err != nil {
		s.opts.Logger.Error("cannot render an answer", "path", r.URL.Path, "error", err)
		http.Error(w, "the answer cannot be rendered; the log says why", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // a client that went away misses nothing
}

// busy asks to come again.
func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", retryAfter)
	http.Error(w, "too many requests at once; try again in "+retryAfter+" s", http.StatusServiceUnavailable)
}

const (
	// maxRendering is how many documents are made and rendered at once: of two
	// processors the loop still gets its share.
	maxRendering = 2
	// maxSending is how many answers wait in memory for slow readers. One of 5,000
	// nodes has up to 5 MB.
	maxSending = 8
	// turnTime is how long a request waits for its turn.
	turnTime = time.Second
	// retryAfter is the Retry-After of a request that got no turn, in seconds.
	retryAfter = "2"
)

// gate lets as many through at a time as it has room for.
type gate chan struct{}

// enter takes a place, and reports false if none becomes free within turnTime.
func (g gate) enter(ctx context.Context) bool {
	select {
	case g <- struct{}{}:
		return true
	case <-time.After(turnTime):
	case <-ctx.Done():
	}
	return false
}

// leave gives the place back.
func (g gate) leave() { <-g }
