package views

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// PortKey names one port of one Service.
type PortKey struct {
	Namespace, Service string
	// Port is the name of the port.
	Port string
}

// Reconciler makes something, such as a proxy, right for one port of a Service.
type Reconciler interface {
	// Reconcile is given all endpoints of the port as they are, by address and target
	// port; none where the port has none, or is gone. It is called for one port at a
	// time, and again after a while where it returns an error.
	Reconcile(ctx context.Context, port PortKey, endpoints []Endpoint) error
}

// Run calls the reconciler for each port that changed, until ctx ends. It begins when
// everything is known: no port is ever shown in part. Many changes of a port while
// the reconciler is busy become one call.
func (c *Client) Run(ctx context.Context, reconciler Reconciler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &desk{ports: make(map[PortKey]map[string]Endpoint), due: make(map[PortKey]time.Time), wake: make(chan struct{}, 1)}
	var watching sync.WaitGroup
	var err error
	watching.Go(func() {
		defer cancel()
		err = c.Watch(ctx, d.take)
	})
	for ctx.Err() == nil {
		port, endpoints, wait := d.next(time.Now())
		if wait == 0 {
			failed := reconciler.Reconcile(ctx, port, endpoints)
			if failed != nil && ctx.Err() == nil {
				c.opts.OnError(failed)
			}
			d.done(port, failed)
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	watching.Wait()
	if errors.Is(err, context.Canceled) {
		return ctx.Err()
	}
	return err
}

// retry is the wait before a reconciler that failed is called again, doubled each time
// up to retryMax.
const retry, retryMax = 200 * time.Millisecond, 30 * time.Second

// desk holds what every port has, and which of them are due.
type desk struct {
	wake chan struct{}

	mu     sync.Mutex
	synced bool
	ports  map[PortKey]map[string]Endpoint
	due    map[PortKey]time.Time
	failed map[PortKey]time.Duration
}

// take notes an event.
func (d *desk) take(event Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if event.Type == Synced {
		d.synced = true
	} else {
		spec := &event.View.Spec
		port := PortKey{event.View.Metadata.Namespace, spec.ServiceName, spec.PortName}
		if d.ports[port] == nil {
			d.ports[port] = make(map[string]Endpoint)
		}
		d.ports[port][event.View.Metadata.Name] = spec.Endpoint
		if event.Type == Deleted {
			delete(d.ports[port], event.View.Metadata.Name)
		}
		d.due[port] = time.Time{}
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
	return nil
}

// next returns a port that is due, or how long none will be.
func (d *desk) next(now time.Time) (port PortKey, endpoints []Endpoint, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wait = time.Hour
	if !d.synced {
		return port, nil, wait
	}
	for one, at := range d.due {
		left := max(at.Sub(now), 0)
		if left < wait || left == wait && less(one, port) {
			port, wait = one, left
		}
	}
	if wait > 0 {
		return port, nil, wait
	}
	delete(d.due, port)
	for _, e := range d.ports[port] {
		endpoints = append(endpoints, e)
	}
	slices.SortFunc(endpoints, func(a, b Endpoint) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), cmp.Compare(a.TargetPort, b.TargetPort))
	})
	if len(endpoints) == 0 {
		delete(d.ports, port)
	}
	return port, endpoints, 0
}

func less(a, b PortKey) bool {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service), strings.Compare(a.Port, b.Port)) < 0
}

// done notes what came of a call.
func (d *desk) done(port PortKey, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.failed, port)
		return
	}
	if d.failed == nil {
		d.failed = make(map[PortKey]time.Duration)
	}
	d.failed[port] = min(max(2*d.failed[port], retry), retryMax)
	if _, again := d.due[port]; !again {
		d.due[port] = time.Now().Add(d.failed[port])
	}
}
