package pool_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// placer follows a remote Service that a test writes down.
type placer struct {
	mu      sync.Mutex
	newest  *inventory.Placement
	err     error
	changed chan struct{}
}

func newPlacer() *placer {
	return &placer{err: errors.New("nothing was read yet"), changed: make(chan struct{}, 1)}
}

func (p *placer) Placement() (*inventory.Placement, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest, p.err
}

func (p *placer) Changed() <-chan struct{} { return p.changed }

// name has Pods on the nodes "w1 w2" and says so.
func (p *placer) name(nodes string) {
	ready := strings.Fields(nodes)
	slices.Sort(ready)
	p.put(&inventory.Placement{Ready: ready, Found: true, Local: true, NodePorts: []uint16{30080}}, nil)
}

// put answers that, and signals it.
func (p *placer) put(newest *inventory.Placement, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest, p.err = newest, err
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// follow runs a test in a pool of the nodes 1 to 5, which follows a remote Service.
func follow(t *testing.T, test func(w *world, p *placer)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w, p := newWorld(t, 1, 2, 3, 4, 5), newPlacer()
		w.opts.Placer, w.opts.Port = p, 30080
		test(w, p)
		w.stop()
	})
}

// last is the last outcome.
func (w *world) last() pool.Outcome {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[len(w.outcomes)-1]
}

