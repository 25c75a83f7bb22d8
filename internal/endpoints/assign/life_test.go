package assign_test

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const releaseAfter = v1alpha1.DefaultReleaseAfter

// filled is a world in which each Service is filled from the pool blue.
func filled(t *testing.T, names ...string) *world {
	w := newWorld(t, pool("blue", []string{"shop"}, "30000-32767"), pool("green", []string{"shop"}, "30000-32767"))
	for _, name := range names {
		w.in.Bindings = append(w.in.Bindings, binding(name, "blue"))
		w.in.Services = append(w.in.Services, service(name, 30080))
	}
	return w.after(0)
}

func TestContract60AVanishedTargetStaysForAWhile(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b", "shop/c")
	bindings := w.in.Bindings
	w.in.Bindings = bindings[1:]
	w.after(time.Second).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
	if want := w.in.Now.Add(releaseAfter); !w.plan.Next.Equal(want) {
		t.Errorf("got the next change at %v, want %v", w.plan.Next, want)
	}
	w.after(releaseAfter-1).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")

	w.in.Bindings = bindings // back in time, and gone again: the time begins anew
	w.after(1).want("shop/a blue:30080 active", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.in.Bindings = bindings[1:]
	w.after(releaseAfter).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.refuses["a.blue"] = true // one endpoint stays until the slice is stored
	w.in.Published[0].Endpoints = 1
	w.after(releaseAfter).want("shop/a blue:30080 emptied", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.refuses["a.blue"] = false
	w.after(0).want("shop/a blue:30080 emptied", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.after(0).want("shop/b blue:30080 active", "shop/c blue:30080 active")

	w.in.Bindings = bindings
	w.after(0).want("shop/a blue:30080 active", "shop/b blue:30080 active", "shop/c blue:30080 active")
}

func TestContract60AMassDisappearanceIsKept(t *testing.T) {
	t.Parallel()
	for name, vanish := range map[string]func(w *world){
		"bindings":    func(w *world) { w.in.Bindings = w.in.Bindings[3:] },
		"a pool":      func(w *world) { w.in.Pools = w.in.Pools[1:] },
		"all at once": func(w *world) { w.in.Bindings, w.in.Pools = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filled(t, "shop/a", "shop/b", "shop/c", "shop/d")
			bindings, pools := w.in.Bindings, w.in.Pools
			vanish(w)
			for range 5 {
				w.after(releaseAfter)
				if w.plan.Kept == "" {
					t.Fatal("got nothing said, want that they are kept")
				}
				for _, target := range w.plan.Targets {
					if s := target.Uses[0].State; s != assign.Kept && s != assign.Active {
						t.Fatalf("%v: got %v, want it kept", target.Key, s)
					}
				}
			}
			if len(w.plan.Targets) != 4 || len(w.plan.Pools) == 0 || w.plan.Pools[0].Name != "blue" {
				t.Errorf("got %v from %v, want all targets with their pool", w.plan.Targets, w.plan.Pools)
			}
			w.in.Bindings, w.in.Pools = bindings, pools
			w.after(0)
			if w.plan.Kept != "" {
				t.Errorf("got %q, want nothing when they are back", w.plan.Kept)
			}
		})
	}
}

func TestContract60TheTimeOfWhatWasKeptBeginsAnew(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b", "shop/c")
	bindings := w.in.Bindings
	w.in.Bindings = bindings[2:]
	w.after(0).after(releaseAfter).want("shop/a blue:30080 kept", "shop/b blue:30080 kept", "shop/c blue:30080 active")
	w.in.Bindings = bindings[1:]
	w.after(releaseAfter-1).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.after(1).want("shop/a blue:30080 emptied", "shop/b blue:30080 active", "shop/c blue:30080 active")
}

func TestARecoveredSliceKeepsItsName(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b")
	w.in.Bindings = w.in.Bindings[1:]
	w.in.Published[0].Slice = "web-remote"
	w.restart().after(0)
	if got := w.plan.Targets[0].Uses[0]; got.SliceName(key("shop/a")) != "web-remote" {
		t.Errorf("got %+v, want the slice that is there", got)
	}
}

// The binding that said what to check is gone; its Service has two TCP ports, or none.
func TestContract60ARestartChecksWhatItFinds(t *testing.T) {
	t.Parallel()
	dns := publish.Port{Name: "dns", Protocol: publish.UDP, Number: 53}
	for name, c := range map[string]struct {
		ports []publish.Port
		want  assign.Check
	}{
		"two": {[]publish.Port{dns, {Name: "a", Protocol: publish.TCP, Number: 30081}, {Name: "b", Protocol: publish.TCP, Number: 30082}}, tcp("blue", 30081).Check},
		"no":  {[]publish.Port{dns}, assign.Check{Mode: v1alpha1.HealthCheckNone}},
	} {
		w := filled(t, "shop/a", "shop/b", "shop/c")
		w.in.Bindings, w.in.Published[0].Ports = w.in.Bindings[1:], c.ports
		w.restart().after(0)
		if got := w.plan.Targets[0].Uses[0]; got.State != assign.Leaving || got.Check != c.want {
			t.Errorf("%s TCP ports: got %s with %+v, want %+v", name, got.State, got.Check, c.want)
		}
	}
}

// The slices have port 30080, and the binding wants 30081 since.
func TestContract60ARestartChecksThePortThatABindingNames(t *testing.T) {
	t.Parallel()
	for port, want := range map[int32]uint16{
		30080: 30080, // it has them
		30081: 30080, // what it wants to publish: of the slices it is their own port
		30443: 30443, // another one that the pool allows
	} {
		w := filled(t, "shop/a")
		spec := &w.in.Bindings[0].Spec
		spec.Ports = []v1alpha1.BindingPort{{Port: 30081}}
		spec.HealthCheck = &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckHTTP, Port: &port}
		w.in.Health = func(assign.Group) (assign.Health, bool) { return assign.Health{}, false }
		w.restart().after(0).want("shop/a blue:30080 active then blue:30081")
		if got := w.plan.Targets[0].Uses[0].Check; got.Mode != v1alpha1.HealthCheckHTTP || got.Port != want {
			t.Errorf("a check of port %d: got %+v, want it at port %d", port, got, want)
		}
	}
}

func TestContract60NothingVanishesWhileNotAllIsRead(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b", "shop/c")
	services := w.in.Services
	w.in.Complete, w.in.Bindings, w.in.Services = false, w.in.Bindings[1:], nil
	w.after(2*releaseAfter).want("shop/a blue:30080 kept", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.in.Complete, w.in.Services = true, services
	w.after(0).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
}

func TestContract60ARestartFindsTargetsThatAreNotGrantedAnyMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *world)
		state  string
	}{
		"a selector":      {func(w *world) { w.in.Services[0].HasSelector = true }, "active"},
		"the pool's list": {func(w *world) { w.in.Pools[0] = pool("blue", []string{"blog"}, "30000-32767") }, "leaving"},
		"another port":    {func(w *world) { w.in.Services[0].Ports[0].TargetPort = 22 }, "active"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pool("blue", []string{"shop"}, "30000-32767"))
			w.in.Services = []assign.Service{service("shop/a", 30080, v1alpha1.AnnotationPool, "blue")}
			w.after(0)
			c.change(w)
			w.after(0).want("shop/a blue:30080 " + c.state)
			w.restart().after(0).want("shop/a blue:30080 " + c.state)
			w.after(releaseAfter - 1).want("shop/a blue:30080 " + c.state)
		})
	}
}

