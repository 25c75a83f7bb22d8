package kube

import (
	"context"
	"errors"
	"net"
	"reflect"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const (
	// A read that runs into a connection which was just closed is repeated: the
	// transport notices a moment after us that it is closed.
	closedAttempts = 5
	closedPause    = 10 * time.Millisecond
	// overtime is how much longer than it asked for a client waits for the end of a
	// watch.
	overtime = 5 * time.Second
)

// Get reads one object.
func (c *Client) Get(ctx context.Context, r Resource, name string, into runtime.Object) error {
	return c.read(ctx, func(l *lane) *rest.Request { return l.request("GET", r).Name(name) }, decode(into))
}

// List reads objects. Where the options name no revision the answer comes from the
// server's storage, past every cache.
func (c *Client) List(ctx context.Context, r Resource, options metav1.ListOptions, into runtime.Object) error {
	return c.read(ctx, func(l *lane) *rest.Request { return l.request("GET", r).VersionedParams(&options, c.codec) }, decode(into))
}

// Create sends an object that is new, and reads the server's answer, unless there is
// nothing to read it into.
func (c *Client) Create(ctx context.Context, r Resource, object, into runtime.Object) error {
	return c.send(ctx, func(l *lane) *rest.Request { return l.request("POST", r).Body(object) }, decode(into))
}

// Update sends an object that replaces the one of the name, and reads the server's
// answer.
func (c *Client) Update(ctx context.Context, r Resource, name string, object, into runtime.Object) error {
	return c.send(ctx, func(l *lane) *rest.Request { return l.request("PUT", r).Name(name).Body(object) }, decode(into))
}

// Watch returns when the server has begun to answer, which is bounded as a request
// is. Where the options bound how long the watch lasts, it ends soon after that also
// if the server does not end it. client-go passes off a connection that timed out or
// ended as a watch that is over already; it is an error here, for a stream that was
// never open proves nothing.
func (c *Client) Watch(ctx context.Context, r Resource, options metav1.ListOptions) (watch.Interface, error) {
	l, err := c.current()
	if err != nil {
		return nil, err
	}
	options.Watch = true
	ctx, cancel := context.WithCancelCause(ctx)
	request := c.begin()
	request.part = c.event(r)
	timer := time.AfterFunc(c.options.Timeout, func() { cancel(context.DeadlineExceeded) })
	events, err := l.watches.request("GET", r).VersionedParams(&options, c.codec).Watch(request.trace(ctx))
	if late := !timer.Stop(); late && err == nil {
		events.Stop()
		err = context.DeadlineExceeded
	}
	if err == nil && reflect.TypeOf(events) == reflect.TypeOf(watch.NewEmptyWatch()) {
		err = request.unanswered()
	}
	if err != nil {
		defer cancel(nil)
		return nil, request.end(ctx, err, 0)
	}
	opened := &stream{Interface: events, cancel: cancel}
	if seconds := options.TimeoutSeconds; seconds != nil {
		opened.end = time.AfterFunc(time.Duration(*seconds)*time.Second+overtime, func() { cancel(nil) })
	}
	return opened, nil
}

// stream is a watch whose context ends with it.
type stream struct {
	watch.Interface

	cancel context.CancelCauseFunc
	end    *time.Timer // nil for a watch without a bound
}

// Stop implements watch.Interface.
func (s *stream) Stop() {
	if s.end != nil {
		s.end.Stop()
	}
	s.cancel(nil)
	s.Interface.Stop()
}

// request begins a request, which client-go never repeats.
func (l *lane) request(verb string, r Resource) *rest.Request {
	return l.versions[r.Version].Verb(verb).MaxRetries(0).NamespaceIfScoped(r.Namespace, r.Namespace != "").Resource(r.Name)
}

// sender sends a request and takes the answer. It returns the status of the answer, 0 where
// the error itself is to say it.
type sender func(ctx context.Context, request *rest.Request) (code int, err error)

// read sends a request again that ran into a connection which was just closed.
func (c *Client) read(ctx context.Context, build func(*lane) *rest.Request, send sender) error {
	for attempt := 1; ; attempt++ {
		err := c.send(ctx, build, send)
		if !errors.Is(err, net.ErrClosed) || attempt == closedAttempts || !Wait(ctx, closedPause) {
			return err
		}
	}
}

// send sends a request once, within the client's time-out.
func (c *Client) send(ctx context.Context, build func(*lane) *rest.Request, send sender) error {
	l, err := c.current()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	one := c.begin()
	code, err := send(one.trace(ctx), build(&l.requests))
	return one.end(ctx, err, code)
}

// decode takes a whole answer, and decodes it where that is wanted.
func decode(into runtime.Object) sender {
	return func(ctx context.Context, request *rest.Request) (code int, err error) {
		answer := request.Do(ctx).StatusCode(&code)
		if into == nil {
			return code, answer.Error()
		}
		return code, answer.Into(into)
	}
}

// Wait waits for so long, and reports whether ctx has not ended by then.
func Wait(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return ctx.Err() == nil
}

// Signal is transport.Signal, for those who know API servers only.
func Signal(channel chan<- struct{}) { transport.Signal(channel) }
