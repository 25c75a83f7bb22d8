//go:build simulation

package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// replica is one Pod of a daemon with leader election. The world's lock guards it.
type replica struct {
	w        *world
	identity string
	stop     context.CancelFunc
	done     chan struct{}
	// way is the fault of its requests for the Lease; dead ones were killed.
	way           fault
	dead, stopped bool
	// again is when another takes its place, once it has ended.
	again time.Time
	// chance is what its election and its requests draw from.
	chance *rand.Rand
}

// random is what the election draws its jitter from.
func (r *replica) random() float64 {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.chance.Float64()
}

// takeover is how long no process may lead after the holder is gone, and a moment.
const takeover = lease.LeaseDuration + 4*lease.RetryPeriod

// enlist starts a replica. The caller has the lock.
func (w *world) enlist() (*replica, error) {
	w.enlisted++
	r := &replica{w: w, identity: fmt.Sprint("replica-", w.enlisted), done: make(chan struct{}), chance: w.dice("replica", w.enlisted)}
	elector, err := lease.New(lease.Options{
		Way: kube.Fixed(&rest.Config{Host: "http://api", Transport: r}), Namespace: "default", Name: "lease",
		Identity: r.identity, Random: r.random,
	})
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	w.note("%s starts", r.identity)
	go func() {
		defer close(r.done)
		err := elector.Run(ctx, func(ctx context.Context) error { return w.lead(ctx, r, elector) })
		w.mu.Lock()
		defer w.mu.Unlock()
		w.note("%s ended: %v", r.identity, err)
	}()
	return r, nil
}

// lead runs the loop while the replica holds the Lease.
func (w *world) lead(ctx context.Context, r *replica, elector *lease.Elector) error {
	w.mu.Lock()
	p, err := w.prepare(r, elector)
	if err != nil {
		w.mu.Unlock()
		return err
	}
	w.daemon, p.over = p, ctx.Err
	w.note("%s leads as process %d", r.identity, p.number)
	w.mu.Unlock()
	err = p.syncer.Run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.daemon == p {
		w.daemon = nil
	}
	return err
}

// mendReplicas starts the replicas that must run. The caller has the lock.
func (w *world) mendReplicas() error {
	for i, r := range w.replicas {
		if r != nil {
			select {
			case <-r.done:
			default:
				continue
			}
			if time.Now().Before(r.again) {
				continue
			}
		}
		var err error
		if w.replicas[i], err = w.enlist(); err != nil {
			return err
		}
	}
	return nil
}

// strikeReplica stops a replica, kills it, or disturbs its election.
func (w *world) strikeReplica(r *rand.Rand) {
	one := w.replicas[r.IntN(len(w.replicas))]
	if one == nil {
		return
	}
	rough := time.Now().Add(takeover)
	switch k := r.IntN(10); {
	case k < 2:
		w.note("%s is told to stop", one.identity)
		one.stopped = true
		one.stop()
	case k < 4:
		w.note("%s is killed", one.identity)
		one.dead = true
		if w.daemon != nil && w.daemon.replica == one {
			w.daemon.dead = true
		}
		one.stop()
	case k < 8:
		one.way = fault{kind: pick(r, leaseRefused, leaseHangs), until: time.Now().Add(time.Duration(r.Int64N(int64(30 * time.Second))))}
		rough = one.way.until.Add(takeover)
		w.note("%s: %s for %s", one.identity, one.way.kind, time.Until(one.way.until))
	case w.leases.lease != nil:
		w.steal(k == 9)
	}
	one.again = time.Now().Add(pick(r, time.Millisecond, time.Second, 20*time.Second))
	w.roughen("daemon", rough)
}

// steal lets another client take the Lease, or delete it.
func (w *world) steal(deleted bool) {
	w.stolenAt = time.Now()
	stolen := w.leases.lease.DeepCopy()
	stolen.Spec.HolderIdentity = new("somebody")
	if deleted {
		stolen = nil
	}
	w.note("the Lease of %q is stolen, deleted %t", w.leases.holder(), deleted)
	w.leases.store(stolen)
}

// checkHolder is contract 29: a process that writes holds the Lease, except in the
// moment after another process took the Lease by force.
func (p *process) checkHolder() {
	w := p.w
	if p.replica == nil || p.dead || time.Since(w.stolenAt) < lease.LeaseDuration {
		return
	}
	if holder := w.leases.holder(); holder != p.replica.identity {
		w.breach(29, "%s writes while %q holds the Lease", p.replica.identity, holder)
	}
	if w.daemon != nil && w.daemon != p {
		w.breach(29, "%s writes after process %d began to lead", p.replica.identity, w.daemon.number)
	}
}

// end stops everything that runs, and waits for it.
func (w *world) end() {
	w.mu.Lock()
	running := []*process{w.halt(&w.daemon, false), w.halt(&w.second, false)}
	replicas := w.replicas
	for _, r := range replicas {
		if r != nil {
			r.stop()
		}
	}
	w.mu.Unlock()
	for _, r := range replicas {
		if r != nil {
			<-r.done
		}
	}
	for _, p := range running {
		if p != nil && p.replica == nil {
			<-p.done
		}
	}
}