func TestContract76ANamespaceThatCannotBeReadKeepsItsOwnTargetsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"shop", "blog"}, "30000-32767"))
	for _, name := range []string{"blog/a", "shop/a", "shop/b", "shop/c", "shop/d"} {
		w.in.Bindings, w.in.Services = append(w.in.Bindings, binding(name, "blue")), append(w.in.Services, service(name, 30080))
	}
	w.after(0)
	w.in.Unread, w.in.Bindings = map[string]bool{"blog": true}, w.in.Bindings[2:]
	w.after(2*releaseAfter).want("blog/a blue:30080 kept", "shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active", "shop/d blue:30080 active")
	w.after(releaseAfter).want("blog/a blue:30080 kept", "shop/a blue:30080 emptied", "shop/b blue:30080 active", "shop/c blue:30080 active", "shop/d blue:30080 active")
}

func TestContract60ARestartFindsVanishedTargetsInTheSlices(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b", "shop/c")
	w.in.Bindings = w.in.Bindings[1:]
	w.after(releaseAfter - time.Second)
	w.restart().after(0).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.after(releaseAfter-1).want("shop/a blue:30080 leaving", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.after(1).want("shop/a blue:30080 emptied", "shop/b blue:30080 active", "shop/c blue:30080 active")
	w.restart().after(0).want("shop/b blue:30080 active", "shop/c blue:30080 active")

	w.in.Pools = w.in.Pools[1:]
	w.in.Published = append(w.in.Published, assign.PublishedSlice{Key: key("shop/c"), Pool: "blue", Slice: "c.blue.2", Ports: w.in.Published[0].Ports, Endpoints: 7})
	w.restart()
	for range 3 {
		w.after(time.Minute).want()
		lost := map[string]int{}
		for _, of := range w.plan.Lost {
			lost[of.Slice] = of.Endpoints
		}
		if diff := cmp.Diff(map[string]int{"b.blue": 10, "c.blue": 17}, lost); diff != "" {
			t.Errorf("the endpoints of slices whose pool is not known (-want +got):\n%s", diff)
		}
	}
}

func TestTheSlicesOfADeletedServiceAreLeftToTheGarbageCollector(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b")
	w.in.Services, w.in.Bindings = w.in.Services[1:], w.in.Bindings[1:]
	w.after(0).want("shop/b blue:30080 active").after(2 * releaseAfter).want("shop/b blue:30080 active")
}

func TestContract61WhatAPoolForbidsIsNeverKept(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b", "shop/c")
	w.in.Pools[0] = pool("blue", []string{"shop"}, "31000")
	w.after(0).want("shop/a blue:30080 leaving", "shop/b blue:30080 leaving", "shop/c blue:30080 leaving")
	w.refused("shop/a blue PortNotAllowed", "shop/b blue PortNotAllowed", "shop/c blue PortNotAllowed")
	w.after(releaseAfter).want("shop/a blue:30080 emptied", "shop/b blue:30080 emptied", "shop/c blue:30080 emptied")
	w.after(0).want()

	w.in.Pools[0] = pool("blue", []string{"shop"}, "30080")
	w.after(0)
	w.in.Pools[0] = pool("blue", nil)
	w.after(0).after(releaseAfter).want("shop/a blue:30080 emptied", "shop/b blue:30080 emptied", "shop/c blue:30080 emptied")
}

func TestContract61AForbiddenPortLeavesEvenIfTheNewOneIsNotReady(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.unready[tcp("blue", 31000)] = true
	w.in.Pools[0], w.in.Services[0] = pool("blue", []string{"shop"}, "31000"), service("shop/a", 31000)
	w.after(0).want("shop/a blue:30080 leaving then blue:31000")
	w.after(releaseAfter - 1).want("shop/a blue:30080 leaving then blue:31000")
	w.after(1).want("shop/a blue:31000 active")
}

func TestContract62TheOldStaysUntilTheNewIsReady(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.unready[tcp("blue", 31000)] = true
	w.in.Services[0] = service("shop/a", 31000)
	w.after(time.Hour).want("shop/a blue:30080 active then blue:31000")
	w.after(time.Hour).want("shop/a blue:30080 active then blue:31000")
	if got := w.plan.Groups(); len(got) != 2 {
		t.Errorf("got %v, want the old group and the new one", got)
	}
	if !w.plan.HandsOver() {
		t.Error("a hand-over is not one")
	}
	delete(w.unready, tcp("blue", 31000))
	if w.after(0).want("shop/a blue:31000 active"); w.plan.HandsOver() {
		t.Error("a hand-over that is over is still one")
	}
}

// TestContract62AGroupOfWhichNotAllWasCheckedTakesNothingOver, however many of it pass.
func TestContract62AGroupOfWhichNotAllWasCheckedTakesNothingOver(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	known := w.in.Health
	w.in.Health = func(g assign.Group) (assign.Health, bool) {
		health, decided := known(g)
		health.Checked = g != tcp("blue", 31000)
		return health, decided
	}
	w.in.Services[0] = service("shop/a", 31000)
	w.after(time.Hour).want("shop/a blue:30080 active then blue:31000")
	w.in.Health = known
	w.after(0).want("shop/a blue:31000 active")
}

func TestContract62AnotherPoolTakesOverWhenItIsReady(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.unready[tcp("green", 30080)] = true
	w.in.Bindings[0] = binding("shop/a", "green")
	w.after(time.Hour).want("shop/a green:30080 active", "shop/a blue:30080 leaving")
	if got := w.plan.Targets[0].Uses[1].Message; !strings.HasPrefix(got, "the binding does not name the pool any more: ") {
		t.Errorf("got message %q", got)
	}
	delete(w.unready, tcp("green", 30080))
	w.after(0).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.after(29*time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 emptied")
	w.after(0).want("shop/a green:30080 active")
}

func TestContract62NothingLeavesForAPoolThatStillChanges(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Bindings[0] = binding("shop/a", "blue", "green")
	w.after(0).want("shop/a blue:30080 active", "shop/a green:30080 active")
	w.unready[tcp("green", 31000)] = true
	w.in.Bindings[0], w.in.Services[0] = binding("shop/a", "green"), service("shop/a", 31000)
	w.after(0).want("shop/a green:30080 active then green:31000", "shop/a blue:30080 leaving")
	delete(w.unready, tcp("green", 31000))
	w.after(0).want("shop/a green:31000 active", "shop/a blue:30080 draining")
}

// filledByTwo is a Service that is filled from blue and green.
func filledByTwo(t *testing.T) *world {
	w := filled(t, "shop/a")
	w.in.Pools = append(w.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	w.in.Bindings[0] = binding("shop/a", "blue", "green")
	return w.after(0).want("shop/a blue:30080 active", "shop/a green:30080 active")
}

func TestContract200AnotherPoolOfTheServiceTakesThePlaceOfNothing(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.refuses["a.red"] = true
	w.in.Bindings[0] = binding("shop/a", "red", "green")
	w.after(time.Second).after(time.Hour).want("shop/a red:30080 active", "shop/a green:30080 active", "shop/a blue:30080 leaving")
	w.restart().after(time.Hour).want("shop/a red:30080 active", "shop/a green:30080 active", "shop/a blue:30080 leaving")
	w.refuses["a.red"] = false
	w.after(time.Second).after(0).want("shop/a red:30080 active", "shop/a green:30080 active", "shop/a blue:30080 draining")
}

func TestContract201TwoPoolsThatBecomeOneCountTogether(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.passing[tcp("red", 30080)] = assign.Count{IPv4: 9}
	w.in.Bindings[0] = binding("shop/a", "red")
	w.after(time.Second).after(time.Hour).want("shop/a red:30080 active", "shop/a blue:30080 leaving", "shop/a green:30080 leaving")
	w.passing[tcp("red", 30080)] = assign.Count{IPv4: 10}
	w.after(time.Second).after(0).want("shop/a red:30080 active", "shop/a blue:30080 draining", "shop/a green:30080 draining")
}

// How much may go is what the old pool says, and the new one where the old one's document is gone.
func TestContract201ThePercentageIsThatOfTheOldPool(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, next, passing int
		gone, over         bool
	}{
		"fewer than the old pool asks for": {old: 20, next: 90, passing: 7},
		"as many as the old pool asks for": {old: 20, next: 90, passing: 8, over: true},
		"fewer, and the old pool is gone":  {old: 90, next: 20, passing: 7, gone: true},
		"as many, and the old one is gone": {old: 90, next: 20, passing: 8, gone: true, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filled(t, "shop/a")
			for i := range w.in.Pools {
				w.in.Pools[i].Spec.Guard.MaxRemovalPercent = new(int32(map[string]int{"blue": c.old, "green": c.next}[w.in.Pools[i].Name]))
			}
			w.passing[tcp("green", 30080)] = assign.Count{IPv4: c.passing}
			w.in.Bindings[0] = binding("shop/a", "green")
			if c.gone {
				w.in.Pools = slices.DeleteFunc(w.in.Pools, func(p v1alpha1.EndpointPool) bool { return p.Name == "blue" })
			}
			state := map[bool]string{true: "draining", false: "leaving"}[c.over]
			w.after(time.Second).after(0).want("shop/a green:30080 active", "shop/a blue:30080 "+state)
		})
	}
}

// While a pool is split, renamed or merged, several have the same endpoints.
func TestContract201AnEndpointThatSeveralPoolsHaveCountsOnce(t *testing.T) {
	t.Parallel()
	old := filledByTwo(t)
	old.same["green"] = "blue"
	old.passing[tcp("red", 30080)] = assign.Count{IPv4: 5}
	old.in.Bindings[0] = binding("shop/a", "red")
	old.after(time.Second).after(0).want("shop/a red:30080 active", "shop/a blue:30080 draining", "shop/a green:30080 draining")

	comes := filled(t, "shop/a")
	comes.in.Pools = append(comes.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	comes.same["green"] = "red"
	comes.passing[tcp("red", 30080)], comes.passing[tcp("green", 30080)] = assign.Count{IPv4: 4}, assign.Count{IPv4: 4}
	comes.in.Bindings[0] = binding("shop/a", "green", "red")
	comes.after(time.Second).after(0).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 leaving")
	comes.passing[tcp("red", 30080)] = assign.Count{IPv4: 5}
	comes.after(time.Second).after(0).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 draining")
}

// The same address with another port is another endpoint: green waits for its new port, and blue has it.
func TestContract201AnEndpointIsAnAddressWithItsPort(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.same["green"] = "blue"
	w.unready[tcp("green", 31000)] = true
	w.in.Services[0] = service("shop/a", 31000)
	w.after(time.Second).want("shop/a blue:31000 active", "shop/a green:30080 active then green:31000")
	w.passing[tcp("red", 31000)] = assign.Count{IPv4: 9}
	w.in.Bindings[0] = binding("shop/a", "red")
	w.after(time.Second).after(0).want("shop/a red:31000 active", "shop/a blue:31000 leaving", "shop/a green:30080 leaving")
	w.passing[tcp("red", 31000)] = assign.Count{IPv4: 10}
	w.after(time.Second).after(0).want("shop/a red:31000 active", "shop/a blue:31000 draining", "shop/a green:30080 draining")
}

// What a Service left one after the other may have the same endpoints, so it does not count together.
func TestContract201PoolsThatWereLeftBeforeCountForThemselves(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Pools = append(w.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	w.refuses["a.green"] = true
	w.in.Bindings[0] = binding("shop/a", "green")
	w.after(time.Second).after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 leaving")
	w.in.Bindings, w.in.Broken = nil, []assign.BrokenBinding{{Key: key("shop/a"), Mistakes: "a mistake"}}
	w.after(time.Second)
	w.in.Bindings, w.in.Broken = []v1alpha1.EndpointBinding{binding("shop/a", "red")}, nil
	w.passing[tcp("red", 30080)] = assign.Count{IPv4: 5}
	w.after(time.Second).after(time.Second).want("shop/a red:30080 active", "shop/a green:30080 draining", "shop/a blue:30080 draining")
}

// Slices of a pool that was renamed, which a restart finds.
func TestContract203APoolChecksSlicesOfARenamedOneOnlyWhereItBeginsWithThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(w *world)
		want   []string
	}{
		{"it begins", func(w *world) { w.restart() }, []string{"shop/a green:30080 active", "shop/a green:30080 draining", "shop/b green:30080 active"}},
		{"it has begun", func(*world) {}, []string{"shop/a green:30080 active", "shop/a old:30080 draining", "shop/b green:30080 active"}},
		{"two pools may have them", func(w *world) {
			w.restart()
			w.in.Bindings[0] = binding("shop/a", "green", "blue")
		}, []string{"shop/a green:30080 active", "shop/a blue:30080 active", "shop/a old:30080 draining", "shop/b green:30080 active"}},
		{"a pool that is not known may have them", func(w *world) {
			w.restart()
			w.in.Bindings[0] = binding("shop/a", "green", "white")
		}, []string{"shop/a green:30080 active", "shop/a old:30080 leaving", "shop/b green:30080 active"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pool("blue", []string{"shop"}, "30000-32767"), pool("green", []string{"shop"}, "30000-32767"))
			for i := range w.in.Pools {
				w.in.Pools[i].Spec.Subnets = []string{"10.0.0.0/24"}
			}
			w.in.Services = []assign.Service{service("shop/a", 30080), service("shop/b", 30080)}
			w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/b", "green")}
			w.after(0).want("shop/b green:30080 active")
			w.in.Published = append(w.in.Published, assign.PublishedSlice{
				Key: key("shop/a"), Pool: "old", Slice: "a.old", Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 30080}}, Endpoints: 2,
				Addresses: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("10.0.0.1")} },
			})
			w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/a", "green"), binding("shop/b", "green")}
			c.change(w)
			w.after(time.Second).after(time.Second).want(c.want...)
		})
	}
}

