package xds_test

import (
	"errors"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// kept waits until as many fleets keep their listeners for each reason.
func kept(t *testing.T, s *server, what string, missing, invalid, unread int) {
	t.Helper()
	until(t, what, func() bool {
		got := s.Stats().Kept
		return got[xds.KeptMissing] == missing && got[xds.KeptInvalid] == invalid && got[xds.KeptUnread] == unread
	})
}

func TestContract109FleetsThatKeepListenersWhichNothingConfirmsAreCountedAndTold(t *testing.T) {
	good := map[string]xds.Object{"shop/edge": object(8080), "shop/idle": object(8081)}
	f, with := objects(good)
	log := &said{}
	s := start(t, twoServices(t), func(o *xds.Options) { with(o); log.logged(o) })
	p := listening(t, s, "a")
	kept(t, s, "the newest version is in effect", 0, 0, 0)

	f.Replace(map[string]xds.Object{"shop/edge": {Problem: errors.New("listener \"web\" has no port")}, "shop/idle": {Problem: errors.New("no port")}})
	kept(t, s, "an object has a mistake; that of a fleet without proxies does not count", 0, 1, 0)
	until(t, "it is told", func() bool {
		return log.has("the newest version of a fleet has a mistake") && log.has("fleet=shop/edge") && log.has("has no port")
	})
	f.Replace(good)
	kept(t, s, "the mistake is gone", 0, 0, 0)
	until(t, "it is told", func() bool { return log.has("the newest version of a fleet is in effect again") })

	f.Unread("", errors.New("envoys is forbidden"))
	kept(t, s, "objects cannot be read", 0, 0, 1)
	if got := s.Streams()[0].Fleet; got == nil || got.Unread != "envoys is forbidden" || got.Carrier != xds.InObject {
		t.Errorf("got %+v, want why", got)
	}
	f.Unread("", nil)
	kept(t, s, "objects can be read again", 0, 0, 0)

	f.Replace(nil)
	kept(t, s, "nothing names the fleet", 1, 0, 0)
	p.quiet("the fleet is missing")
	if err := p.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	kept(t, s, "the fleet has no proxy any more", 0, 0, 0)
}

func TestContract109AReplicaThatNeverKnewAFleetCountsItByItsProxies(t *testing.T) {
	_, with := objects(map[string]xds.Object{"blog/edge": object(8081)})
	s := start(t, twoServices(t), with)
	p := connect(t, s, "a", "shop/edge", nil)
	p.has[listeners]["port-8080"], p.raw[listeners]["port-8080"] = "of another replica", nil
	p.ask(clusters)
	p.next()
	kept(t, s, "a fleet without listeners keeps none", 0, 0, 0)
	p.ask(listeners)
	kept(t, s, "the proxy says which listeners it has", 1, 0, 0)
	if got := s.Streams()[0].Fleet; got == nil || !got.Kept {
		t.Errorf("got %+v, want that it is kept", got)
	}
}
