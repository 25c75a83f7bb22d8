package xds

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// leadingTo are routes that lead to these clusters, and what they need.
func leadingTo(clusters ...int) set {
	all, to := envoyconfig.NewSet(), &routev3.RouteConfiguration{Name: "port-8080"}
	for _, n := range clusters {
		name := fmt.Sprint("s", n)
		all[envoyconfig.Clusters][name] = &clusterv3.Cluster{Name: name}
		all[envoyconfig.Endpoints][name] = &endpointv3.ClusterLoadAssignment{ClusterName: name}
		to.VirtualHosts = append(to.VirtualHosts, &routev3.VirtualHost{Name: name})
	}
	all[envoyconfig.Routes]["port-8080"] = to
	return newSet(all)
}

// hung is a proxy that has said nothing since it asked.
func hung(f *fleet) *client {
	c := &client{server: &Server{}, fleet: f, protocol: Envoy, replies: make(chan reply, envoyconfig.Kinds)}
	for kind := range c.wants {
		c.wants[kind], c.kinds[kind] = newInterest(c, f.sent[kind]), begun(nil, nil, time.Time{})
	}
	return c
}

func led(f *fleet) int { return len(f.led.clusters) }

// TestContract66EachClusterHasAWaitOfItsOwn: while one proxy hangs and new clusters come every
// 2 s, the routes to each are sent when it is 5 s old.
func TestContract66EachClusterHasAWaitOfItsOwn(t *testing.T) {
	began := time.Unix(1000, 0)
	f := newFleet("shop/edge")
	f.want(leadingTo(0), began)
	f.proxies[hung(f)] = struct{}{}
	var wanted []int
	for second := range 60 {
		now := began.Add(time.Duration(second) * time.Second)
		if second%2 == 0 && second > 0 {
			wanted = append(wanted, second)
			f.want(leadingTo(append(wanted, 0)...), now)
		}
		f.step(now)
		old := 1
		for _, n := range wanted {
			if second-n >= int(acknowledgeTime/time.Second) {
				old++
			}
		}
		if led(f) != old {
			t.Fatalf("after %d s routes lead to %d clusters, and %d are 5 s old", second, led(f), old)
		}
		if f.late != uint64(old-1) {
			t.Fatalf("after %d s %d steps count as late, want %d: one for each cluster", second, f.late, old-1)
		}
	}
}

// TestContract66AClusterStaysWhileRoutesThatWaitLeadToIt: what was wanted for a moment is sent
// with what it needs, and goes when the routes do not lead to it any more.
func TestContract66AClusterStaysWhileRoutesThatWaitLeadToIt(t *testing.T) {
	began := time.Unix(1000, 0)
	f := newFleet("shop/edge")
	f.want(leadingTo(0), began)
	f.proxies[hung(f)] = struct{}{}
	f.want(leadingTo(0, 1), began)
	f.want(leadingTo(0, 2), began.Add(time.Second))
	has := func(n int) bool { return f.sent[envoyconfig.Clusters].get(fmt.Sprint("s", n)) != nil }
	for second := range 30 {
		f.step(began.Add(time.Duration(second) * time.Second))
		for name := range f.led.clusters {
			if f.sent[envoyconfig.Clusters].get(name) == nil {
				t.Fatalf("after %d s routes lead to %s, which is gone", second, name)
			}
		}
	}
	if _, leads := f.led.clusters["s2"]; !leads || has(1) || !has(2) {
		t.Errorf("routes lead to %v; cluster 1 there: %t, cluster 2 there: %t", f.led.clusters, has(1), has(2))
	}
}

// TestContract66EndpointsOfAClusterThatIsToGoDoNotWait: while one proxy hangs, routes of all lead to
// the old cluster.
func TestContract66EndpointsOfAClusterThatIsToGoDoNotWait(t *testing.T) {
	began := time.Unix(1000, 0)
	f, all := newFleet("shop/edge"), leadingTo(0)
	f.want(all, began)
	f.proxies[hung(f)] = struct{}{}
	f.want(leadingTo(1), began)
	of := func() *resource { return f.sent[envoyconfig.Endpoints].get("s0") }
	changed := leadingTo(0)
	changed[envoyconfig.Clusters] = all[envoyconfig.Clusters]
	if f.refresh(changed); of() != changed[envoyconfig.Endpoints]["s0"] {
		t.Error("the endpoints of the cluster that routes lead to are the old ones")
	}
	// The endpoints of another version of the cluster come when this version does: a proxy that gets
	// it later waits for them, and what it has is not sent again.
	if f.refresh(leadingTo(0)); of() != changed[envoyconfig.Endpoints]["s0"] {
		t.Error("the cluster has the endpoints of another version of it")
	}
	if f.refresh(leadingTo(2)); f.sent[envoyconfig.Endpoints].get("s2") != nil {
		t.Error("there are endpoints of a cluster that the fleet does not have")
	}
}

