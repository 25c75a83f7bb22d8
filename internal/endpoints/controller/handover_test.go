package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

var errQuota = errors.New("exceeded quota: count/endpointslices.discovery.k8s.io")

// blueAndRed are two pools of two nodes each, and their documents.
func blueAndRed(t *testing.T) (*world, string) {
	w := newWorld(t)
	w.pool("blue", "10.0.0.1", "10.0.0.2")
	w.pool("red", "10.0.1.1", "10.0.1.2")
	return w, poolOf("blue", "10.0.0.0/24") + "---\n" + poolOf("red", "10.0.1.0/24")
}

// creates is a fault of the creates of one Service.
func creates(service string, takes time.Duration, err error) func(publish.Target, publish.Write) (time.Duration, error) {
	return func(of publish.Target, w publish.Write) (time.Duration, error) {
		if w.Operation == publish.Create && of.Service == service {
			return takes, err
		}
		return 0, nil
	}
}

func TestContract200TheOldSlicesStayUntilTheNewOnesAreStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		inUse   bool // red is ready already, for another Service
		takes   time.Duration
		err     error
		restart bool
	}{
		{name: "new"},
		{name: "in use", inUse: true},
		{name: "slow", takes: 500 * time.Millisecond},
		{name: "slow and in use", inUse: true, takes: 500 * time.Millisecond},
		{name: "refused", err: errQuota},
		{name: "refused and in use", inUse: true, err: errQuota},
		{name: "refused, changed while no process ran", err: errQuota, restart: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:8080")
				w.service("shop/other", "http:8080")
				other := ""
				if c.inUse {
					other = bindingOf("shop/other", "red")
				}
				w.documents(pools, bindingOf("shop/web", "blue"), other)
				w.start()
				during(20 * time.Second)
				w.locked(func() { w.fault = creates("web", c.takes, c.err) })
				if c.restart {
					w.stop()
				}
				w.documents(pools, bindingOf("shop/web", "red"), other)
				if c.restart {
					w.start()
				}
				if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
					t.Errorf("got no usable endpoint for %v although all endpoints pass: %s", empty, w.shown())
				}
				want := []string{"10.0.1.1:8080", "10.0.1.2:8080"}
				if c.err != nil {
					want = []string{"10.0.0.1:8080", "10.0.0.2:8080"}
				}
				if diff := cmp.Diff(want, w.usable("shop/web")); diff != "" {
					t.Errorf("after a minute (-want +got):\n%s", diff)
				}
				w.stop()
			})
		})
	}
}

func TestContract200ManyServicesMoveAndNoneIsEmpty(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 20, 200, 1500} {
		for _, inUse := range []bool{true, false} {
			if n == 1500 && inUse {
				continue // it takes long, and shows the same as 200
			}
			t.Run(fmt.Sprintf("%d, in use %v", n, inUse), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) { manyMove(t, n, inUse) })
			})
		}
	}
}

func manyMove(t *testing.T, n int, inUse bool) {
	w, pools := blueAndRed(t)
	w.service("shop/first", "http:8080")
	name := func(i int) string { return fmt.Sprintf("%s/s%d", []string{"shop", "blog"}[i%2], i) }
	all := func(pool string) []string {
		out := []string{pools}
		if inUse {
			out = append(out, bindingOf("shop/first", "red"))
		}
		for i := range n {
			out = append(out, bindingOf(name(i), pool))
		}
		return out
	}
	for i := range n {
		w.service(name(i), "http:8080")
	}
	w.locked(func() {
		w.fault = func(publish.Target, publish.Write) (time.Duration, error) { return 20 * time.Millisecond, nil }
	})
	w.documents(all("blue")...)
	w.start()
	during(time.Minute)
	empty := func() (count int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := range n {
			if !slices.ContainsFunc([]string{name(i) + ".blue", name(i) + ".red"}, func(slice string) bool { return len(w.slices[slice].Endpoints) > 0 }) {
				count++
			}
		}
		return count
	}
	if got := empty(); got > 0 {
		t.Fatalf("got %d Services without an endpoint before anything moved", got)
	}
	w.documents(all("red")...)
	most := 0
	for range 20 * 20 {
		during(50 * time.Millisecond)
		most = max(most, empty())
	}
	if most > 0 {
		t.Errorf("got %d Services at a time without an endpoint", most)
	}
	during(time.Minute)
	for i := range n {
		if got := w.in(name(i) + ".blue"); len(got) > 0 {
			t.Fatalf("%s: got %v in the old slice, want it emptied", name(i), got)
		}
	}
	w.stop()
}

