package xds_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// rejects takes answers until the proxy has these resources of a kind, and rejects each that has
// one of the bad ones. It returns how many answers that took.
func (p *proxy) rejects(has []string, bad ...string) int {
	p.t.Helper()
	for answers := 0; ; answers++ {
		if answers > 1000 {
			p.t.Fatal("the server does not end")
		}
		var answer *discoveryv3.DeltaDiscoveryResponse
		wait := 300 * time.Millisecond // enough to see that nothing more comes
		if p.missesAny(has) {
			wait = waitLimit
		}
		select {
		case answer = <-p.in:
		case err := <-p.failed:
			p.t.Fatalf("the stream ended: %v", err)
		case <-time.After(wait):
			if p.missesAny(has) {
				p.t.Fatalf("after %d answers the proxy has %v, want %v", answers, p.names(endpoints), has)
			}
			return answers
		}
		var found []string
		for _, one := range answer.GetResources() {
			if slices.Contains(bad, one.GetName()) {
				found = append(found, one.GetName())
			}
		}
		if len(found) > 0 {
			p.reject(answer, "no "+strings.Join(found, " and no "))
			continue
		}
		p.apply(answer)
		p.acknowledge(answer)
	}
}

// missesAny reports whether the proxy misses endpoints.
func (p *proxy) missesAny(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.has[endpoints][name] == "" })
}

// TestContract99AResourceThatAnEnvoyRejectsStopsNoOther: of 100 it rejects some, at any place.
func TestContract99AResourceThatAnEnvoyRejectsStopsNoOther(t *testing.T) {
	c := newCluster(t)
	named := func(n int) string { return fmt.Sprintf("web-%03d", n) }
	slice := func(n int, address string) {
		c.slice("shop", named(n)+"-1", named(n), "http", 8080, ready(address)...)
	}
	var all []string
	for n := range 100 {
		c.service("shop", named(n), port("http", 80))
		slice(n, "10.0.0.1")
		all = append(all, named(n)+".shop:80")
	}
	s := start(t, c, nil)
	for _, bad := range [][]int{{0}, {99}, {50}, {10, 11, 70}} {
		p := connect(t, s, "a", "shop/edge", nil)
		var rejected []string
		for _, n := range bad {
			rejected = append(rejected, all[n])
		}
		good := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(rejected, name) })
		p.ask(endpoints, all...)
		if took := p.rejects(good, rejected...); took > 40*len(bad) {
			t.Errorf("%v rejected: %d answers, want about two for each doubling of one", bad, took)
		}
		if got := p.names(endpoints); !slices.Equal(got, good) {
			t.Fatalf("%v rejected: the proxy has %v", bad, got)
		}
		until(t, "all others are acknowledged", func() bool {
			var none []string
			for _, r := range sent(s, "a", "EDS").Resources {
				if r.AcknowledgedAt == nil {
					none = append(none, r.Name)
				}
			}
			return slices.Equal(none, rejected)
		})
		// What changes later is sent as before, also together.
		before := p.has[endpoints][all[1]]
		for _, n := range append(bad, 1) {
			slice(n, "10.0.0.2")
		}
		for p.has[endpoints][all[1]] == before {
			p.rejects(nil, rejected...)
		}
		for _, n := range append(bad, 1) {
			slice(n, "10.0.0.1")
		}
		p.rejects(all)
		_ = p.stream.CloseSend()
		until(t, "the stream is forgotten", func() bool { return len(s.Streams()) == 0 })
	}
}

// TestContract99WhatIsGoneGoesAlsoBesideAResourceThatAnEnvoyRejects: one answer says both.
func TestContract99WhatIsGoneGoesAlsoBesideAResourceThatAnEnvoyRejects(t *testing.T) {
	const two = "fleets: [{name: shop/edge, listeners: [{port: 8080, service: web}, {port: 9000, service: web}]}]"
	path, withFleets := fleets(t, two)
	p := listening(t, start(t, twoServices(t), withFleets), "a")
	write(t, path, strings.ReplaceAll(two, "9000", "9001"))
	until(t, "the listener is gone", func() bool {
		answer := p.take()
		if slices.ContainsFunc(answer.GetResources(), func(r *discoveryv3.Resource) bool { return r.GetName() == "port-9001" }) {
			p.reject(answer, "no port 9001")
			return false
		}
		p.apply(answer)
		p.acknowledge(answer)
		return slices.Equal(p.names(listeners), []string{"port-8080"})
	})
	for quiet := false; !quiet; {
		select {
		case answer := <-p.in:
			if kindOf(answer.GetTypeUrl()) == listeners {
				t.Fatalf("the server sends %v again", answer)
			}
			p.acknowledge(answer)
		case <-time.After(200 * time.Millisecond):
			quiet = true
		}
	}
}

// TestContract70ARejectionStaysWhileOtherResourcesAreAcknowledged: of two that are rejected, the one
// that is left is told when the other one is not any more.
func TestContract70ARejectionStaysWhileOtherResourcesAreAcknowledged(t *testing.T) {
	c := newCluster(t)
	var all []string
	for _, name := range []string{"a", "b", "c", "d"} {
		c.service("shop", name, port("http", 80))
		c.slice("shop", name+"-1", name, "http", 8080, ready("10.0.0.1")...)
		all = append(all, name+".shop:80")
	}
	s := start(t, c, nil)
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(endpoints, all...)
	says := func(want ...string) {
		t.Helper()
		until(t, fmt.Sprintf("the newest rejection is of %q", want), func() bool {
			var got []string
			if r := sent(s, "a", "EDS").Rejected; r != nil {
				got = r.Resources
			}
			return slices.Equal(got, want)
		})
	}
	p.rejects([]string{all[0], all[3]}, all[1], all[2])
	says(all[2])
	if got := follows(t, s).Rejected; len(got) != 1 || got[0].Text != "no c.shop:80" {
		t.Errorf("got %+v", got)
	}
	c.slice("shop", "d-1", "d", "http", 8080, ready("10.0.0.2")...)
	p.rejects(nil, all[1], all[2])
	says(all[2])
	c.slice("shop", "c-1", "c", "http", 8080, ready("10.0.0.2")...)
	p.rejects(all[2:], all[1])
	says(all[1])
	c.slice("shop", "b-1", "b", "http", 8080, ready("10.0.0.2")...)
	p.rejects(all)
	says()
	// What it does not want any more ends, too.
	c.slice("shop", "a-1", "a", "http", 8080, ready("10.0.0.2")...)
	p.rejects(nil, all[0])
	says(all[0])
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints.TypeURL(), ResourceNamesUnsubscribe: all[:1]})
	says()
}
