package controller

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// One is a Hub of a store that has one target. Where the store announces no changes, it is
// read at an interval.
type One struct {
	store writer.Store
	of    publish.Target
	every time.Duration
	// news is what the store announces, nil where it cannot know.
	news    <-chan struct{}
	changed chan struct{}

	mu sync.Mutex
	// state is what the store held when it was read last, nil before the first time, and
	// stale why it could not be read since.
	state *publish.State
	stale error
	// spare says that the state was not handed out yet, and missed that the store changed
	// before somebody followed it.
	spare, missed bool
	follow        func()
}

// NewOne returns a hub that reads nothing until it runs.
func NewOne(store writer.Store, of publish.Target, news <-chan struct{}, every time.Duration) *One {
	return &One{store: store, of: of, every: every, news: news, changed: make(chan struct{}, 1)}
}

// Watch implements Hub.
func (o *One) Watch(string) {}

// Changed implements Hub.
func (o *One) Changed() <-chan struct{} { return o.changed }

// Find implements Hub.
func (o *One) Find(context.Context) ([]string, error) { return nil, nil }

// Local implements Hub.
func (o *One) Local() assign.Local {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := assign.Key{Namespace: o.of.Namespace, Service: o.of.Service}
	local := assign.Local{Sights: []assign.Sight{{Namespace: key.Namespace, Complete: o.state != nil, Err: o.stale}}}
	if o.state == nil {
		return local
	}
	if o.state.Service.UID != "" {
		local.Services = []assign.Service{{Key: key, Service: o.state.Service}}
	}
	for _, slice := range o.state.Slices {
		published := assign.PublishedSlice{Key: key, Pool: o.of.Pool, Slice: slice.Name, Ports: slice.Ports, Endpoints: len(slice.Endpoints), Changed: slice.Changed}
		published.Addresses = func() (all []netip.Addr) {
			for _, m := range slice.Endpoints {
				all = append(all, m.Address)
			}
			return all
		}
		if slice.Family == publish.IPv6 {
			published.IPv6 = published.Endpoints
		}
		local.Published = append(local.Published, published)
	}
	return local
}

// Open implements Hub.
func (o *One) Open(of publish.Target) (Store, error) {
	if of.Namespace != o.of.Namespace || of.Service != o.of.Service || of.SliceName != o.of.SliceName {
		return nil, fmt.Errorf("the store has the slices %s of Service %s/%s alone", o.of.SliceName, o.of.Namespace, o.of.Service)
	}
	return oneStore{o}, nil
}

// Run implements Hub. What fills the Service reads the store; before there is such a thing, or
// where nothing does, Run does it.
func (o *One) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.news:
		case <-timer.C:
		}
		if err := o.look(ctx); err != nil {
			timer.Reset(reload)
		} else if o.news == nil {
			timer.Reset(o.every)
		}
	}
}

// look lets who follows read the store, or does it itself.
func (o *One) look(ctx context.Context) error {
	o.mu.Lock()
	follow := o.follow
	o.spare = false
	o.mu.Unlock()
	if follow != nil {
		follow()
		return nil
	}
	_, err := writer.Load(ctx, oneStore{o})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare, o.missed = err == nil, true
	return err
}

// oneStore is the store, whose reads the hub hears of.
type oneStore struct{ *One }

// Load implements writer.Store. The first one after a look is that look.
func (s oneStore) Load(ctx context.Context) (publish.State, error) {
	o := s.One
	o.mu.Lock()
	o.missed = false
	if o.spare {
		o.spare = false
		defer o.mu.Unlock()
		return *o.state, nil
	}
	o.mu.Unlock()
	state, err := o.store.Load(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stale = err; err == nil {
		o.state = &state
	}
	transport.Signal(o.changed)
	return state, err
}

// Write implements writer.Store. What is published is known before the next Load.
func (s oneStore) Write(ctx context.Context, w publish.Write) (string, error) {
	o := s.One
	version, err := o.store.Write(ctx, w)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = false // a look from before a write is no read after it
	if err == nil && o.state != nil {
		state := *o.state
		state.Slices = writer.Landed(state.Slices, writer.Result{Write: w, Version: version})
		o.state = &state
	}
	return version, err
}

// Follow implements Store.
func (s oneStore) Follow(changed func()) {
	o := s.One
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.follow = changed; o.missed {
		changed()
	}
}

// Release implements Store.
func (s oneStore) Release() {
	o := s.One
	o.mu.Lock()
	defer o.mu.Unlock()
	o.follow = nil
}