// A death goes before a thousand endpoints that hand-overs take back.
func TestContract207ADeathGoesBeforeHandOvers(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.pool("green", "10.0.2.1", "10.0.2.2")
		pools += "---\n" + poolOf("green", "10.0.2.0/24")
		w.service("shop/zz", "http:8080")
		texts := func(pool string) []string {
			out := []string{pools, bindingOf("shop/zz", "green")}
			for i := range 300 {
				out = append(out, bindingOf(fmt.Sprintf("shop/s%d", i), pool))
			}
			return out
		}
		for i := range 300 {
			w.service(fmt.Sprintf("shop/s%d", i), "http:8080")
		}
		w.documents(texts("blue")...)
		w.start()
		during(time.Minute)
		w.documents(texts("red")...)
		during(worldDrain - time.Second) // soon all old slices are emptied
		w.locked(func() {
			w.fault = func(publish.Target, publish.Write) (time.Duration, error) { return 50 * time.Millisecond, nil }
			w.dead["10.0.2.1"], w.writes = true, nil
		})
		during(time.Minute)
		w.mu.Lock()
		at := slices.Index(w.writes, "update shop/zz.green")
		all := len(w.writes)
		w.mu.Unlock()
		if at < 0 || all < 300 || at > all/2 && at > 8+20 {
			t.Errorf("got the death as write %d of %d, want it before those that wait", at, all)
		}
		w.stop()
	})
}

func TestContract201ANewPoolReplacesNothingUntilAsMuchPasses(t *testing.T) {
	t.Parallel()
	many := func(prefix string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("%s%d", prefix, i+1))
		}
		return all
	}
	for _, c := range []struct {
		name          string
		old, new      []string
		dead          []string
		takes, told   bool
		oldDead       bool
		differentPort bool
	}{
		{name: "half passes", old: many("10.0.0.", 10), new: many("10.0.1.", 5), takes: true},
		{name: "one less", old: many("10.0.0.", 10), new: many("10.0.1.", 4), told: true},
		{name: "one of fifty passes", old: many("10.0.0.", 50), new: many("10.0.1.", 50), dead: many("10.0.1.", 49), told: true},
		{name: "one family only", old: append(many("10.0.0.", 3), "fd00::1"), new: many("10.0.1.", 3), told: true},
		{name: "both families", old: append(many("10.0.0.", 3), "fd00::1"), new: append(many("10.0.1.", 2), "fd01::1"), takes: true},
		{name: "the old is dead", old: many("10.0.0.", 10), new: many("10.0.1.", 1), dead: many("10.0.0.", 10), takes: true},
		{name: "none passes", old: many("10.0.0.", 2), new: many("10.0.1.", 2), dead: many("10.0.1.", 2), told: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.pool("old", c.old...)
				w.pool("new", c.new...)
				for _, addr := range c.dead {
					w.dead[addr] = true
				}
				pools := poolOf("old", "10.0.0.0/24", "fd00::/64") + "---\n" + poolOf("new", "10.0.1.0/24", "fd01::/64")
				w.service("shop/web", "http:8080")
				w.documents(pools, bindingOf("shop/web", "old"))
				w.start()
				during(30 * time.Second)
				before := w.usable("shop/web")
				w.documents(pools, bindingOf("shop/web", "new"))
				during(time.Hour)
				has := func(prefix string) bool {
					return slices.ContainsFunc(w.usable("shop/web"), func(at string) bool { return strings.HasPrefix(at, prefix) })
				}
				if gone := !has("10.0.0."); gone != c.takes {
					t.Errorf("before %v, after %v: got the old gone %v, want %v", before, w.usable("shop/web"), gone, c.takes)
				}
				if told := w.told(assign.TakesOverWithLess); told != c.told {
					t.Errorf("got it told %v, want %v: %q", told, c.told, w.events)
				}
				w.stop()
			})
		})
	}
}

// A pool that was not read yet, or of which the inventory is empty, says nothing.
func TestContract62APoolWithoutEndpointsTakesNothingOver(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.pool("old", "10.0.0.1", "10.0.0.2")
		w.pool("one", "10.0.0.1")
		pools := poolOf("old", "10.0.0.0/24") + "---\n" + poolOf("one", "10.0.0.0/24") + "---\n" + poolOf("other", "10.0.0.0/24")
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "old"))
		w.start()
		during(30 * time.Second)
		w.documents(pools, bindingOf("shop/web", "one, other"))
		during(time.Hour)
		if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("the other half is empty (-want +got):\n%s", diff)
		}
		w.pool("other", "10.0.0.2")
		during(5 * time.Minute)
		if got := w.in("shop/web.old"); len(got) > 0 {
			t.Errorf("got %v in the old slice, want both halves to take over", got)
		}
		if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("both halves are there (-want +got):\n%s", diff)
		}
		if w.told(assign.TakesOverWithLess) {
			t.Errorf("got it told that too few pass: %q", w.events)
		}
		w.stop()
	})
}

