package xds

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// TestContract68AnAnswerThatWaitsKeepsNoNamesThatTheClientNeverHad: as many answers as a client
// may leave without a word, each about as many names that do not exist as it may ask for.
func TestContract68AnAnswerThatWaitsKeepsNoNamesThatTheClientNeverHad(t *testing.T) {
	names := make([]string, mostNames)
	for n := range names {
		names[n] = fmt.Sprintf("none-%d.shop:80", n)
	}
	p := begun(map[string]string{"web.shop:80": "1"}, nil, time.Now())
	before := memory.Live()
	for range mostPending {
		a := answer{removed: names}
		p.drop(&a)
		p.send(a, time.Now())
	}
	if after := memory.Live(); len(p.pending) != mostPending || after > before+8<<20 {
		t.Errorf("the heap grew from %d to %d MiB for %d answers", before, after, len(p.pending))
	}

	a := answer{removed: append([]string{"web.shop:80"}, names...)}
	p.drop(&a)
	if len(a.removed) != 1 || len(names) != mostNames || names[0] != "none-0.shop:80" {
		t.Errorf("got %d names that are gone, want the one that the client has", len(a.removed))
	}
}

// TestContract141WhatAProxyWantsNoMoreIsNotWaitedFor: that it wants a route no more, and the answer with
// the route, meet on the way.
func TestContract141WhatAProxyWantsNoMoreIsNotWaitedFor(t *testing.T) {
	now := time.Now()
	route := answer{nonce: "1", put: []nameVersion{{"port-8080", "1"}}}
	forgets, goes := begun(nil, nil, now), begun(nil, nil, now)
	for _, p := range []*progress{&forgets, &goes} {
		p.send(route, now)
	}
	forgets.forget([]string{"port-8080"})
	if forgets.hear("1", "", now); !forgets.follows(nil) {
		t.Error("a route that the proxy wants no more is waited for until its stream ends")
	}
	// Of one that is gone it still has to say so.
	goes.send(answer{nonce: "2", removed: []string{"port-8080"}}, now)
	if goes.hear("1", "", now); goes.follows(nil) {
		t.Error("the proxy has not said that the route is gone, and is not waited for")
	}
	if goes.hear("2", "", now); !goes.follows(nil) {
		t.Error("the proxy has said that the route is gone, and is waited for")
	}
}