// TestContract66ChangesWithoutAPauseAreBounded: what waits is remembered four times a second.
func TestContract66ChangesWithoutAPauseAreBounded(t *testing.T) {
	began := time.Unix(1000, 0)
	f := newFleet("shop/edge")
	f.want(leadingTo(0), began)
	f.proxies[hung(f)] = struct{}{}
	for i := range 2000 {
		f.want(leadingTo(0, i+1), began.Add(time.Duration(i)*10*time.Millisecond))
		if len(f.waiting) > int(acknowledgeTime/turnGap)+3 {
			t.Fatalf("%d turns wait", len(f.waiting))
		}
	}
	if led(f) != 2 {
		t.Errorf("after 20 s routes lead to %d clusters", led(f))
	}
}

// TestContract99AChangeOfOneFleetMakesNothingOfAnother.
func TestContract99AChangeOfOneFleetMakesNothingOfAnother(t *testing.T) {
	fleets := NewFleets()
	s, err := New(Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: cache.New(1), Logger: slog.New(slog.DiscardHandler), MostClients: 1, MostOfOne: 1, Fleets: fleets,
	})
	if err != nil {
		t.Fatal(err)
	}
	edge, other := newFleet("shop/edge"), newFleet("blog/edge")
	s.fleets[edge.name], s.fleets[other.name] = edge, other
	second := func(n int64) time.Time { return time.Unix(n, 0) }
	at := func(generation int64) Object { return Object{Traffic: envoyconfig.Traffic{Generation: generation}} }
	for n, c := range []struct {
		says         map[string]Object
		edge, others int64 // when they were last made
	}{
		{map[string]Object{edge.name: at(1), other.name: at(1)}, 0, 0},
		{map[string]Object{edge.name: at(2), other.name: at(1)}, 1, 0},
		{map[string]Object{edge.name: at(2)}, 1, 0}, // it keeps what it had
		{map[string]Object{edge.name: at(2), other.name: at(3)}, 1, 3},
		{map[string]Object{edge.name: at(2), other.name: at(3)}, 1, 3},
	} {
		fleets.Replace(c.says)
		s.list(second(int64(n)))
		if edge.led.at != second(c.edge) || other.led.at != second(c.others) {
			t.Errorf("change %d: got fleets that were made at %d and %d s, want %d and %d", n, edge.led.at.Unix(), other.led.at.Unix(), c.edge, c.others)
		}
	}
}

// TestContract109WhatIsNewOfAFleetIsToldAtTheNextLook: its object changes all the time, each time with
// another mistake.
func TestContract109WhatIsNewOfAFleetIsToldAtTheNextLook(t *testing.T) {
	var log bytes.Buffer
	fleets := NewFleets()
	s, err := New(Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: cache.New(1), Logger: slog.New(slog.NewTextHandler(&log, nil)), MostClients: 1, MostOfOne: 1, Fleets: fleets,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.fleetOf("shop/edge")
	for n := range int64(100) {
		fleets.Replace(map[string]Object{"shop/edge": {Problem: fmt.Errorf("mistake %d", n)}})
		s.list(time.Unix(n, 0))
	}
	s.review()
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "mistake 99") {
		t.Errorf("got %d lines, want the newest mistake: %.500s", lines, log.String())
	}
}

// TestContract93AFleetThatIsKnownAgainKeepsItsListener: a proxy has the listener of another replica, and
// this one learns only later that its fleet has it.
func TestContract93AFleetThatIsKnownAgainKeepsItsListener(t *testing.T) {
	const name = "port-8080"
	began := time.Unix(1000, 0)
	f := newFleet("shop/edge")
	f.want(leadingTo(0), began)
	c := hung(f)
	s := c.wants[envoyconfig.Listeners]
	s.everything, s.has, s.kept, s.waits = true, map[string]string{name: "of another replica"}, map[string]struct{}{name: {}}, true
	f.proxies[c] = struct{}{}
	raw := envoyconfig.NewSet()
	raw[envoyconfig.Listeners][name] = &listenerv3.Listener{Name: name}
	all := leadingTo(0, 1) // a cluster is new, so the listener waits for it
	all[envoyconfig.Listeners] = newSet(raw)[envoyconfig.Listeners]
	f.listed = true
	f.want(all, began.Add(time.Minute))
	for second := range 10 {
		f.step(began.Add(time.Minute + time.Duration(second)*time.Second))
	}
	answer := <-c.replies
	if len(answer.removed) > 0 || len(answer.resources) != 1 || answer.resources[0].GetName() != name || len(c.replies) > 0 {
		t.Errorf("the proxy is sent %+v, want the listener replaced", answer)
	}
}

// TestContract93AReplicaThatIsNotSureTakesNoListenerOfAnotherAway: a proxy comes with a listener and a
// cluster of a newer version of its fleet. Both go when this replica is sure, for 5 s, that they are gone.
func TestContract93AReplicaThatIsNotSureTakesNoListenerOfAnotherAway(t *testing.T) {
	const edge, name, ends = "shop/edge", "port-9000", 60
	good := map[string]Object{edge: {Traffic: envoyconfig.Traffic{Generation: 4}}}
	second := func(n int64) time.Time { return time.Unix(1000+n, 0) }
	nothing := func(*fleet, *Fleets) {}
	again := func(_ *fleet, of *Fleets) { of.Replace(good) }
	for what, c := range map[string]struct {
		begins, ends      func(*fleet, *Fleets)
		listener, cluster int64 // when they go
	}{
		"objects cannot be read": {
			func(_ *fleet, of *Fleets) { of.Unread("shop", errors.New("envoys is forbidden")) }, func(_ *fleet, of *Fleets) { of.Unread("shop", nil) }, ends + 4, ends + 4,
		},
		"the newest version has a mistake": {func(_ *fleet, of *Fleets) { of.Replace(map[string]Object{edge: {Problem: errors.New("no port")}}) }, again, ends + 4, ends + 4},
		"nothing names the fleet":          {func(_ *fleet, of *Fleets) { of.Replace(nil) }, again, ends + 4, ends + 4},
		"another proxy hangs":              {func(f *fleet, _ *Fleets) { f.proxies[hung(f)] = struct{}{}; f.want(leadingTo(0), second(2)) }, nothing, 7, 5},
		"what is new may come late":        {nothing, nothing, 5, 5},
	} {
		fleets := NewFleets()
		fleets.Replace(good)
		s, err := New(Options{
			Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: cache.New(1), Logger: slog.New(slog.DiscardHandler), MostClients: 1, MostOfOne: 1, Fleets: fleets,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.list(second(0))
		f := s.fleetOf(edge)
		c.begins(f, fleets)
		p := hung(f)
		p.server, p.since, p.account = s, second(0), &account{}
		f.proxies[p] = struct{}{}
		for _, kind := range []envoyconfig.Kind{envoyconfig.Listeners, envoyconfig.Clusters} {
			w := wish{has: map[string]string{name: "of another replica"}}
			if _, err := p.bring(kind, &w); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.wants[kind].delta(w, ""), p.wants[kind].delta(wish{}, "1")); err != nil {
				t.Fatal(err)
			}
		}
		gone := make(map[envoyconfig.Kind]int64)
		for n := range int64(2 * ends) {
			if n == ends {
				c.ends(f, fleets)
			}
			s.step(second(n))
			for len(p.replies) > 0 {
				if r := <-p.replies; len(r.removed) > 0 {
					gone[r.kind] = n
				}
			}
		}
		if l, c1 := gone[envoyconfig.Listeners], gone[envoyconfig.Clusters]; l != c.listener || c1 != c.cluster {
			t.Errorf("%s: the listener goes after %d s and the cluster after %d, want %d and %d", what, l, c1, c.listener, c.cluster)
		}
	}
}

// TestContract99EndpointsOfAServiceThatIsNotShownMakeNothing: a cluster may have thousands of these.
func TestContract99EndpointsOfAServiceThatIsNotShownMakeNothing(t *testing.T) {
	s, err := New(Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: cache.New(1), Logger: slog.New(slog.DiscardHandler), MostClients: 1, MostOfOne: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	f, shown := s.fleetOf("shop/edge"), &join.Service{Key: join.Key{Namespace: "shop", Name: "web"}}
	second := func(n int64) time.Time { return time.Unix(n, 0) }
	for n, c := range []struct {
		service *join.Service
		made    int64 // when the fleet was last made
	}{{shown, 1}, {shown, 1}, {nil, 3}, {nil, 3}, {shown, 5}} {
		s.update([]cache.JoinedService{{Key: shown.Key, Service: c.service}}, second(int64(n)+1))
		if f.led.at != second(c.made) {
			t.Errorf("change %d: got a fleet that was made at %d s, want %d", n+1, f.led.at.Unix(), c.made)
		}
	}
}