// The prober is cut off from the old pool, so nothing says that its endpoints do not work.
func TestContract201EndpointsOfWhichTheChecksSayNothingCount(t *testing.T) {
	t.Parallel()
	for _, restart := range []bool{false, true} {
		bubble.Test(t, func(t *testing.T) {
			w, pools := blueAndRed(t)
			w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6")
			w.service("shop/web", "http:8080")
			w.documents(pools, bindingOf("shop/web", "blue"))
			w.start()
			during(30 * time.Second)
			w.locked(func() {
				for i := range 6 {
					w.silent[fmt.Sprintf("10.0.0.%d", i+1)] = true
				}
			})
			during(30 * time.Second)
			w.documents(pools, bindingOf("shop/web", "red"))
			if restart {
				w.restart()
			}
			during(4 * time.Minute)
			if got := w.usable("shop/web"); !slices.Contains(got, "10.0.0.1:8080") || len(got) != 8 {
				t.Errorf("restart %v: got %v, want all of blue beside the two of red, which are fewer than half: %s", restart, got, w.shown())
			}
			w.stop()
		})
	}
}

// The same for another check of the same pool, whose slices have the same names.
func TestContract201AnotherCheckReplacesNothingUntilAsMuchPasses(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
		w.service("shop/web", "http:8080")
		check := func(port int) string {
			return bindingOf("shop/web", "blue", fmt.Sprintf("healthCheck: {mode: TCP, port: %d}", port))
		}
		w.documents(pools, check(8080))
		w.start()
		during(20 * time.Second)
		w.locked(func() {
			for _, i := range []int{2, 3, 4} {
				w.dead[fmt.Sprintf("10.0.0.%d:9090", i)] = true
			}
		})
		w.documents(pools, check(9090))
		during(time.Hour)
		if got := w.usable("shop/web"); len(got) != 4 || !w.told(assign.TakesOverWithLess) {
			t.Errorf("got %v, told %q; want all four, because three fail only the new check", got, w.events)
		}
		w.locked(func() { delete(w.dead, "10.0.0.2:9090") })
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("half of them pass the new check (-want +got):\n%s", diff)
		}
		w.stop()
	})
}

// TestContract62ADeadPoolThatIsLeftIsWrittenNoMore: all of blue is down, and what comes in its place
// was not read yet. What works again meanwhile is ready.
func TestContract62ADeadPoolThatIsLeftIsWrittenNoMore(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		pools += "---\n" + poolOf("green", "10.0.2.0/24")
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue, red"))
		w.start()
		during(20 * time.Second)
		w.locked(func() { w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true })
		during(20 * time.Second)
		w.locked(func() { w.writes = nil })
		w.documents(pools, bindingOf("shop/web", "green, red"))
		during(time.Minute)
		w.restart()
		during(time.Minute)
		var writes []string
		if w.locked(func() { writes = slices.Clone(w.writes) }); len(writes) > 0 {
			t.Errorf("got %d writes, the first %s, want none: %s", len(writes), writes[0], w.shown())
		}
		w.locked(func() { clear(w.dead) })
		during(20 * time.Second)
		if diff := cmp.Diff([]string{"10.0.0.1=ready", "10.0.0.2=ready"}, w.in("shop/web.blue")); diff != "" {
			t.Errorf("the old slice when it works again (-want +got):\n%s", diff)
		}
		w.stop()
	})
}

func TestContract202WhatGoesDrains(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.documents(pools, bindingOf("shop/web", "red"))
		during(10 * time.Second)
		if diff := cmp.Diff([]string{"10.0.0.1=draining", "10.0.0.2=draining"}, w.in("shop/web.blue")); diff != "" {
			t.Fatalf("the old slice (-want +got):\n%s", diff)
		}
		w.locked(func() { w.dead["10.0.1.1"], w.dead["10.0.1.2"] = true, true }) // the new pool dies meanwhile
		if empty := w.emptyFor("shop/web", time.Hour); empty > 0 {
			t.Errorf("got nothing usable for %v, want the old endpoints back: %s", empty, w.shown())
		}
		if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("usable (-want +got):\n%s", diff)
		}
		w.locked(func() { clear(w.dead) })
		during(worldDrain / 2)
		if diff := cmp.Diff([]string{"10.0.0.1=draining", "10.0.0.2=draining"}, w.in("shop/web.blue")); diff != "" {
			t.Errorf("the old slice when the new endpoints are back (-want +got):\n%s", diff)
		}
		during(2 * time.Minute)
		if diff := cmp.Diff([]string{}, w.in("shop/web.blue")); diff != "" {
			t.Errorf("the old slice in the end (-want +got):\n%s", diff)
		}
		w.stop()
	})
}