func TestContract234InventoryAndPlacementAreDecidedOnTogether(t *testing.T) {
	follow(t, func(w *world, p *placer) {
		w.start()
		during(5 * time.Second)
		w.want("")
		if o := w.last(); o.Decided || o.Settled || o.Placed.LastErr == nil || o.Placed.Newest != nil || o.Source.LastSuccess.IsZero() {
			t.Errorf("got %+v, decided %t, settled %t: want it to wait for the placement", o.Placed, o.Decided, o.Settled)
		}
		p.name("w1 w2 w3")
		during(time.Second)
		w.want("1=ready 2=ready 3=ready")
		during(5 * time.Second)
		if o := w.last(); !o.Decided || !o.Settled || o.Placed.LastErr != nil || o.Placed.Newest != p.newest || o.Verdict.Placement.Named != 3 {
			t.Errorf("got %+v, decided %t, settled %t: want the placement", o.Placed, o.Decided, o.Settled)
		}
		reads := w.readCount()
		p.name("w2 w3 w4")
		if took := w.until("1=draining 2=ready 3=ready 4=ready"); took > 300*time.Millisecond {
			t.Errorf("it took %s, want it at once", took)
		}
		if got := w.readCount(); got != reads {
			t.Errorf("the source was read %d times because of a placement", got-reads)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := w.checked[address(5)]; n > 0 {
			t.Errorf("a node without a Pod was checked %d times", n)
		}
	})
}

// TestContract238APlacementThatNeverCameIsToldHoweverOftenTheSourceIsRead.
func TestContract238APlacementThatNeverCameIsToldHoweverOftenTheSourceIsRead(t *testing.T) {
	follow(t, func(w *world, _ *placer) {
		w.opts.PollInterval = time.Second
		w.start()
		during(45 * time.Second)
		if o := w.last(); !o.Settled || o.Placed.LastErr == nil {
			t.Errorf("settled %t with %v after 45 s, want it to be known that no placement comes", o.Settled, o.Placed.LastErr)
		}
	})
}

func TestContract234AChangedPlacementCountsNoInventoryTwice(t *testing.T) {
	follow(t, func(w *world, p *placer) {
		p.name("w1 w2 w3 w4 w5")
		w.start()
		during(5 * time.Second)
		w.list(1)
		during(30 * time.Second)
		rejected := w.last().Verdict.Memory.Rejected()
		for i := range 20 {
			p.name(fmt.Sprint("w1 w2 w3 w4 w", 5-i%2*4)[:14-i%2*3])
			during(100 * time.Millisecond)
		}
		if got := w.last().Verdict.Memory.Rejected(); rejected != 1 || got != rejected {
			t.Errorf("got %d rejected inventories after %d, want one", got, rejected)
		}
		w.want("1=ready 2=ready 3=ready 4=ready 5=ready")
	})
}

func TestContract236APlacementThatCannotBeReadChangesNothing(t *testing.T) {
	follow(t, func(w *world, p *placer) {
		p.name("w1 w2 w3")
		w.start()
		during(5 * time.Second)
		w.want("1=ready 2=ready 3=ready")
		read, told := w.last().Placed.LastSuccess, len(w.outcomes)
		p.mu.Lock()
		p.err = errors.New("the watch is closed") // nothing signals that
		p.mu.Unlock()
		during(2 * time.Second)
		news := func(o pool.Outcome) bool { return !o.Beat && o.Placed.LastErr != nil }
		w.mu.Lock()
		if n := count(w.outcomes[told:], news); n != 1 {
			t.Errorf("%d outcomes say that it cannot be read, want one", n)
		}
		w.mu.Unlock()
		w.list(1, 2, 3, 4, 5, 6)
		w.signal()
		during(10 * time.Minute)
		w.want("1=ready 2=ready 3=ready")
		if o := w.last(); o.Placed.LastErr == nil || o.Placed.Newest != p.newest || o.Placed.LastSuccess.Sub(read) > 2*time.Second {
			t.Errorf("got %+v, want the placement of before and the error", o.Placed)
		}
		w.set(func() { w.dead[address(2)] = true })
		if took := w.until("2=down"); took > 3*time.Second {
			t.Errorf("it was down after %s, want as fast as ever", took)
		}
		p.name("w1 w3 w6")
		w.until("1=ready 3=ready 6=ready")
		if o := w.last(); o.Placed.LastErr != nil {
			t.Errorf("got %v after it was read again", o.Placed.LastErr)
		}
	})
}

func TestContract236AfterARestartNothingChangesBeforeAPlacement(t *testing.T) {
	follow(t, func(w *world, p *placer) {
		var published []inventory.Member
		for o := 1; o <= 5; o++ {
			published = append(published, inventory.Member{Address: address(o), State: inventory.StateReady})
		}
		w.list(1, 2, 3, 4, 5, 6)
		w.start(published...)
		during(10 * time.Minute)
		w.want("1=ready 2=ready 3=ready 4=ready 5=ready")
		w.set(func() { w.dead[address(5)] = true })
		w.until("5=down")
		p.name("w1 w2 w3")
		during(2 * time.Second)
		w.want("1=ready 2=ready 3=ready 4=draining")
	})
}

func TestContract234ARemoteServiceThatForwardsFromEveryNodeHasNoEffect(t *testing.T) {
	for name, p := range map[string]inventory.Placement{
		"policy Cluster":   {Ready: []string{"w1"}, Found: true, NodePorts: []uint16{30443, 30080}},
		"without checks":   {Ready: []string{"w1"}, Found: true, NodePorts: []uint16{30443}},
		"another NodePort": {Ready: []string{"w1"}, Found: true, NodePorts: []uint16{30443}},
		"policy Local":     {Ready: []string{"w1"}, Found: true, Local: true, NodePorts: []uint16{30080}},
		"no NodePort":      {Ready: []string{"w1"}, Found: true},
		"no Service":       {},
	} {
		t.Run(name, func(t *testing.T) {
			follow(t, func(w *world, placer *placer) {
				everyNode := name == "policy Cluster" || name == "without checks"
				if name == "without checks" {
					w.opts.Port = 0
				}
				placer.put(&p, nil)
				w.start()
				during(5 * time.Second)
				want := map[bool]string{true: "1=ready 2=ready 3=ready 4=ready 5=ready", false: "1=ready"}[everyNode]
				if name == "no Service" {
					want = ""
				}
				w.want(want)
				if o := w.last(); o.Placed.EveryNode != everyNode || name != "no Service" && everyNode != (o.Verdict.Placement == guard.Placement{}) {
					t.Errorf("got %+v, %+v", o.Placed, o.Verdict.Placement)
				}
			})
		})
	}
}

func TestContract53APlacementIsNotLostWhereDecidingPanics(t *testing.T) {
	inSeveral(t, func(s *several) {
		broken, p := false, newPlacer()
		part := s.group("check", nil)
		part.group.Follow(p)
		part.group.Break(func() bool { return broken })
		p.name("w1 w2")
		s.start(part)
		during(5 * time.Second)
		part.want("1=ready 2=ready")
		broken = true
		p.name("w2 w3")
		during(5 * time.Second)
		part.want("1=ready 2=ready")
		broken = false
		reads := s.readCount()
		part.until("1=draining 2=ready 3=ready")
		if got := s.readCount(); got != reads {
			t.Error("it was decided on with the next inventory only")
		}
	}, 1, 2, 3)
}

// count counts the outcomes of which something is so.
func count(outcomes []pool.Outcome, is func(pool.Outcome) bool) (n int) {
	for _, o := range outcomes {
		if is(o) {
			n++
		}
	}
	return n
}

// TestContract235NoMoveOfPodsHoldsOrLeavesADeadOneReady is a remote Service with the policy Local: a
// node without a Pod is silent, and the placement says so 50 ms later.
func TestContract235NoMoveOfPodsHoldsOrLeavesADeadOneReady(t *testing.T) {
	for name, moves := range map[string][]string{
		"two rollouts 45 s apart": {"1 2 3", "4 5 6", "7 8 1"},
		"from eight to two":       {"1 2 3 4 5 6 7 8", "1 2"},
		"one is recreated":        {"1", "", "5"},
		"to one and back":         {"1 2 3 4", "1", "1 2 3 4"},
		"to none and back":        {"1 2 3 4", "", "1 2 3 4"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, p := newWorld(t, 1, 2, 3, 4, 5, 6, 7, 8), newPlacer()
				w.opts.Placer, w.opts.Port = p, 30080
				move := func(pods string) {
					w.set(func() {
						for o := 1; o <= 8; o++ {
							w.mute[address(o)] = !strings.Contains(pods, fmt.Sprint(o))
						}
					})
					during(50 * time.Millisecond)
					p.name(strings.Join(strings.Fields("w"+strings.Join(strings.Fields(pods), " w")), " "))
				}
				move(moves[0])
				w.start()
				for _, pods := range moves {
					move(pods)
					during(5 * time.Second) // less than FALL intervals
					for tenth := range 400 {
						for _, member := range strings.Fields(w.published()) {
							if o, dead := strings.CutSuffix(member, "=ready"); dead && !strings.Contains(pods, o) {
								t.Fatalf("%s is ready %d00 ms after it lost its Pod: %s", o, 50+tenth, w.published())
							}
						}
						if v := w.last().Verdict; v.Mode != guard.Publish || v.Placement.Reason != "" && pods != "" {
							t.Fatalf("got %s, %s: %s", v.Mode, v.Placement.Reason, v.Message+v.Placement.Message)
						}
						during(100 * time.Millisecond)
					}
					if want := strings.ReplaceAll(pods, " ", "=ready ") + "=ready"; pods != "" && !inOrder(w.published(), want) {
						t.Errorf("got %s, want %s", w.published(), want)
					}
				}
				w.stop()
			})
		})
	}
}