// Without a new pool, those that stay have to be enough.
func TestContract201OneOfTwoPoolsIsGivenUp(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.in.Bindings[0] = binding("shop/a", "green")
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.unready[tcp("red", 30080)] = true // what comes while it drains takes the place of nothing
	w.in.Bindings[0] = binding("shop/a", "green", "red")
	w.after(time.Second).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 draining")
}

func TestContract60APoolThatIsNotAllowedKeepsTheOneThatItWasToReplace(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.in.Bindings[0] = binding("shop/a", "white", "green")
	w.after(time.Second).after(time.Hour).want("shop/a green:30080 active", "shop/a blue:30080 leaving")
	w.refused("shop/a white PoolNotAllowed")
	w.in.Bindings[0] = binding("shop/a", "green")
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
}

// TestContract62WhatFailsDoesNotDrainBeforeTheNewWasChecked: none of the old is ready, because all of
// it is down. That is no drain that began before, neither here nor after a restart.
func TestContract62WhatFailsDoesNotDrainBeforeTheNewWasChecked(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Pools = append(w.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	w.in.Bindings[0] = binding("shop/a", "blue", "red")
	w.after(0).want("shop/a blue:30080 active", "shop/a red:30080 active")
	w.in.Stored = func(key assign.Key, slice string) (iter.Seq[netip.Addr], bool) {
		if slice == "a.blue" {
			return nil, true // they are in the slice, as down
		}
		return w.stored(key, slice)
	}
	w.passing[tcp("blue", 30080)] = assign.Count{}
	w.in.Published[0].Endpoints = 10
	w.refuses["a.blue"] = true
	w.unready[tcp("green", 30080)] = true
	w.in.Bindings[0] = binding("shop/a", "green", "red")
	for range 5 {
		w.after(time.Second).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 leaving")
	}
	w.restart()
	for range 5 {
		w.after(time.Second).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 leaving")
	}
}

// Those of the inventory may all drain before the pool is left: they are ready again when they are back.
func TestContract62WhatAnInventoryDrainsIsNoHandOver(t *testing.T) {
	t.Parallel()
	w := filledByTwo(t)
	w.draining["shop/a.blue"], w.refuses["a.blue"], w.unready[tcp("red", 30080)] = true, true, true
	w.in.Bindings[0] = binding("shop/a", "red", "green")
	w.after(time.Second).after(time.Second).want("shop/a red:30080 active", "shop/a green:30080 active", "shop/a blue:30080 leaving")
}

// The new is not checked yet after the restart, and the old drains already.
func TestContract203ARestartGoesOnWithADrainBeforeTheNewWasChecked(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Bindings[0] = binding("shop/a", "green")
	w.after(time.Second).after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.unready[tcp("green", 30080)] = true
	w.after(time.Second).want("shop/a green:30080 active", "shop/a blue:30080 draining")
	w.restart().after(time.Second).after(time.Hour).want("shop/a green:30080 active", "shop/a blue:30080 draining")
}

func TestContract62TwoPoolsTakeOverWhenBothWereChecked(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Pools = append(w.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	w.unready[tcp("red", 30080)] = true
	w.in.Bindings[0] = binding("shop/a", "green", "red")
	w.after(time.Second).after(time.Hour).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 leaving")
	if got := w.plan.Targets[0].Uses[2].Message; !strings.HasSuffix(got, "until all new endpoints were checked") {
		t.Errorf("got message %q", got)
	}
	delete(w.unready, tcp("red", 30080))
	w.after(time.Second).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 draining")
}

func TestContract200AllThatPassesIsStoredBeforeTheOldDrains(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	w.in.Pools = append(w.in.Pools, pool("red", []string{"shop"}, "30000-32767"))
	w.refuses["a.red"] = true
	w.in.Bindings[0] = binding("shop/a", "green", "red")
	w.after(time.Second).after(time.Hour).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 leaving")
	w.refuses["a.red"] = false
	w.after(time.Second).after(0).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 draining")
	w.passing[tcp("red", 30080)] = assign.Count{IPv4: 11} // one that joins meanwhile holds nothing up
	w.after(time.Second).want("shop/a green:30080 active", "shop/a red:30080 active", "shop/a blue:30080 draining")
}

func TestAMistakeOfATeamTakesNothingAway(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"a pool that is not allowed": func(w *world) { w.in.Bindings[0] = binding("shop/a", "white") },
		"a port that is not allowed": func(w *world) { w.in.Services[0] = service("shop/a", 22) },
		"a named target port":        func(w *world) { w.in.Services[0].Ports[0].TargetPort = 0 },
		"a selector":                 func(w *world) { w.in.Services[0].HasSelector = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filled(t, "shop/a", "shop/b")
			change(w)
			w.after(time.Hour)
			if got := w.plan.Targets[0].Uses[0]; got.Pool != "blue" || got.State == assign.Emptied || got.Ports[0].Number != 30080 {
				t.Errorf("got %+v, want what was there", got)
			}
			if len(w.plan.Refusals) != 1 {
				t.Errorf("got %v, want it told", w.plan.Refusals)
			}
		})
	}
}

func TestADryRunWritesNothingUntilOnlyOldSlicesAreLeft(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a", "shop/b")
	w.in.Bindings[0].Spec.Mode = v1alpha1.BindingDryRun
	w.after(0)
	if !w.plan.Targets[0].DryRun || w.plan.Targets[1].DryRun {
		t.Errorf("got %+v, want a dry run of the first", w.plan.Targets)
	}
}

// TestContract203ARestartFindsARenamedPoolWithTwoFamiliesOnce: each slice of before belongs to one
// use, however often it is resolved, where a pool of another name has the addresses now.
func TestContract203ARestartFindsARenamedPoolWithTwoFamiliesOnce(t *testing.T) {
	green := pool("green", []string{"shop"}, "30080")
	green.Spec.Subnets = []string{"10.0.0.0/24", "fd00::/64"}
	w := newWorld(t, green)
	w.in.Services = []assign.Service{service("shop/web", 30080)}
	w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/web", "green")}
	w.unready[tcp("green", 30080)] = true
	w.refuses["web.green"] = true
	for _, slice := range []string{"web.blue", "web.blue.ipv6", "web.blue.2", "web.blue.ipv6.2"} {
		address := "10.0.0.1"
		if strings.Contains(slice, "ipv6") {
			address = "fd00::1"
		}
		w.in.Published = append(w.in.Published, assign.PublishedSlice{
			Key: key("shop/web"), Slice: slice, Pool: "blue", Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 30080}}, Endpoints: 1,
			Addresses: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(address)} },
		})
	}
	more := w.in.Published[0]
	more.Slice, more.Pool = "web.remote-2", "" // of SLICE_NAME=web.remote
	w.in.Published = append(w.in.Published, more)
	for range 3 {
		w.plan, w.memory = assign.Resolve(w.in, w.memory)
		w.want("shop/web green:30080 active", "shop/web green:30080 leaving", "shop/web green:30080 leaving")
	}
	if old := w.plan.Targets[0].Uses[1].Use; old.SliceName(key("shop/web")) != "web.blue" {
		t.Errorf("got %+v, want the slices of blue", old)
	}
}

// What a Service publishes does not depend on the order of the ports in its binding.
func TestContract62PortsInAnotherOrderAreNoOtherPorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", []string{"shop"}, "30080", "30443"))
	b, s := binding("shop/web", "blue"), service("shop/web", 30080)
	s.Ports = append(s.Ports, publish.ServicePort{Name: "https", Protocol: publish.TCP, Port: 443, TargetPort: 30443})
	b.Spec.Ports = []v1alpha1.BindingPort{{Name: "http", Port: 30080, Protocol: v1alpha1.ProtocolTCP}, {Name: "https", Port: 30443, Protocol: v1alpha1.ProtocolTCP}}
	b.Spec.HealthCheck = &v1alpha1.BindingHealthCheck{Port: ptr.To[int32](30080)}
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{b}, []assign.Service{s}
	w.after(0)
	slices.Reverse(b.Spec.Ports)
	w.in.Bindings = []v1alpha1.EndpointBinding{b}
	if w.after(time.Second); len(w.plan.Targets[0].Uses) != 1 || w.plan.Targets[0].Uses[0].Next != nil || w.plan.Targets[0].Uses[0].State != assign.Active {
		t.Errorf("got %+v, want no hand-over", w.plan.Targets[0].Uses)
	}
}

// Contract 206: the old name of a port is the one that the slices have. While writes are refused, a
// Service changes its ports twice, and in the end has a port of the first name again.
func TestContract206ANameThatWasNotStoredServesNobody(t *testing.T) {
	t.Parallel()
	swapped := [3]string{"http:30080", "web:30080 admin:30090", "http:30090 admin:30080"}
	parsed := func(text string) (ports []publish.Port) {
		for _, one := range strings.Fields(text) {
			name, number, _ := strings.Cut(one, ":")
			n, err := strconv.ParseUint(number, 10, 16)
			if err != nil {
				t.Fatal(err)
			}
			ports = append(ports, publish.Port{Name: name, Protocol: publish.TCP, Number: uint16(n)})
		}
		return ports
	}
	for name, c := range map[string]struct {
		refuses, leaves bool
		// each are the ports that the Service has one after the other.
		each [3]string
		want string
		// slice is the name of one more slice, also are its ports, endpoints is how many it has.
		slice     string
		also      string
		endpoints int
	}{
		"stored":                     {each: swapped, want: "admin:30080"},
		"refused":                    {refuses: true, each: swapped, want: "http:30080"},
		"refused, and leaves":        {refuses: true, leaves: true, each: swapped, want: "http:30080"},
		"a name that is gone":        {refuses: true, each: [3]string{"old:30080", swapped[1], "http:30080 web:30090"}, want: "web:30080"},
		"a number twice":             {refuses: true, each: [3]string{"http:30080 grpc:30080", "web:30080 admin:30080", "http:30090 grpc:30091"}, want: "http:30080 grpc:30080"},
		"a number twice, one stored": {refuses: true, each: [3]string{"http:30080 grpc:30080", "http:30080 admin:30080", "grpc:30091 other:30092"}, want: "other:30080 grpc:30080"},
		"a slice of another pool":    {each: swapped, want: "admin:30080", slice: "a.green", also: "http:30080", endpoints: 1},
		"an empty slice":             {each: swapped, want: "admin:30080", slice: "a.blue.ipv6", also: "http:30080"},
		"one slice is stored":        {refuses: true, each: [3]string{"http:30080", "web:30080 admin:30090", "http:30090 web:30091"}, want: "http:30080", slice: "a.blue.ipv6", also: "web:30080", endpoints: 1},
		"no name twice":              {refuses: true, each: [3]string{"http:30080 grpc:30080", "web:30080 admin:30080", "http:30090 one:30091 two:30092"}, want: "http:30080 admin:30080", slice: "a.blue.ipv6", also: "http:30080", endpoints: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := filled(t, "shop/a")
			w.in.Bindings[0].Spec.HealthCheck = &v1alpha1.BindingHealthCheck{Mode: v1alpha1.HealthCheckTCP, Port: ptr.To(int32(30080))}
			for i, ports := range c.each {
				w.refuses["a.blue"] = c.refuses && i > 0
				if i > 0 { // which port to check is ambiguous from now on, so what there was stays
					w.in.Bindings[0].Spec.HealthCheck = nil
				}
				if c.leaves && i == 2 {
					w.in.Bindings[0].Spec.Pools[0].Name = "green"
				}
				if c.slice != "" && i == 2 {
					w.in.Published = append(w.in.Published, assign.PublishedSlice{Key: key("shop/a"), Pool: "blue", Slice: c.slice, Ports: parsed(c.also), Endpoints: c.endpoints})
				}
				w.in.Services[0].Ports = nil
				for j, p := range parsed(ports) {
					w.in.Services[0].Ports = append(w.in.Services[0].Ports, publish.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: uint16(80 + j), TargetPort: p.Number})
				}
				w.after(time.Second)
			}
			var got []string
			for _, p := range w.plan.Targets[0].Uses[0].Ports {
				got = append(got, fmt.Sprintf("%s:%d", p.Name, p.Number))
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got the ports %s, want %s", got, c.want)
			}
		})
	}
}