func TestContract203ARestartGoesOnWithAHandOver(t *testing.T) {
	t.Parallel()
	// The restarts fall into each part of the hand-over.
	for at := time.Duration(0); at < worldDrain+10*time.Second; at += 3300 * time.Millisecond {
		for _, change := range []string{"pool", "port", "adopt"} {
			t.Run(fmt.Sprintf("%s, %v", change, at), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					w, pools := blueAndRed(t)
					w.service("shop/web", "http:8080")
					before, after := bindingOf("shop/web", "blue"), bindingOf("shop/web", "red")
					slow := creates("web", 2*time.Second, nil)
					switch change {
					case "port":
						before, after = bindingOf("shop/web", "blue", "ports: [{port: 8080}]"), bindingOf("shop/web", "blue", "ports: [{port: 9090}]")
						slow = func(publish.Target, publish.Write) (time.Duration, error) { return 2 * time.Second, nil }
						w.dead["10.0.0.1:9090"] = true
						w.dead["10.0.0.2:9090"] = true
					case "adopt":
						before, after = bindingOf("shop/web", "blue", "adopt: web-remote"), bindingOf("shop/web", "blue")
					}
					w.documents(pools, before)
					w.start()
					during(30 * time.Second)
					w.locked(func() { w.fault = slow })
					w.documents(pools, after)
					empty := w.emptyFor("shop/web", at)
					w.restart()
					empty += w.emptyFor("shop/web", 10*time.Second)
					if change == "port" { // nothing listens there until now
						if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
							t.Errorf("while the new port does not work (-want +got):\n%s", diff)
						}
						w.locked(func() { clear(w.dead) })
					}
					if empty += w.emptyFor("shop/web", 2*time.Minute); empty > 0 {
						t.Errorf("got nothing usable for %v: %s", empty, w.shown())
					}
					want := map[string][]string{
						"pool": {"10.0.1.1:8080", "10.0.1.2:8080"}, "port": {"10.0.0.1:9090", "10.0.0.2:9090"}, "adopt": {"10.0.0.1:8080", "10.0.0.2:8080"},
					}[change]
					if diff := cmp.Diff(want, w.usable("shop/web")); diff != "" {
						t.Errorf("in the end (-want +got):\n%s\n%s", diff, w.shown())
					}
					if got := append(w.in("shop/web-remote"), w.in("shop/web.blue")...); change == "pool" && len(got) > 0 || change == "adopt" && len(w.in("shop/web-remote")) > 0 {
						t.Errorf("got %v left in old slices: %s", got, w.shown())
					}
					w.stop()
				})
			})
		}
	}
}

// Whatever becomes of the document of the old pool, and whether the program restarts.
func TestContract204WhatABindingDoesNotNameAnyMoreIsReplaced(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d Services, restart %v", n, restart), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					w, _ := blueAndRed(t)
					w.pool("red", "10.0.0.1", "10.0.0.2") // blue under another name
					texts := func(pool string) []string {
						all := []string{poolOf(pool, "10.0.0.0/24")}
						for i := range n {
							all = append(all, bindingOf(fmt.Sprintf("shop/s%d", i), pool))
						}
						return all
					}
					for i := range n {
						w.service(fmt.Sprintf("shop/s%d", i), "http:8080")
					}
					w.documents(texts("blue")...)
					w.start()
					during(time.Minute)
					if restart {
						w.stop()
					}
					w.documents(texts("red")...)
					if restart {
						w.start()
					}
					if empty := w.emptyFor("shop/s0", worldDrain/2); empty > 0 {
						t.Errorf("got nothing usable for %v", empty)
					}
					if got := w.in("shop/s0.blue"); len(got) > 0 {
						t.Errorf("got %v in the old slice, which the new one publishes as ready: which of two states counts is not defined", got)
					}
					during(time.Minute)
					for i := range n {
						if got := w.in(fmt.Sprintf("shop/s%d.blue", i)); len(got) > 0 {
							t.Errorf("got %v in a slice of the pool that is gone", got)
						}
					}
					w.locked(func() { w.dead["10.0.0.2"] = true })
					during(15 * time.Second)
					if diff := cmp.Diff([]string{"10.0.0.1:8080"}, w.usable("shop/s0")); diff != "" {
						t.Errorf("one is dead (-want +got):\n%s", diff)
					}
					w.stop()
				})
			})
		}
	}
}

func TestContract204AnOldClusterThatIsGivenUpIsGone(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		both, red := []string{pools}, []string{poolOf("red", "10.0.1.0/24")}
		for i := range 4 {
			name := fmt.Sprintf("shop/s%d", i)
			w.service(name, "http:8080")
			both, red = append(both, bindingOf(name, "blue")), append(red, bindingOf(name, "red"))
		}
		w.documents(both...)
		w.start()
		during(time.Minute)
		w.documents(red...)
		during(2 * time.Second)
		w.restart()
		w.locked(func() { w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true })
		during(2 * time.Minute)
		for i := range 4 {
			if diff := cmp.Diff([]string{"10.0.1.1:8080", "10.0.1.2:8080"}, w.usable(fmt.Sprintf("shop/s%d", i))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		w.stop()
	})
}

