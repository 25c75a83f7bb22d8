package lease_test

import (
	"net/netip"
	"testing"
	"testing/synctest"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// leaderAddress and replicaProtocol are the annotations, as other programs read them.
const (
	leaderAddress   = "endpoints.ablmnzde.github.io/leader-address"
	replicaProtocol = "endpoints.ablmnzde.github.io/replica-protocol"
)

func TestTheLeaseSaysWhereTheLeaderAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a, at := newAPI(), netip.MustParseAddrPort("10.1.2.3:8081")
		leader := prepare(t, a, "one")
		leader.elector.ListensOn(at)
		leader.run()
		within(t, soon, "lead", leader.leading)
		standby := start(t, a, "two")
		seen := func() bool {
			synctest.Wait()
			return standby.elector.State().Address == at
		}
		within(t, lease.RetryPeriod+soon, "know where the leader answers", seen)
		if got := leader.elector.State().Address; got != at {
			t.Errorf("the leader says %s, want %s", got, at)
		}
		// The annotation is renewed with the Lease, and what is no address is none.
		for value, want := range map[string]bool{"somewhere": false, "10.1.2.3": false} {
			a.change(func(held *coordinationv1.Lease) *coordinationv1.Lease {
				held.Annotations[leaderAddress] = value
				return held
			})
			if seen() != want {
				t.Errorf("%q: got %s", value, standby.elector.State().Address)
			}
			within(t, lease.RetryPeriod+soon, "know it again", seen)
		}
		leader.stop()
		within(t, linger+soon, "lead", standby.leading)
		if got, told := standby.elector.State().Address, a.get().Annotations; got.IsValid() || told[leaderAddress] != "" {
			t.Errorf("got %s and %v of a leader that answers nowhere, want none", got, told)
		}
	})
}

// Contract 217: the version comes and goes with the address. Leaders of another version, or
// of one that says none, are followed and elected as ever.
func TestContract217TheLeaseSaysInWhichVersionTheLeaderAnswers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		leader := prepare(t, a, "one")
		leader.elector.ListensOn(netip.MustParseAddrPort("10.1.2.3:8081"))
		leader.run()
		within(t, soon, "lead", leader.leading)
		standby := start(t, a, "two")
		seen := func() bool {
			synctest.Wait()
			return standby.elector.State().Protocol == lease.Protocol
		}
		within(t, lease.RetryPeriod+soon, "know the version", seen)
		if got := leader.elector.State().Protocol; got != lease.Protocol {
			t.Errorf("the leader says version %q, want %q", got, lease.Protocol)
		}
		for _, version := range []string{"2", ""} {
			a.change(func(held *coordinationv1.Lease) *coordinationv1.Lease {
				if held.Annotations[replicaProtocol] = version; version == "" {
					delete(held.Annotations, replicaProtocol) // as an older leader
				}
				return held
			})
			if synctest.Wait(); standby.elector.State().Protocol != version || standby.leading() || !leader.leading() {
				t.Errorf("version %q: got %+v", version, standby.elector.State())
			}
			within(t, lease.RetryPeriod+soon, "know it again", seen)
		}
		leader.stop()
		within(t, linger+soon, "lead", standby.leading)
		if got, told := standby.elector.State().Protocol, a.get().Annotations; got != "" || told[replicaProtocol] != "" {
			t.Errorf("got %q and %v of a leader that answers nowhere, want none", got, told)
		}
	})
}

func TestALeaderThatListensEverywhereAndIsConnectedNowhereTellsNoAddress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		leader := prepare(t, a, "one")
		leader.elector.ListensOn(netip.MustParseAddrPort("[::]:8081"))
		leader.run()
		within(t, soon, "lead", leader.leading)
		if told, ok := a.get().Annotations[leaderAddress]; ok {
			t.Errorf("got %q, want no address", told)
		}
	})
}