// A pool that is gone is read and checked for as long as something uses it, and no longer.
func TestContract60APoolThatIsGoneEndsWithItsLastUse(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/a")
	has := func() bool {
		return slices.ContainsFunc(w.plan.Pools, func(p v1alpha1.EndpointPool) bool { return p.Name == "blue" })
	}
	w.in.Bindings = nil
	w.in.Pools = slices.DeleteFunc(w.in.Pools, func(p v1alpha1.EndpointPool) bool { return p.Name == "blue" })
	if w.after(0); !has() {
		t.Errorf("got the pools %v and %v, want the one that is in use", w.plan.Pools, w.plan.Targets)
	}
	for range 5 {
		w.after(releaseAfter)
	}
	if len(w.plan.Targets) > 0 || has() {
		t.Errorf("got the pools %v and %v, want nothing of what is gone", w.plan.Pools, w.plan.Targets)
	}
}

// TestContract170OfTheSlicesOfAServiceAHundredNamesAreLookedAt: others may write any number of slices, and
// what a Service has before them is still found.
func TestContract170OfTheSlicesOfAServiceAHundredNamesAreLookedAt(t *testing.T) {
	t.Parallel()
	w := filled(t, "shop/web", "shop/api")
	w.in.Bindings = w.in.Bindings[1:]
	w.restart()
	for i := range 5000 {
		w.in.Published = append(w.in.Published, assign.PublishedSlice{Key: key("shop/web"), Pool: "gone", Slice: fmt.Sprintf("x%04d", i), Endpoints: 1})
	}
	w.after(0)
	if len(w.plan.Lost) != 99 || len(w.plan.Targets) != 2 {
		t.Errorf("got %d lost slices and %d targets, want 99 and 2", len(w.plan.Lost), len(w.plan.Targets))
	}
}
