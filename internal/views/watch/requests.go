package watch

import (
	"errors"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// request is what requests are counted by.
type request struct{ verb, code string }

// requests counts what the API server was asked.
type requests struct {
	mu    sync.Mutex
	count map[request]uint64
}

// note counts a request and what came of it.
func (r *requests) note(verb string, err error) {
	code := "<error>" // there was no answer
	var status apierrors.APIStatus
	switch {
	case err == nil:
		code = "200"
	case errors.As(err, &status) && status.Status().Code > 0:
		code = strconv.Itoa(int(status.Status().Code))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count[request{verb, code}]++
}

// Requests calls count for each verb and status with the number of requests so far.
func (s *Watcher) Requests(count func(verb, code string, requests uint64)) {
	s.requests.mu.Lock()
	defer s.requests.mu.Unlock()
	for one, n := range s.requests.count {
		count(one.verb, one.code, n)
	}
}
