package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// placements are what is known of one remote Service.
type placements struct {
	*world
	is      *inventory.Placement
	err     error
	changed []chan struct{}
}

// placements returns those of a remote Service. The lock is held.
func (w *world) placementsOf(of inventory.RemoteService) *placements {
	if w.placements == nil {
		w.placements = make(map[inventory.RemoteService]*placements)
	}
	if w.placements[of] == nil {
		w.placements[of] = &placements{world: w, err: errors.New("no answer yet")}
	}
	return w.placements[of]
}

// follow is controller.Origin.Follow.
func (w *world) follow(_ context.Context, of inventory.RemoteService) pool.Placer {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.placementsOf(of)
	p.changed = append(p.changed, make(chan struct{}, 1))
	return follower{p, p.changed[len(p.changed)-1]}
}

// follower is pool.Placer.
type follower struct {
	*placements
	news chan struct{}
}

func (f follower) Changed() <-chan struct{} { return f.news }

func (f follower) Placement() (*inventory.Placement, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.is, f.err
}

// web is the remote Service that is followed.
var web = inventory.RemoteService{Namespace: "far", Name: "web"}

// place says that ready Pods of it are on these nodes.
func (w *world) place(nodes ...string) {
	w.placeOf(web, &inventory.Placement{Ready: nodes, Found: true, Local: true, NodePorts: []uint16{80}}, nil)
}

func (w *world) placeOf(of inventory.RemoteService, is *inventory.Placement, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.placementsOf(of)
	if p.err = err; err == nil {
		slices.Sort(is.Ready)
		p.is = is
	}
	for _, c := range p.changed {
		notify(c)
	}
}

// remotePool is the pool blue, whose Services of shop may follow those of the remote namespace far.
func remotePool() string {
	text := strings.ReplaceAll(poolOf("blue", "10.0.0.0/24"), "source: {file: {path: /x}}", "source: {kubernetes: {}}\n  credentials: blue")
	return strings.ReplaceAll(text, "maxServices", "remoteNamespaces: [far], maxServices")
}

// following is the binding of shop/web, which follows web.
func following() string {
	return strings.ReplaceAll(bindingOf("shop/web", "blue", "ports: [{port: 80}]"), "{name: blue}", "{name: blue, remoteService: {namespace: far, name: web}}")
}

// newFollowing is a world with the nodes n1 to n4 and a Service that follows web.
func newFollowing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.documents(remotePool(), following())
	w.service("shop/web", "http:80")
	w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
	return w
}

func (w *world) wantIn(when string, want ...string) {
	w.t.Helper()
	if got := w.in("shop/web.blue"); !slices.Equal(got, want) {
		w.t.Errorf("%s: got %v, want %v", when, got, want)
	}
}

func TestContract234APodThatMovesTakesItsEndpointAlong(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		w.documents(remotePool(), following(), bindingOf("shop/all", "blue", "ports: [{port: 80}]"))
		w.service("shop/all", "http:80")
		w.place("n10.0.0.1", "n10.0.0.2")
		w.start()
		defer func() { w.stop() }()
		during(15 * time.Second)
		w.wantIn("at first", "10.0.0.1=ready", "10.0.0.2=ready")
		reads := w.reads
		w.place("n10.0.0.1", "n10.0.0.3")
		during(time.Second)
		w.wantIn("a Pod has moved", "10.0.0.1=ready", "10.0.0.2=draining", "10.0.0.3=ready")
		if w.reads != reads {
			t.Errorf("got %d reads of the source, want none because of a placement", w.reads-reads)
		}
		w.restart()
		during(5 * time.Second)
		w.wantIn("after a restart", "10.0.0.1=ready", "10.0.0.2=draining", "10.0.0.3=ready")
		during(worldDrain)
		w.wantIn("after the drain", "10.0.0.1=ready", "10.0.0.3=ready")
		if got := w.in("shop/all.blue"); len(got) != 4 {
			t.Errorf("a Service that follows nothing: got %v, want all four", got)
		}
		w.placeOf(web, &inventory.Placement{Ready: []string{"n10.0.0.1"}, Found: true, NodePorts: []uint16{80}}, nil)
		during(15 * time.Second)
		w.wantIn("the remote Service forwards from every node", "10.0.0.1=ready", "10.0.0.2=ready", "10.0.0.3=ready", "10.0.0.4=ready")
		if g := w.groupOf(web); g == nil || !g.State.Placed.EveryNode {
			t.Errorf("got %+v, want that it says that following has no effect", g)
		}
	})
}

