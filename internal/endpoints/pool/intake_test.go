package pool_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// address is that of an octet.
func address(octet int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(octet >> 8), byte(octet)})
}

// result is what a check came to.
func result(octet int, outcome inventory.Outcome) inventory.Result {
	return inventory.Result{Address: address(octet), At: time.Now(), Outcome: outcome}
}

func TestContract28TheWaitAfterARestartHasOneEndHoweverManyInventoriesCome(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		// accepted are when inventories come; checked is when all was checked,
		// 0 means never.
		accepted []time.Duration
		checked  time.Duration
		want     time.Duration
	}{
		"all is checked already":     {[]time.Duration{0}, 0, 0},
		"all is checked after 1 s":   {[]time.Duration{0}, s, s},
		"never":                      {[]time.Duration{0}, time.Hour, 2 * s},
		"never, and one each 100 ms": {[]time.Duration{0, s / 10, s / 5, s, 19 * s / 10}, time.Hour, 2 * s},
		"never, the first one late":  {[]time.Duration{10 * s, 11 * s}, time.Hour, 12 * s},
	} {
		t.Run(name, func(t *testing.T) {
			in, start := pool.NewIntake(2*s), time.Now()
			if !in.Deadline().IsZero() {
				t.Error("got a deadline before the first inventory")
			}
			var newest *guard.Inventory
			for at := time.Duration(0); at < time.Minute; at += s / 10 {
				now := start.Add(at)
				for _, a := range c.accepted {
					if a == at {
						newest = &guard.Inventory{Nodes: int(at)}
						in.Accept(newest, now)
					}
				}
				deadline := in.Deadline()
				read, _ := in.Take(at < c.checked, now)
				if read == nil {
					if newest != nil && (deadline.IsZero() || !deadline.After(now)) {
						t.Fatalf("after %s: waits, but wakes at %s", at, deadline)
					}
					continue
				}
				if at != c.want || read != newest {
					t.Errorf("got %+v after %s, want the newest after %s", read, at, c.want)
				}
				if again, _ := in.Take(false, now); again != nil || !in.Deadline().IsZero() {
					t.Errorf("got %+v again, and a deadline at %s", again, in.Deadline())
				}
				in.Accept(&guard.Inventory{}, now)
				if later, _ := in.Take(true, now); later == nil {
					t.Error("a later inventory waits too, although something new is unchecked only")
				}
				return
			}
			t.Error("it was never decided on")
		})
	}
}

func TestResultsThatWaitAreInWhatIsDecidedOn(t *testing.T) {
	in := pool.NewIntake(time.Second)
	in.Put(result(1, inventory.Pass), result(2, inventory.Refused))
	in.Put(result(2, inventory.Refused))
	for range 2 { // once
		read, health := in.Take(false, time.Now())
		if read != nil || health.Of(address(1)).Passes != 1 || health.Of(address(2)).Fails != 2 {
			t.Errorf("got %+v and %+v, want no inventory, a pass and two failures", read, health)
		}
	}
}
