package transport

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Whole returns a handler that makes each answer as a whole before it is sent: a slow reader takes no
// place where answers are made, and one that breaks off is no mistake of what makes them. That many
// are in memory while they are sent; beyond that the one that takes longest is cut off.
func Whole(handler http.Handler, most int) http.Handler {
	return &wholeAnswers{made: handler, most: most}
}

type wholeAnswers struct {
	made http.Handler
	most int

	mu sync.Mutex
	// sending are the answers that are sent, the oldest first.
	sending []*http.ResponseController
}

// ServeHTTP implements http.Handler.
func (h *wholeAnswers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := answer{ResponseWriter: w, status: http.StatusOK}
	h.made.ServeHTTP(&a, r)
	sending := http.NewResponseController(w)
	h.enter(sending)
	defer h.leave(sending)
	w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // a client that went away misses nothing
}

func (h *wholeAnswers) enter(sending *http.ResponseController) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sending = append(h.sending, sending); len(h.sending) > h.most {
		_ = h.sending[0].SetWriteDeadline(time.Now())
		h.sending = h.sending[1:]
	}
}

func (h *wholeAnswers) leave(sending *http.ResponseController) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sending = slices.DeleteFunc(h.sending, func(one *http.ResponseController) bool { return one == sending })
}

// answer is one that is made.
type answer struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }
