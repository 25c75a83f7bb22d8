package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contract 77: a node of many Services that dies costs one write for each slice and no
// read. A restart writes nothing, and no Service costs a goroutine.
func manyServices(t *testing.T, w *world) {
	const services, endpoints = 100, 10
	p := w.byDocuments()
	p.nodes = nil
	for _, addr := range netns.Addresses(t, endpoints) {
		p.nodes = append(p.nodes, p.newNode(addr))
	}
	for i := range services {
		p.service(fmt.Sprintf("many-%d", i), map[string]string{"endpoints.ablmnzde.github.io/pool": "blue"})
	}
	p.pool("blue", p.nodes, "  healthCheck: {interval: 1s}\n") // finds a death sooner
	p.env["LOG_LEVEL"] = "info"

	began := time.Now()
	d := newSurfaces(p.start())
	p.wantRight(d.daemon, services)
	right, before := time.Now(), p.writes()
	if got := len(before); got != services {
		t.Errorf("start: got %d writes, want one for each of %d slices", got, services)
	}
	if got := goroutines(d); got >= services {
		t.Errorf("got %d goroutines, want less than one for each of %d Services", got, services)
	}

	p.nodes[0].backends[0].kill()
	killed := time.Now()
	p.until(func() bool { return p.down(0) == services }, func() string {
		return fmt.Sprintf("%d of %d slices say that %s is down", p.down(0), services, p.nodes[0].IP)
	})
	p.wantWrites(before, services)
	t.Logf("start to all slices: %s; death of a node to all slices: %s", killed.Sub(began), time.Since(killed))
	for _, e := range p.cp.Audit() {
		if e.User == p.user && e.Received.After(right) && !e.Writes() && e.Verb != "watch" && !strings.Contains(e.Path, "watch=true") {
			t.Errorf("got a read: %s %s", e.Verb, e.Path)
		}
	}
	d.stop()

	before = p.writes()
	p.wantRight(p.start(), services)
	p.nodes[1].backends[0].kill()
	p.until(func() bool { return p.down(1) == services }, func() string {
		return fmt.Sprintf("after a restart: %d of %d slices say that %s is down", p.down(1), services, p.nodes[1].IP)
	})
	p.wantWrites(before, services) // those of this node alone
}

// wantRight waits until the daemon says that it filled so many Services.
func (p *platform) wantRight(d *daemon, services int) {
	p.t.Helper()
	for d.says("the slices of all Services are as decided")["services"] != float64(services) {
	}
}

// down is how many slices say that a node is down.
func (p *platform) down(node int) int {
	p.t.Helper()
	count := 0
	for _, endpoints := range p.bySlice() {
		if strings.Contains(endpoints, p.nodes[node].IP+" down") {
			count++
		}
	}
	return count
}

// goroutines is how many the daemon has by its metrics.
func goroutines(s *surfaces) (count int) {
	s.world.t.Helper()
	_, rest, _ := strings.Cut(s.get(s.metrics, "/metrics"), "\ngo_goroutines ")
	if _, err := fmt.Sscan(rest, &count); err != nil {
		s.world.t.Fatal(err)
	}
	return count
}