// TestContract235PodsThatServeWhileTheyEndLoseNothing: new Pods are ready first, and old ones serve for
// 5 s after they begin to end. No endpoint is ready that does not answer.
func TestContract235PodsThatServeWhileTheyEndLoseNothing(t *testing.T) {
	for name, moves := range map[string][][2]string{ // those that are ready, and those that end
		"two rollouts 45 s apart": {{"w1 w2 w3"}, {"w4 w5 w6", "w1 w2 w3"}, {"w1 w7 w8", "w4 w5 w6"}},
		"from eight to two":       {{"w1 w2 w3 w4 w5 w6 w7 w8"}, {"w1 w2", "w3 w4 w5 w6 w7 w8"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w, p := newWorld(t, 1, 2, 3, 4, 5, 6, 7, 8), newPlacer()
				w.opts.Placer, w.opts.Port = p, 30080
				answer := func(nodes string) {
					w.set(func() {
						for o := 1; o <= 8; o++ {
							w.mute[address(o)] = !strings.Contains(nodes, fmt.Sprint(o))
						}
					})
				}
				place := func(ready, ending string) {
					p.put(&inventory.Placement{Ready: strings.Fields(ready), Ending: strings.Fields(ending), Found: true, Local: true}, nil)
				}
				answer(moves[0][0])
				w.start()
				for _, is := range moves {
					answer(is[0] + is[1])
					both := strings.Fields(is[0] + " " + is[1])
					slices.Sort(both)
					place(strings.Join(both, " "), "")
					during(5 * time.Second)
					place(is[0], is[1])
					during(5 * time.Second)
					answer(is[0])
					place(is[0], "")
					for range 350 {
						for _, member := range strings.Fields(w.published()) {
							if o, ready := strings.CutSuffix(member, "=ready"); ready && !strings.Contains(is[0], o) {
								t.Fatalf("%s has no Pod: %s", member, w.published())
							}
						}
						during(100 * time.Millisecond)
					}
				}
				w.stop()
			})
		})
	}
}

// inOrder reports whether both name the same, in any order.
func inOrder(got, want string) bool {
	a, b := strings.Fields(got), strings.Fields(want)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