func TestContract204AdoptedSlicesAreReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world, pools string){
		"removed":    func(w *world, pools string) { w.documents(pools, bindingOf("shop/web", "blue")) },
		"changed":    func(w *world, pools string) { w.documents(pools, bindingOf("shop/web", "blue", "adopt: other-remote")) },
		"two pools":  func(w *world, pools string) { w.documents(pools, bindingOf("shop/web", "blue, red")) },
		"annotation": func(w *world, pools string) { w.annotate("shop/web", "blue"); w.documents(pools) },
	} {
		for _, labelled := range []bool{true, false} {
			for _, restart := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, labelled %v, restart %v", name, labelled, restart), func(t *testing.T) {
					t.Parallel()
					bubble.Test(t, func(t *testing.T) {
						w, pools := blueAndRed(t)
						pools += "---\n" + poolOf("green", "192.168.0.0/24") // nobody asks for it
						w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
						w.service("shop/web", "http:8080")
						w.documents(pools, bindingOf("shop/web", "blue", "adopt: web-remote"))
						w.start()
						during(20 * time.Second)
						w.stop()
						w.locked(func() {
							if !labelled { // as variables made it
								s := w.slices["shop/web-remote"]
								s.pool = ""
								w.slices["shop/web-remote"] = s
							}
							// Another installation fills the Service as well, from elsewhere.
							w.slices["shop/web-elsewhere"] = storedSlice{publish.Slice{
								Name: "web-elsewhere", Version: "1", Owner: "uid-web", Ports: w.slices["shop/web-remote"].Ports, Endpoints: endpoints("192.168.0.1"),
							}, "shop", "web", ""}
						})
						if restart {
							change(w, pools)
						}
						w.start()
						during(10 * time.Second)
						if !restart {
							change(w, pools)
						}
						empty := w.emptyFor("shop/web", time.Minute)
						w.locked(func() { w.dead["10.0.0.2"] = true })
						if empty += w.emptyFor("shop/web", time.Minute); empty > 0 {
							t.Errorf("got nothing usable for %v", empty)
						}
						if got := w.usable("shop/web"); slices.Contains(got, "10.0.0.2:8080") || !slices.Contains(got, "10.0.0.1:8080") || !slices.Contains(got, "192.168.0.1:8080") {
							t.Errorf("got %v, want what works and not what is dead: %s", got, w.shown())
						}
						if got := w.in("shop/web-remote"); len(got) > 0 {
							t.Errorf("got %v in the slice that is adopted no more", got)
						}
						w.stop()
					})
				})
			}
		}
	}
}

func TestContract205AdoptedSlicesPassToNoOtherPoolInOneStep(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue", "adopt: web-remote"))
		w.start()
		during(20 * time.Second)
		w.documents(pools, bindingOf("shop/web", "red", "adopt: web-remote"))
		during(time.Minute)
		w.locked(func() { w.dead["10.0.0.2"] = true })
		during(time.Minute)
		w.restart()
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.1:8080"}, w.usable("shop/web")); diff != "" || !w.told("Invalid") {
			t.Errorf("told %q; (-want +got):\n%s", w.events, diff)
		}
		w.documents(pools, bindingOf("shop/web", "blue")) // the remedy
		empty := w.emptyFor("shop/web", 2*time.Minute)
		w.documents(pools, bindingOf("shop/web", "red"))
		if empty += w.emptyFor("shop/web", 2*time.Minute); empty > 0 {
			t.Errorf("got nothing usable for %v", empty)
		}
		if diff := cmp.Diff([]string{"10.0.1.1:8080", "10.0.1.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.stop()
	})
}

// Names are those of one target, the further slices of which have a name, too: whose endpoints are in them
// could not be told otherwise.
func TestContract205NamesOfAnotherTargetAreNotAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, then []string }{
		"a Service, what another one adopted":            {[]string{"shop/web web-remote"}, []string{"shop/web web-remote", "shop/api web-remote"}},
		"a Service, the second slice of another":         {[]string{"shop/web web-remote"}, []string{"shop/web web-remote", "shop/api web-remote-2"}},
		"a Service, what makes those of another further": {[]string{"shop/web web-remote-2"}, []string{"shop/web web-remote-2", "shop/api web-remote"}},
		"a Service, slices that have the other's pool":   {[]string{"shop/web"}, []string{"shop/web", "shop/api web.blue.ipv6"}},
		"a Service, one that follows later":              {[]string{"shop/api web.blue.2"}, []string{"shop/api web.blue.2", "shop/web"}},
		"its own second slice":                           {[]string{"shop/web"}, []string{"shop/web web.blue.2"}},
		"its own first slice, from the second":           {[]string{"shop/web web.blue.2"}, []string{"shop/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:8080")
				w.service("shop/api", "http:8080")
				bind := func(bindings []string) {
					all := []string{pools}
					for _, b := range bindings {
						service, adopt, _ := strings.Cut(b, " ")
						all = append(all, bindingOf(service, "blue", "adopt: "+adopt))
					}
					w.documents(all...)
				}
				served, _, _ := strings.Cut(c.first[0], " ")
				bind(c.first)
				w.start()
				during(20 * time.Second)
				bind(c.then)
				during(time.Minute)
				w.restart()
				during(time.Minute)
				w.locked(func() { w.dead["10.0.0.2"] = true })
				during(time.Minute)
				if diff := cmp.Diff([]string{"10.0.0.1:8080"}, w.usable(served)); diff != "" || !w.told("Invalid") {
					t.Errorf("told %q; (-want +got):\n%s", w.events, diff)
				}
				w.stop()
			})
		})
	}
}

