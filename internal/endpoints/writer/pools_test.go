package writer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// fleet is a pool of nodes that are checked.
type fleet struct {
	size   int
	memory guard.Memory
	health inventory.Health
	now    time.Time
}

// checked lets all endpoints be checked three times, of which some refuse, and returns
// what the guard decides.
func (f *fleet) checked(dead ...int) *guard.Verdict {
	policy := guard.Policy{Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true, MaxRemovalPercent: 50}
	read := &guard.Inventory{Nodes: f.size, Scheduled: true}
	for _, o := range upTo(f.size) {
		read.Candidates = append(read.Candidates, inventory.Candidate{Address: address(o), Node: inventory.Identity{Name: address(o).String()}})
	}
	var v guard.Verdict
	for range 3 {
		f.now = f.now.Add(policy.Interval)
		var results []inventory.Result
		for _, o := range upTo(f.size) {
			r := inventory.Result{Address: address(o), At: f.now, Outcome: inventory.Pass, Reason: inventory.Ready}
			if slices.Contains(dead, o) {
				r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
			}
			results = append(results, r)
		}
		f.health = health.Advance(f.health, results)
		v = guard.Decide(guard.Input{Now: f.now, Read: read, Health: f.health, Memory: f.memory}, policy)
		f.memory, read = v.Memory, nil
	}
	return &v
}

func TestContract54SeveralPoolsOfOneServiceAreWrittenApart(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		blue, red := c.all["shop/web"], newServed(t, "shop/web", 100)
		red.fill.Pool, red.fill.Target.SliceName = "red", "web.red"
		red.Memory = storeOf(t, red.fill.Target)
		both, err := c.set.Add(writer.Options{Fills: []writer.Fill{blue.fill, red.fill}})
		if err != nil {
			t.Fatal(err)
		}
		c.all = nil
		c.start()
		two, one := &fleet{size: 2, now: time.Now()}, &fleet{size: 1, now: time.Now()}
		for _, step := range []struct {
			pool, what        string
			verdict           *guard.Verdict
			wantBlue, wantRed string
		}{
			{"blue", "passes", two.checked(), "1=ready 2=ready", ""},
			{"red", "passes", one.checked(), "1=ready 2=ready", "1=ready"},
			{"blue", "fails", two.checked(1, 2), "1=down 2=down", "1=ready"},
			{"red", "fails too", one.checked(1), "1=ready 2=ready", "1=ready"},
			{"red", "passes again", one.checked(), "1=down 2=down", "1=ready"},
			{"blue", "passes again", two.checked(), "1=ready 2=ready", "1=ready"},
			{"red", "fails", one.checked(1), "1=ready 2=ready", "1=down"},
		} {
			c.set.Publish(step.pool, step.verdict)
			during(5 * time.Second)
			if b, r := blue.published(), red.published(); b != step.wantBlue || r != step.wantRed {
				t.Errorf("%s %s: got %q and %q, want %q and %q", step.pool, step.what, b, r, step.wantBlue, step.wantRed)
			}
		}
		c.set.Remove(both)
		c.set.Publish("blue", two.checked(1))
		during(5 * time.Second)
		if got := blue.published(); got != "1=ready 2=ready" {
			t.Errorf("got %q of a target that is gone, want it left alone", got)
		}
		c.stop()
	})
}

// TestContract50WhatIsWrongWithTheServiceMakesNoDeadEndpointReady: its clients go on using the slices
// that it has, also those with only one of the wanted ports.
func TestContract50WhatIsWrongWithTheServiceMakesNoDeadEndpointReady(t *testing.T) {
	for name, wrong := range map[string]func(*publish.Service){
		"a port is gone":         func(s *publish.Service) { s.Ports = s.Ports[:1] },
		"it has a selector":      func(s *publish.Service) { s.HasSelector = true },
		"it is being deleted":    func(s *publish.Service) { s.Deleting = true },
		"the other port is gone": func(s *publish.Service) { s.Ports = s.Ports[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				c := newCrowd(t, writer.SetOptions{}, "shop/web")
				blue, red := c.all["shop/web"], newServed(t, "shop/web", 100)
				blue.fill.Target.Ports = append(blue.fill.Target.Ports, publish.Port{Name: "metrics", Protocol: publish.TCP, Number: 9090})
				red.fill.Pool, red.fill.Target.SliceName, red.fill.Target.Ports = "red", "web.red", blue.fill.Target.Ports
				red.Memory = storeOf(t, red.fill.Target)
				is := service
				is.Ports = append(slices.Clone(service.Ports), publish.ServicePort{Name: "metrics", Protocol: publish.TCP, Port: 90})
				blue.SetService(is)
				red.SetService(is)
				both, err := c.set.Add(writer.Options{Fills: []writer.Fill{blue.fill, red.fill}})
				if err != nil {
					t.Fatal(err)
				}
				c.all = nil
				c.start()
				dead, alive := &fleet{size: 2, now: time.Now()}, &fleet{size: 2, now: time.Now()}
				c.set.Publish("blue", dead.checked())
				c.set.Publish("red", alive.checked())
				during(5 * time.Second)
				c.set.Publish("blue", dead.checked(1, 2))
				during(5 * time.Second)
				wrong(&is)
				blue.SetService(is)
				red.SetService(is)
				both.Changed()
				during(time.Minute)
				if b, r := blue.published(), red.published(); b != "1=down 2=down" || r != "1=ready 2=ready" {
					t.Errorf("got %q and %q, want that nothing changes", b, r)
				}
				c.set.Publish("red", alive.checked(1))
				during(5 * time.Second)
				if r := red.published(); r != "1=down 2=ready" {
					t.Errorf("got %q, want the slice kept right", r)
				}
				c.stop()
			})
		})
	}
}

