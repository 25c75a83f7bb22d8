package views

import (
	"cmp"
	"context"
	"maps"
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
// everything is known, and goes on at the mark that ends a change: no port is ever shown in
// part. Many changes of a port while the reconciler is busy become one call, and ports take turns
// in the order in which they changed. A port that has no endpoint when Run begins is not told: a
// program that has endpoints of before, such as a proxy that runs on, uses WatchPorts.
func (c *Client) Run(ctx context.Context, reconciler Reconciler) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := &desk{
		told: make(map[PortKey]map[string]Endpoint), touched: make(map[PortKey]bool), due: make(map[PortKey]call), wake: make(chan struct{}, 1),
	}
	var watching sync.WaitGroup
	var err error
	watching.Go(func() {
		defer cancel()
		err = watch(ctx, c, c.query(), d.take, d.whole)
	})
	for ctx.Err() == nil {
		port, one, wait := d.next(time.Now())
		if wait == 0 {
			if failed := reconciler.Reconcile(ctx, port, slices.Clone(one.endpoints)); failed != nil && ctx.Err() == nil {
				c.opts.OnError(failed)
				d.again(port, one)
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-time.After(wait):
		}
	}
	watching.Wait()
	return err
}

// retry is the wait before a reconciler that failed is called again, doubled each time
// up to retryMax.
const retry, retryMax = 200 * time.Millisecond, 30 * time.Second

// call is one that a port waits for.
type call struct {
	// endpoints are those of the port at the last mark, in order.
	endpoints []Endpoint
	// at is when it is due. It does not move while the port changes again.
	at time.Time
	// paused is how long it waited last because the one before failed.
	paused time.Duration
}

// desk holds what every port has, and which of them are due.
type desk struct {
	// told is what the events say so far, which may be the half of a change, and touched
	// which ports they were about since the last mark. Only the watch uses them.
	told    map[PortKey]map[string]Endpoint
	touched map[PortKey]bool

	wake chan struct{}

	mu  sync.Mutex
	due map[PortKey]call
}

// take notes an event.
func (d *desk) take(event Event) error {
	if event.Type == Synced {
		return nil
	}
	spec := &event.View.Spec
	port := PortKey{event.View.Metadata.Namespace, spec.ServiceName, spec.PortName}
	if d.told[port] == nil {
		d.told[port] = make(map[string]Endpoint)
	}
	d.told[port][event.View.Metadata.Name] = spec.Endpoint
	if event.Type == Deleted {
		delete(d.told[port], event.View.Metadata.Name)
	}
	d.touched[port] = true
	return nil
}

// whole makes the ports due that changed since the last mark.
func (d *desk) whole() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for port := range d.touched {
		one, waits := d.due[port]
		if !waits || one.at.After(now) {
			one.at = now
		}
		one.endpoints = slices.SortedFunc(maps.Values(d.told[port]), func(a, b Endpoint) int {
			return cmp.Or(strings.Compare(a.Address, b.Address), cmp.Compare(a.TargetPort, b.TargetPort))
		})
		d.due[port] = one
		if len(d.told[port]) == 0 {
			delete(d.told, port)
		}
	}
	clear(d.touched)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// next takes a port that is due, or says how long none will be.
func (d *desk) next(now time.Time) (port PortKey, of call, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.due) == 0 {
		return port, of, time.Hour
	}
	port = slices.MinFunc(slices.Collect(maps.Keys(d.due)), func(a, b PortKey) int {
		return cmp.Or(d.due[a].at.Compare(d.due[b].at), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service), strings.Compare(a.Port, b.Port))
	})
	of = d.due[port]
	if wait = max(of.at.Sub(now), 0); wait == 0 {
		delete(d.due, port)
	}
	return port, of, wait
}

// again lets a call that failed wait. A port that has changed since is due at once, and waits no
// less if that fails as well.
func (d *desk) again(port PortKey, failed call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next, changed := d.due[port]
	if next.paused = min(max(2*failed.paused, retry), retryMax); !changed {
		next.endpoints, next.at = failed.endpoints, time.Now().Add(next.paused)
	}
	d.due[port] = next
}