// While failing open, and while the endpoints leave for a pool that does not work.
func TestContract206APortThatOnlyChangesItsNameChangesAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after []string
		want          []string
	}{
		{"renamed", []string{"http:8080"}, []string{"web:8080"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{"one of two", []string{"http:8080", "admin:9090"}, []string{"web:8080", "admin:9090"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{"both", []string{"http:8080", "admin:9090"}, []string{"web:8080", "metrics:9090"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{"shifted", []string{"http:8080", "admin:9090"}, []string{"admin:8080", "metrics:9090"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{"another order", []string{"http:8080", "admin:9090"}, []string{"admin:9090", "http:8080"}, []string{"10.0.0.1:9090", "10.0.0.2:9090"}},
		{"named", []string{":8080"}, []string{"http:8080"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
		{"another protocol", []string{"dns:8080/UDP", "http:9090"}, []string{"dns:8080", "http:9090"}, []string{"10.0.0.1:8080", "10.0.0.2:8080"}},
	} {
		for _, leaving := range []bool{false, true} {
			if leaving && c.name == "another protocol" {
				continue // endpoints of another protocol are of no use
			}
			t.Run(fmt.Sprintf("%s, leaving %v", c.name, leaving), func(t *testing.T) {
				t.Parallel()
				bubble.Test(t, func(t *testing.T) {
					w, pools := blueAndRed(t)
					w.service("shop/web", c.before...)
					check := "healthCheck: {mode: TCP, port: 8080}"
					w.documents(pools, bindingOf("shop/web", "blue", check))
					w.start()
					during(20 * time.Second)
					w.locked(func() {
						for _, addr := range []string{"10.0.1.1", "10.0.1.2"} {
							w.dead[addr] = true
						}
						if !leaving {
							w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true
						}
					})
					if leaving {
						w.documents(pools, bindingOf("shop/web", "red", check))
					}
					during(30 * time.Second)
					w.service("shop/web", c.after...)
					during(2 * time.Second)
					if diff := cmp.Diff(c.want, w.usable("shop/web")); diff != "" {
						t.Errorf("(-want +got):\n%s\n%s", diff, w.shown())
					}
					w.stop()
				})
			})
		}
	}
}

// A port that also has another number is a hand-over, under the new name.
func TestContract206TheOldNumberHasTheNewName(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.locked(func() { w.dead["10.0.0.1:9090"], w.dead["10.0.0.2:9090"] = true, true })
		w.service("shop/web", "web:9090")
		during(time.Second)
		if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
			t.Errorf("got nothing usable for %v: %s", empty, w.shown())
		}
		if diff := cmp.Diff([]string{"10.0.0.1:8080", "10.0.0.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("while nothing listens on the new port (-want +got):\n%s", diff)
		}
		w.locked(func() { clear(w.dead) })
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.1:9090", "10.0.0.2:9090"}, w.usable("shop/web")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.stop()
	})
}

// The slice of the other pool is there, and what would make it ready is refused.
func TestContract208AnotherPoolCountsOnlyWhenItsUpdateIsStored(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.locked(func() { w.dead["10.0.1.1"], w.dead["10.0.1.2"] = true, true })
		w.documents(pools, bindingOf("shop/web", "blue, red"))
		w.start()
		during(20 * time.Second)
		w.locked(func() { clear(w.dead) })
		during(20 * time.Second)
		w.locked(func() { w.dead["10.0.1.1"], w.dead["10.0.1.2"] = true, true })
		during(20 * time.Second)
		if diff := cmp.Diff([]string{"10.0.1.1=down", "10.0.1.2=down"}, w.in("shop/web.red")); diff != "" {
			t.Fatalf("the slice of red (-want +got):\n%s", diff)
		}
		w.locked(func() {
			w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true
			w.fault = func(of publish.Target, _ publish.Write) (time.Duration, error) {
				if of.Pool == "red" {
					return 0, errors.New("denied by a webhook")
				}
				return 0, nil
			}
		})
		during(30 * time.Second)
		w.locked(func() { delete(w.dead, "10.0.1.1"); delete(w.dead, "10.0.1.2") }) // red works, and its slice cannot say so
		if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
			t.Errorf("got nothing usable for %v, want blue to fail open: %s", empty, w.shown())
		}
		w.locked(func() { w.fault = nil })
		for range 600 {
			if during(50 * time.Millisecond); slices.Contains(w.in("shop/web.red"), "10.0.1.1=ready") {
				break
			}
		}
		during(200 * time.Millisecond)
		if diff := cmp.Diff([]string{"10.0.1.1:8080", "10.0.1.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("as soon as it is stored (-want +got):\n%s", diff)
		}
		w.stop()
	})
}

func TestContract200SlicesOfADeletedServiceCountForNothing(t *testing.T) {
	t.Parallel()
	slice := publish.Slice{Name: "web.blue", Owner: "old", Endpoints: endpoints("10.0.0.1")}
	state := publish.State{Service: publish.Service{UID: "new"}, Slices: []publish.Slice{slice}}
	if got := slices.Collect(controller.ReadyIn(&state)); len(got) != 0 {
		t.Errorf("got %v, want none: the garbage collector takes the slice away", got)
	}
	state.Service.UID = "old"
	if got := slices.Collect(controller.ReadyIn(&state)); len(got) != 1 {
		t.Errorf("got %v, want one", got)
	}
}

// A port of the Service got another name, and these slices cannot be written: clients use nothing
// of them, so the old slices are not emptied for them.
func TestContract200SlicesWithoutAPortOfTheServiceCountForNothing(t *testing.T) {
	t.Parallel()
	slice := publish.Slice{Name: "web.blue", Endpoints: endpoints("10.0.0.1"), Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}}
	state := publish.State{Service: publish.Service{Ports: []publish.ServicePort{{Name: "web", Protocol: publish.TCP, Port: 80}}}, Slices: []publish.Slice{slice}}
	if got := slices.Collect(controller.ReadyIn(&state)); len(got) != 0 {
		t.Errorf("got %v, want none", got)
	}
	state.Service.Ports[0].Name = "http"
	if got := slices.Collect(controller.ReadyIn(&state)); len(got) != 1 {
		t.Errorf("got %v, want one", got)
	}
}

// What another pool is good for counts when the API server has stored it.
func TestContract208AnotherPoolCountsOnlyWhenItIsStored(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.locked(func() { w.dead["10.0.0.1"], w.dead["10.0.0.2"], w.fault = true, true, creates("web", 0, errQuota) })
		during(30 * time.Second) // it fails open
		w.documents(pools, bindingOf("shop/web", "blue, red"))
		if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
			t.Errorf("got nothing usable for %v, want the endpoints that fail open until the others are stored: %s", empty, w.shown())
		}
		w.locked(func() { w.fault = nil })
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.1.1:8080", "10.0.1.2:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		w.stop()
	})
}

// The slices of another pool belong to a Service that was deleted, and cannot be written: the
// garbage collector takes them away, so what they hold counts for nothing.
func TestContract208SlicesOfADeletedServiceCountForNothing(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue, red"))
		w.start()
		during(20 * time.Second)
		w.locked(func() {
			red := w.slices["shop/web.red"]
			red.Owner = "deleted"
			w.slices["shop/web.red"] = red
			w.fault = func(of publish.Target, _ publish.Write) (time.Duration, error) {
				return 0, map[string]error{"red": errQuota}[of.Pool]
			}
			w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true
			w.tell()
		})
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.1=ready", "10.0.0.2=ready"}, w.in("shop/web.blue")); diff != "" {
			t.Errorf("want that it fails open (-want +got):\n%s", diff)
		}
		w.stop()
	})
}

