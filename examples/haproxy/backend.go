package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// care is how backends are kept, the same for all.
type care struct {
	socket socket
	// options follow the address when a server is added.
	options string
	// grace is how long requests may last at an endpoint that is gone.
	grace time.Duration
	// interval is the time between two looks at HAProxy.
	interval time.Duration
}

// backend is one backend of HAProxy, and the endpoints that it should have.
type backend struct {
	care

	name string
	news chan struct{}
	mu   sync.Mutex
	// wanted is nil until the endpoints are known: nothing is touched before.
	wanted map[string]server

	// leaving says since when a server is to be deleted. Only run uses it, and problem.
	leaving map[string]time.Time
	problem string
}

func newBackend(name string) *backend {
	return &backend{name: name, news: make(chan struct{}, 1), leaving: make(map[string]time.Time)}
}

// want notes what the backend should have. It does not wait for HAProxy.
func (b *backend) want(endpoints []views.Endpoint) error {
	wanted, err := serversOf(endpoints)
	if err != nil {
		return fmt.Errorf("backend %s: %w", b.name, err)
	}
	b.mu.Lock()
	b.wanted = wanted
	b.mu.Unlock()
	select {
	case b.news <- struct{}{}:
	default:
	}
	return nil
}

// run compares HAProxy with what it should have until ctx ends: after each change,
// and at every interval, because HAProxy forgets all of it when it starts again.
func (b *backend) run(ctx context.Context) {
	ticker := time.NewTicker(b.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.news:
		case <-ticker.C:
		}
		b.mu.Lock()
		wanted := b.wanted
		b.mu.Unlock()
		if wanted == nil {
			continue
		}
		if err := b.mend(ctx, wanted, time.Now()); ctx.Err() == nil {
			b.tell(err)
		}
	}
}

// mend makes the backend right. A command that fails keeps no other from being sent.
func (b *backend) mend(ctx context.Context, wanted map[string]server, now time.Time) error {
	has, err := b.socket.servers(ctx, b.name)
	if err != nil {
		return err
	}
	todo := plan(b.name, b.options, wanted, has)
	var all []error
	for _, c := range todo.commands {
		all = append(all, b.socket.do(ctx, c))
	}
	leaving := make(map[string]time.Time)
	for _, name := range todo.gone {
		since, known := b.leaving[name]
		if !known {
			since = now
		}
		gone, err := b.remove(ctx, name, now.Sub(since) >= b.grace)
		if !gone {
			leaving[name] = since
		}
		all = append(all, err)
	}
	b.leaving = leaving
	return errors.Join(all...)
}

// remove deletes a server that takes no new requests any more. HAProxy refuses that
// while a request is under way, which late ends.
func (b *backend) remove(ctx context.Context, name string, late bool) (gone bool, err error) {
	subject := b.name + "/" + name
	err = b.socket.do(ctx, command{"del server " + subject, "Server deleted."})
	var refused *refusal
	if errors.As(err, &refused) && refused.busy() {
		if late {
			return false, b.socket.do(ctx, command{"shutdown sessions server " + subject, ""})
		}
		return false, nil
	}
	return err == nil, err
}

// tell prints a problem when it comes, changes or goes.
func (b *backend) tell(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	if problem == b.problem {
		return
	}
	b.problem = problem
	if problem == "" {
		problem = "right again"
	}
	fmt.Fprintf(os.Stderr, "backend %s: %s\n", b.name, problem)
}