// TestContract202NothingIsTakenBackWhereClientsCannotUseTheOthers: slices of a Service that has not
// their ports take the place of nothing.
func TestContract202NothingIsTakenBackWhereClientsCannotUseTheOthers(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		c.start()
		blue, red := c.all["shop/web"], newServed(t, "shop/web", 100)
		red.fill.Pool, red.fill.Target.SliceName = "red", "web.red"
		red.Memory = storeOf(t, red.fill.Target)
		c.add(red)
		c.set.Publish("blue", verdict(2))
		c.set.Publish("red", (&fleet{size: 2, now: time.Now()}).checked())
		during(10 * time.Second)
		unusable := service
		unusable.Ports = []publish.ServicePort{{Name: "other", Protocol: publish.TCP, Port: 81}}
		red.SetService(unusable)
		c.remove(blue)
		c.remove(red)
		blue.fill.Phase = writer.Draining
		both, err := c.set.Add(writer.Options{Fills: []writer.Fill{blue.fill, red.fill}})
		if err != nil {
			t.Fatal(err)
		}
		during(time.Minute)
		if got := blue.published(); got != "1=draining 2=draining" {
			t.Errorf("got %q beside slices that clients cannot use, want what drains", got)
		}
		red.SetService(service)
		both.Changed()
		during(time.Minute)
		if got := blue.published(); got != "" {
			t.Errorf("got %q, want that the others have it", got)
		}
		c.stop()
	})
}

// TestContract54APoolThatHasNotDecidedCountsAsItsSlicesSay: a restart publishes no dead
// endpoint, although one pool decides before the other.
func TestContract54APoolThatHasNotDecidedCountsAsItsSlicesSay(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		dead := &fleet{size: 2, now: time.Now()}
		dead.checked()
		open := dead.checked(1, 2)
		for _, c := range []struct {
			red  *guard.Verdict
			want string
		}{
			{verdict(1), "1=down 2=down"},
			{verdict(1, 1), "1=ready 2=ready"},
			{verdict(0), "1=ready 2=ready"},
		} {
			before := newCrowd(t, writer.SetOptions{}, "shop/web", "shop/other")
			red := before.all["shop/other"]
			red.fill.Pool, red.fill.Target.Service, red.fill.Target.SliceName = "red", "web", "web.red"
			red.Memory = storeOf(t, red.fill.Target)
			before.start()
			before.set.Publish("red", c.red)
			during(5 * time.Second)
			before.stop()

			after := newCrowd(t, writer.SetOptions{})
			blue := before.all["shop/web"]
			if _, err := after.set.Add(writer.Options{Fills: []writer.Fill{blue.fill, red.fill}}); err != nil {
				t.Fatal(err)
			}
			after.start()
			during(time.Second)
			after.set.Publish("blue", open)
			during(5 * time.Second)
			if got := blue.published(); got != c.want {
				t.Errorf("got %q beside %q, want %q", got, red.published(), c.want)
			}
			after.stop()
		}
	})
}

// Contracts 52 and 54: a group that begins anew, because the document of its pool changed,
// has judged nothing yet. What the Service publishes stays, also where its slices held
// nothing when the program started.
func TestContract52AGroupThatBeginsAnewTakesNothingAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		c.start()
		web := c.all["shop/web"]
		f := &fleet{size: 2, now: time.Now()}
		v := f.checked()
		c.set.Publish(web.fill.Pool, v)
		during(5 * time.Second)
		if got := web.published(); got != "1=ready 2=ready" {
			t.Fatalf("got %q", got)
		}
		web.taken()
		anew := guard.Decide(guard.Input{Now: f.now, Memory: guard.Recover(v.Members, f.now, nil, nil)}, guard.Policy{Rise: 2, Fall: 3, Interval: 2 * time.Second, FailOpen: true})
		c.set.Publish(web.fill.Pool, &anew)
		during(5 * time.Second)
		if got := web.taken(); len(got) > 0 {
			t.Errorf("got %d writes and %q, want none", len(got), web.published())
		}
		c.set.Publish(web.fill.Pool, f.checked(1))
		during(5 * time.Second)
		if got := web.published(); got != "1=down 2=ready" {
			t.Errorf("got %q, want the dead one down", got)
		}
		c.stop()
	})
}
