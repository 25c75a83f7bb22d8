package xds_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// follows returns how far proxy a follows.
func follows(t *testing.T, s *server) envoyconfig.ProxyState {
	t.Helper()
	for _, one := range s.Following() {
		if one.Node == "a" {
			return one
		}
	}
	t.Fatalf("there is no proxy a: %v", s.Following())
	return envoyconfig.ProxyState{}
}

func TestContract89AProxyFollowsAGenerationWhenItHasAcknowledgedClustersListenersAndRoutes(t *testing.T) {
	c := twoServices(t)
	path, withFleets := fleets(t, webListener)
	s := start(t, c, withFleets)
	p := listening(t, s, "a")
	s.Generation("shop/edge", 7)
	until(t, "generation 7 is followed", func() bool { return follows(t, s).Generation == 7 })
	// What comes of the Services later is no other generation, and a proxy that rejects it
	// still follows that one.
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.9")...)
	p.reject(p.take(), "no such zone")
	until(t, "the rejection is told", func() bool { return len(follows(t, s).Rejected) == 1 })
	if got := follows(t, s); got.Client != "shop/edge" || got.Generation != 7 || got.Rejected[0] != (envoyconfig.RejectedKind{Type: "EDS", Text: "web.shop:80: no such zone"}) {
		t.Errorf("got %+v", got)
	}
	// The next generation is followed at its last step, and not before.
	write(t, path, strings.ReplaceAll(webListener, "web}", "api}"))
	p.next()
	s.Generation("shop/edge", 8)
	p.ask(endpoints, "api.shop:80")
	p.next()
	answer := p.take()
	p.apply(answer)
	if got := follows(t, s).Generation; got != 7 {
		t.Errorf("the routes are not acknowledged: got generation %d, want 7", got)
	}
	p.acknowledge(answer)
	until(t, "generation 8 is followed", func() bool { return follows(t, s).Generation == 8 })
}

// TestContract89AProxyThatHasNotAcknowledgedARemovalFollowsNoGenerationWithoutIt.
func TestContract89AProxyThatHasNotAcknowledgedARemovalFollowsNoGenerationWithoutIt(t *testing.T) {
	path, withFleets := fleets(t, webListener)
	s := start(t, twoServices(t), withFleets)
	p := listening(t, s, "a")
	s.Generation("shop/edge", 7)
	until(t, "generation 7 is followed", func() bool { return follows(t, s).Generation == 7 })
	write(t, path, "fleets: [{name: shop/edge, listeners: []}]")
	answer := p.take() // that the listener is gone
	s.Generation("shop/edge", 8)
	if got := follows(t, s).Generation; got != 7 {
		t.Errorf("the proxy has not said that the listener is gone: got generation %d, want 7", got)
	}
	p.apply(answer)
	p.acknowledge(answer)
	until(t, "generation 8 is followed", func() bool {
		select {
		case answer := <-p.in:
			p.apply(answer)
			p.acknowledge(answer)
		default:
		}
		return follows(t, s).Generation == 8
	})
}

func TestContract89AProxyOfAnotherReplicaFollowsWhatItHasAlready(t *testing.T) {
	c := twoServices(t)
	_, withFleets := fleets(t, webListener)
	one, other := start(t, c, withFleets), start(t, c, withFleets)
	p := listening(t, one, "a")
	other.Generation("shop/edge", 7)
	again := connect(t, other, "a", "shop/edge", nil)
	again.has, again.raw = p.has, p.raw
	again.ask(clusters)
	again.next()
	if got := follows(t, other).Generation; got != 0 {
		t.Errorf("nothing is said of listeners yet: got generation %d", got)
	}
	again.ask(endpoints, "web.shop:80")
	again.ask(listeners)
	again.ask(routes, "port-8080")
	until(t, "generation 7 is followed", func() bool { return follows(t, other).Generation == 7 })
}

// TestContract141AGenerationThatIsLowerThanBeforeIsNotFollowedYet: an API server was restored
// from a backup.
func TestContract141AGenerationThatIsLowerThanBeforeIsNotFollowedYet(t *testing.T) {
	c := twoServices(t)
	path, withFleets := fleets(t, webListener)
	s := start(t, c, withFleets)
	p := listening(t, s, "a")
	s.Generation("shop/edge", 7)
	until(t, "generation 7 is followed", func() bool { return follows(t, s).Generation == 7 })
	write(t, path, strings.ReplaceAll(webListener, "web}", "api}"))
	p.next()
	s.Generation("shop/edge", 3)
	if got := follows(t, s).Generation; got != 0 {
		t.Errorf("got generation %d before anything of generation 3 was sent", got)
	}
	p.ask(endpoints, "api.shop:80")
	// On a slow machine the cluster that is gone goes before all is acknowledged: one answer more.
	until(t, "generation 3 is followed", func() bool {
		select {
		case answer := <-p.in:
			p.apply(answer)
			p.acknowledge(answer)
		default:
		}
		return follows(t, s).Generation == 3
	})
}

// TestContract141AnotherEnvoyOfTheSameGenerationIsNotFollowedYet: one was deleted, and made again with
// other listeners.
func TestContract141AnotherEnvoyOfTheSameGenerationIsNotFollowedYet(t *testing.T) {
	of := func(port uint16) map[string]xds.Object {
		o := object(port)
		o.Traffic.Generation = 7
		return map[string]xds.Object{"shop/edge": o}
	}
	f, with := objects(of(8080))
	s := start(t, twoServices(t), with)
	p := listening(t, s, "a")
	until(t, "generation 7 is followed", func() bool { return follows(t, s).Generation == 7 })
	f.Replace(nil)
	f.Replace(of(8081))
	answer := p.take()
	if got := follows(t, s).Generation; got != 0 {
		t.Errorf("got generation %d, and the proxy has not acknowledged the new listeners", got)
	}
	p.apply(answer)
	p.acknowledge(answer)
	p.ask(routes, "port-8081")
	until(t, "generation 7 is followed", func() bool {
		select {
		case answer := <-p.in:
			p.apply(answer)
			p.acknowledge(answer)
		default:
		}
		return follows(t, s).Generation == 7
	})
}