// TestContract237ARemoteServiceThatIsNotThereTakesNothingOver: its name has a typo, or the right to read it
// is missing, and the Service goes on as it was.
func TestContract237ARemoteServiceThatIsNotThereTakesNothingOver(t *testing.T) {
	for name, answer := range map[string]func(w *world, of inventory.RemoteService){
		"a typo":        func(w *world, of inventory.RemoteService) { w.placeOf(of, &inventory.Placement{}, nil) },
		"without right": func(w *world, of inventory.RemoteService) { w.placeOf(of, nil, errors.New("services is forbidden")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newFollowing(t)
				w.place("n10.0.0.1", "n10.0.0.2")
				w.start()
				defer func() { w.stop() }()
				during(15 * time.Second)
				w.wantIn("at first", "10.0.0.1=ready", "10.0.0.2=ready")
				other := inventory.RemoteService{Namespace: "far", Name: "wbe"}
				answer(w, other)
				w.documents(remotePool(), strings.ReplaceAll(following(), "name: web}}", "name: wbe}}"))
				during(5 * time.Minute)
				w.wantIn("another name", "10.0.0.1=ready", "10.0.0.2=ready")
				w.place("n10.0.0.3", "n10.0.0.4")
				during(10 * time.Second)
				w.locked(func() { w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true })
				during(time.Minute)
				w.wantIn("all Pods of web have moved", "10.0.0.3=ready", "10.0.0.4=ready")
			})
		})
	}
}

// groupOf is the group that follows a remote Service.
func (w *world) groupOf(remote inventory.RemoteService) *controller.Group {
	s := w.server.Snapshot()
	for i := range s.Groups {
		if s.Groups[i].Remote == remote {
			return &s.Groups[i]
		}
	}
	return nil
}

// toldOf counts the Events of a reason.
func (w *world) toldOf(reason string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if strings.Contains(e, " "+reason+": ") {
			n++
		}
	}
	return n
}

func TestContract235APlacementThatNamesNothingTakesNothingAway(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		w.place("n10.0.0.1", "n10.0.0.2", "n10.0.0.3")
		w.start()
		defer w.stop()
		during(15 * time.Second)
		all := []string{"10.0.0.1=ready", "10.0.0.2=ready", "10.0.0.3=ready"}
		w.wantIn("at first", all...)
		w.place()
		during(25 * time.Second)
		if w.told("PlacementRejected") {
			t.Error("it is told before 30 s have passed, as every rollout would be")
		}
		during(20 * time.Second)
		if n := w.toldOf("PlacementRejected"); n != 1 {
			t.Errorf("got %d Events after 45 s, want 1", n)
		}
		during(10 * time.Minute)
		w.wantIn("however long it lasts", all...)
		w.locked(func() { w.dead["10.0.0.2"] = true })
		during(10 * time.Second)
		if got := w.in("shop/web.blue"); slices.Contains(got, "10.0.0.2=ready") || len(got) < 2 {
			t.Errorf("one that is dead: got %v, want it not ready, and nothing else gone", got)
		}
		w.place("n10.0.0.1", "n10.0.0.2", "n10.0.0.3")
		during(10 * time.Second)
		if n := w.toldOf("PlacementRecovered"); n != 1 {
			t.Errorf("got %d Events that it is over, want 1", n)
		}
		if w.told("RemovalHeld") || w.told("FailOpenEngaged") {
			t.Errorf("got %q, want no mode but Publish", w.events)
		}
	})
}

func TestContract236APlacementThatCannotBeReadTakesNothingAway(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		w.place("n10.0.0.1", "n10.0.0.2")
		w.start()
		defer func() { w.stop() }()
		during(15 * time.Second)
		both := []string{"10.0.0.1=ready", "10.0.0.2=ready"}
		w.wantIn("at first", both...)
		w.placeOf(web, nil, errors.New("endpointslices is forbidden"))
		during(2 * time.Second)
		if n := w.toldOf("PlacementUnavailable"); n != 1 || strings.Contains(fmt.Sprint(w.events), "forbidden") {
			t.Errorf("got Events %q, want one that tells a team no words of the remote API server", w.events)
		}
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		during(10 * time.Minute)
		w.wantIn("while it lasts", both...)
		w.restart()
		during(time.Minute)
		w.wantIn("a restart meanwhile", both...)
		if n := w.toldOf("PlacementUnavailable"); n != 2 {
			t.Errorf("got %d Events, want one of each process", n)
		}
		w.place("n10.0.0.1", "n10.0.0.3")
		during(15 * time.Second)
		w.wantIn("it can be read again", "10.0.0.1=ready", "10.0.0.2=draining", "10.0.0.3=ready")
		if n := w.toldOf("PlacementRecovered"); n != 1 {
			t.Errorf("got %d Events that it is over, want 1", n)
		}
	})
}