func TestContract200AServiceThatIsMadeAnewInTheMiddle(t *testing.T) {
	t.Parallel()
	for at := time.Duration(0); at < 40*time.Second; at += 1700 * time.Millisecond {
		bubble.Test(t, func(t *testing.T) {
			w, pools := blueAndRed(t)
			w.service("shop/web", "http:8080")
			w.documents(pools, bindingOf("shop/web", "blue"))
			w.start()
			during(20 * time.Second)
			w.documents(pools, bindingOf("shop/web", "red"))
			during(at)
			w.remake("shop/web")
			during(time.Second)
			if empty := w.emptyFor("shop/web", time.Minute); empty > 0 {
				t.Errorf("made anew after %v: got nothing usable for %v, a second later: %s", at, empty, w.shown())
			}
			if diff := cmp.Diff([]string{"10.0.1.1:8080", "10.0.1.2:8080"}, w.usable("shop/web")); diff != "" {
				t.Errorf("made anew after %v (-want +got):\n%s", at, diff)
			}
			w.stop()
		})
	}
}

// TestContract210HandOversWithoutRoomForAllGoOneAfterAnother: three Services move, and there is
// room for the checks of one of the new pools beside those of the old ones. Pools that grow
// until there is no room would be checked in part, and none of them would ever take over.
func TestContract210HandOversWithoutRoomForAllGoOneAfterAnother(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		at      int // how many nodes the new pools have at first, of 6
		restart bool
	}{
		{"at first", 6, false},
		{"they grow", 3, false},
		{"they grow, and a restart", 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.maxChecks = 22
				nodes := func(subnet, n int) (all []string) {
					for i := range n {
						all = append(all, fmt.Sprintf("10.0.%d.%d", subnet, i+1))
					}
					return all
				}
				var pools, before, after []string
				for i := range 3 {
					old, next, service := fmt.Sprintf("old%d", i), fmt.Sprintf("new%d", i), fmt.Sprintf("shop/s%d", i)
					w.pool(old, nodes(i, 4)...)
					w.pool(next, nodes(10+i, c.at)...)
					w.service(service, "http:8080")
					pools = append(pools, poolOf(old, fmt.Sprintf("10.0.%d.0/24", i)), poolOf(next, fmt.Sprintf("10.0.%d.0/24", 10+i)))
					before, after = append(before, bindingOf(service, old)), append(after, bindingOf(service, next))
					for _, a := range nodes(10+i, 6) {
						w.dead[a] = true
					}
				}
				w.documents(slices.Concat(pools, before)...)
				w.start()
				during(30 * time.Second)
				w.documents(slices.Concat(pools, before[:2], after[2:])...)
				during(10 * time.Second)
				w.documents(slices.Concat(pools, after)...)
				during(time.Minute)
				for i := range 3 {
					w.pool(fmt.Sprintf("new%d", i), nodes(10+i, 6)...)
				}
				during(time.Minute)
				waiting := func() (names []string) {
					for _, g := range w.server.Snapshot().Groups {
						if strings.Contains(g.Problem, "other hand-overs") {
							names = append(names, g.Pool)
						}
					}
					return names
				}
				if diff := cmp.Diff([]string{"new0", "new1"}, waiting()); diff != "" {
					t.Errorf("groups that wait for the one that began first (-want +got):\n%s", diff)
				}
				if c.restart {
					w.restart()
				}
				w.locked(func() { clear(w.dead) })
				for range 10 * 60 {
					if during(time.Second); len(w.usable("shop/s0")) < 3 || len(w.usable("shop/s1")) < 3 || len(w.usable("shop/s2")) < 3 {
						t.Fatalf("too few usable endpoints: %s", w.shown())
					}
				}
				for i := range 3 {
					if got := w.usable(fmt.Sprintf("shop/s%d", i)); len(got) != 6 {
						t.Errorf("got %v, want the new endpoints: %s", got, w.shown())
					}
				}
				if got := waiting(); len(got) > 0 {
					t.Errorf("got %v, want that nothing waits in the end", got)
				}
				w.stop()
			})
		})
	}
}

