package apiproxy

import (
	"net/http"
	"slices"
)

// When is a moment in the life of a request.
type When int

const (
	// Arrives is before the API server knows of the request.
	Arrives When = iota
	// Answered is when the API server has done what was asked and said so, and
	// the client does not know yet.
	Answered
)

// point is something that happens at a moment of the next left requests.
type point struct {
	when  When
	match Match
	left  int
	do    func(*http.Request)
	done  chan struct{}
}

// At calls a function once, when the next request that matches reaches that moment.
// The request waits for the function. The channel is closed afterwards.
func (p *Proxy) At(when When, match Match, do func()) <-chan struct{} {
	return p.at(&point{when: when, match: match, do: func(*http.Request) { do() }})
}

// Break is [Proxy.At], and the connection is reset there: before the API server knows
// of the request, or after it has answered. Use it to kill a program at a point:
// without the reset, what the dead program has sent could still arrive.
func (p *Proxy) Break(when When, match Match, do func()) <-chan struct{} {
	return p.at(&point{when: when, match: match, do: func(r *http.Request) {
		do()
		hangUp(r)
	}})
}

func (p *Proxy) at(next *point) <-chan struct{} {
	next.left, next.done = max(1, next.left), make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points = append(p.points, next)
	return next.done
}

// pass does what the test has asked for at this moment of a request.
func (p *Proxy) pass(r *http.Request, when When) {
	request := read(r)
	p.mu.Lock()
	i := slices.IndexFunc(p.points, func(at *point) bool { return at.when == when && at.match.matches(request) })
	if i < 0 {
		p.mu.Unlock()
		return
	}
	found := p.points[i]
	found.left--
	if found.left == 0 {
		p.points = slices.Delete(p.points, i, i+1)
		defer close(found.done)
	}
	p.mu.Unlock()
	found.do(r)
}