// Contract 236: without a way to the remote cluster, and before there is one, nothing is known.
func TestContract236WithoutAWayWhatIsPublishedStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		broken func(*world)
		told   string
	}{
		"no kubeconfig":    {func(w *world) { w.noWay = true }, "PlacementUnavailable"},
		"no source either": {func(w *world) { w.makeErr = errors.New("the folder has no file token") }, "SourceUnavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				w := newFollowing(t)
				w.place("n10.0.0.1", "n10.0.0.2")
				w.start()
				during(15 * time.Second)
				w.stop()
				c.broken(w)
				w.start()
				defer func() { w.stop() }()
				during(time.Minute)
				w.wantIn("after a restart", "10.0.0.1=ready", "10.0.0.2=ready")
				if !w.told(c.told) {
					t.Errorf("got Events %q, want %s", w.events, c.told)
				}
				w.locked(func() { w.dead["10.0.0.2"] = true })
				during(10 * time.Second)
				w.wantIn("one that dies", "10.0.0.1=ready", "10.0.0.2=down")
			})
		})
	}
}

// Contract 234: a Service that begins to follow is a hand-over between two checks.
func TestContract234AServiceThatBeginsToFollowKeepsWhatPassesUntilThen(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		w.documents(remotePool(), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.start()
		defer w.stop()
		during(15 * time.Second)
		all := []string{"10.0.0.1=ready", "10.0.0.2=ready", "10.0.0.3=ready", "10.0.0.4=ready"}
		w.wantIn("at first", all...)
		w.documents(remotePool(), following())
		during(time.Minute)
		w.wantIn("while nothing is known", all...)
		w.place("n10.0.0.1", "n10.0.0.2", "n10.0.0.3")
		during(5 * time.Second)
		w.wantIn("when it is known", "10.0.0.1=ready", "10.0.0.2=ready", "10.0.0.3=ready", "10.0.0.4=draining")
	})
}

// Contract 236: a single run waits for the placement, and writes nothing without one.
func TestContract236ASingleRunNeedsThePlacement(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		server, err := controller.New(w.options())
		if err != nil {
			t.Fatal(err)
		}
		a, err := server.Once(t.Context(), func(string, int, int) {})
		unread := new(controller.SourceError)
		if err != nil || len(w.writes) > 0 || !errors.As(a.Assessed[0].Fills[0].Undecided, &unread) {
			t.Fatalf("without a placement: got %d writes, %v, %+v, want none, because it cannot be read", len(w.writes), err, a.Assessed[0].Fills[0])
		}
		go func() {
			time.Sleep(2 * time.Second)
			w.place("n10.0.0.1", "n10.0.0.2")
		}()
		w.once(remotePool(), following())
		w.wantIn("with one that comes late", "10.0.0.1=ready", "10.0.0.2=ready")
	})
}

// Contract 234: of a Service that follows, only nodes with a Pod are checked, so only these count.
func TestContract234OnlyNodesWithAPodCountAsChecks(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w := newFollowing(t)
		limited := strings.ReplaceAll(remotePool(), "maxChecks: 20000", "maxChecks: 6")
		w.documents(limited, following())
		w.place("n10.0.0.1", "n10.0.0.2")
		w.start()
		defer w.stop()
		during(15 * time.Second)
		w.service("shop/other", "http:81")
		w.documents(limited, following(), bindingOf("shop/other", "blue", "ports: [{port: 81}]"))
		during(15 * time.Second)
		if got := w.in("shop/other.blue"); len(got) != 4 || w.told("LimitReached") {
			t.Errorf("got %v and Events %q, want all four: two checks and four are no more than six", got, w.events)
		}
	})
}

func TestContract237WhyNothingIsKnownOfARemoteServiceIsTold(t *testing.T) {
	unmade, noWay := controller.Unplaced(struct{ pool.Source }{})
	if unmade == nil || strings.Contains(unmade.Error(), "remoteService") || noWay == nil || !strings.Contains(noWay.Error(), "give it one, or remove remoteService") {
		t.Errorf("got %v while the source is not made, and %v where it cannot follow", unmade, noWay)
	}
}

func TestWhyNothingWasDecidedIsTheProblemOfTheGroup(t *testing.T) {
	key := assign.Group{Pool: "blue"}
	a := controller.Assessment{Snapshot: controller.Snapshot{Groups: []controller.Group{{Group: key, Problem: "no checks", State: &controller.GroupState{}}}}}
	if err := a.Undecided(key); err == nil || err.Error() != "no checks" {
		t.Errorf("got %v, want the problem of the group, whose source was read", err)
	}
}