// TestContract210WhatIsInUseIsAlwaysChecked: too few new endpoints pass to take over, and they
// are in use beside the old ones, which become more.
func TestContract210WhatIsInUseIsAlwaysChecked(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.maxChecks = 4
		w.locked(func() { w.dead["10.0.1.2"] = true })
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		w.pool("red", "10.0.1.1")
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.documents(pools, bindingOf("shop/web", "red"))
		during(20 * time.Second)
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
		during(time.Minute)
		w.locked(func() { w.dead["10.0.1.1"], w.dead["10.0.0.1"] = true, true })
		during(time.Minute)
		if diff := cmp.Diff([]string{"10.0.0.2:8080", "10.0.0.3:8080", "10.0.0.4:8080"}, w.usable("shop/web")); diff != "" {
			t.Errorf("usable (-want +got):\n%s\n%s", diff, w.shown())
		}
		w.stop()
	})
}

// Contract 228: a restart goes on with a drain, of an inventory as of a hand-over: its time
// does not begin anew.
func TestContract228ARestartGoesOnWithADrain(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]func(*world, string){
		"an inventory leaves it out": func(w *world, _ string) { w.pool("blue", "10.0.0.2") },
		"another pool takes over":    func(w *world, pools string) { w.documents(pools, bindingOf("shop/web", "red")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w, pools := blueAndRed(t)
				w.service("shop/web", "http:8080")
				w.documents(pools, bindingOf("shop/web", "blue"))
				w.start()
				during(20 * time.Second)
				drain(w, pools)
				drains := func() bool { return strings.Contains(strings.Join(w.in("shop/web.blue"), " "), "10.0.0.1=draining") }
				for !drains() {
					during(time.Second)
				}
				began := time.Now()
				for range 4 {
					during(worldDrain / 5)
					w.restart()
				}
				if during(time.Second); !drains() {
					t.Errorf("it stopped draining within %s", time.Since(began))
				}
				if during(worldDrain/5 + 5*time.Second); drains() {
					t.Errorf("it still drains %s after it began", time.Since(began))
				}
				w.stop()
			})
		})
	}
}
