package assign_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

var histories = flag.Int("histories", 100, "how many random histories of documents, Services and pools are tried")

// history is a random life of documents, Services and pools. It knows in its own words
// what is allowed.
type history struct {
	*world
	random *rand.Rand
	// allowed says which namespaces may use which ports of which pools.
	allowed map[string]map[string][]uint16
	// left is since when each use is not asked for by a valid binding, or not allowed.
	left map[string]time.Time
	// over are the uses that others took the place of, or whose time is over.
	over map[string]bool
	// states are those of the slices at the last look.
	states map[string]assign.State
	// shown are the uses that have been published since then.
	log []string
}

var (
	poolNames  = []string{"blue", "green", "red"}
	namespaces = []string{"shop", "blog"}
	ports      = []uint16{30080, 30081, 31000}
)

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 1)), allowed: map[string]map[string][]uint16{}, left: map[string]time.Time{}, states: map[string]assign.State{}, over: map[string]bool{}}
	for _, name := range poolNames {
		h.setPool(name, map[string][]uint16{"shop": ports, "blog": ports[:2]})
	}
	for _, namespace := range namespaces {
		for i := range 4 {
			name := fmt.Sprintf("%s/s%d", namespace, i)
			h.in.Services = append(h.in.Services, service(name, 30080))
			h.in.Bindings = append(h.in.Bindings, binding(name, poolNames[i%3]))
		}
	}
	return h
}

// setPool gives a pool these allowances; nil removes it.
func (h *history) setPool(name string, allowed map[string][]uint16) {
	h.in.Pools = slices.DeleteFunc(h.in.Pools, func(p v1alpha1.EndpointPool) bool { return p.Name == name })
	h.allowed[name] = allowed
	if allowed == nil {
		return
	}
	p := pool(name, nil)
	for _, namespace := range namespaces {
		if of := allowed[namespace]; len(of) > 0 {
			entry := v1alpha1.PoolAllowance{Namespaces: []string{namespace}}
			if namespace == "shop" {
				entry.RemoteNamespaces = []string{"far"}
			}
			for _, port := range of {
				entry.Ports = append(entry.Ports, fmt.Sprint(port))
			}
			p.Spec.Allow = append(p.Spec.Allow, entry)
		}
	}
	p.SetDefaults()
	h.in.Pools, h.in.Nodes[name] = append(h.in.Pools, p), 10
}

// step changes one thing.
func (h *history) step() {
	name := fmt.Sprintf("%s/s%d", namespaces[h.random.IntN(2)], h.random.IntN(4))
	pools := []string{poolNames[h.random.IntN(3)]}
	if other := poolNames[h.random.IntN(3)]; other != pools[0] && h.random.IntN(3) == 0 {
		pools = append(pools, other)
	}
	unbind := func() {
		h.in.Bindings = slices.DeleteFunc(h.in.Bindings, func(b v1alpha1.EndpointBinding) bool { return key(b.Namespace+"/"+b.Name) == key(name) })
	}
	event := ""
	switch h.random.IntN(19) {
	case 0:
		unbind()
		event = "unbind " + name
	case 1, 2, 3:
		unbind()
		h.in.Bindings = append(h.in.Bindings, binding(name, pools...))
		event = fmt.Sprint("bind ", name, pools)
	case 4:
		port := ports[h.random.IntN(3)]
		for i, s := range h.in.Services {
			if s.Key == key(name) {
				h.in.Services[i] = service(name, port)
			}
		}
		event = fmt.Sprint("port ", name, port)
	case 5:
		h.setPool(pools[0], nil)
		event = "no pool " + pools[0]
	case 6, 7:
		h.setPool(pools[0], map[string][]uint16{"shop": ports[:h.random.IntN(4)], "blog": ports[h.random.IntN(4):]})
		event = fmt.Sprint("pool ", pools[0], h.allowed[pools[0]])
	case 8:
		h.in.Complete = !h.in.Complete
		event = fmt.Sprint("complete ", h.in.Complete)
	case 9:
		h.restart()
		event = "restart"
	case 10:
		g := tcp(pools[0], ports[h.random.IntN(3)])
		h.unready[g] = !h.unready[g]
		event = fmt.Sprint("ready ", g, !h.unready[g])
	case 11:
		event = "time"
	case 12: // a pool is given up, or has another name, together with its bindings
		h.setPool(pools[0], nil)
		to := poolNames[h.random.IntN(3)]
		for i := range h.in.Bindings {
			b := &h.in.Bindings[i]
			if slices.Contains(b.Spec.PoolNames(), pools[0]) {
				b.Spec.Pools, b.Spec.Adopt = []v1alpha1.BindingPool{{Name: to}}, ""
			}
		}
		event = fmt.Sprint("no pool ", pools[0], ", its bindings have ", to)
	case 13:
		for i := range h.in.Bindings {
			if b := &h.in.Bindings[i]; b.Name == key(name).Service && len(b.Spec.Pools) == 1 {
				b.Spec.Adopt = []string{"", b.Name + "-remote", b.Name + "-other"}[h.random.IntN(3)]
				event = fmt.Sprintf("%s/%s adopts %q", b.Namespace, b.Name, b.Spec.Adopt)
			}
		}
	case 14:
		g := tcp(pools[0], ports[h.random.IntN(3)])
		h.passing[g] = assign.Count{IPv4: h.random.IntN(12), IPv6: max(0, h.random.IntN(9)-5)}
		event = fmt.Sprint("of ", g, " pass ", h.passing[g])
	case 15:
		slice := key(name).Service + []string{".", "-remote"}[h.random.IntN(2)]
		if strings.HasSuffix(slice, ".") {
			slice += pools[0]
		}
		h.refuses[slice] = !h.refuses[slice]
		event = fmt.Sprint("refused ", slice, h.refuses[slice])
	case 16:
		clear(h.refuses)
		event = "nothing is refused"
	case 17:
		remote := []*v1alpha1.RemoteServiceReference{nil, {Namespace: "far", Name: "a"}, {Namespace: "far", Name: "b"}, {Namespace: "near", Name: "a"}}[h.random.IntN(4)]
		for _, b := range h.in.Bindings {
			if key(b.Namespace+"/"+b.Name) == key(name) {
				b.Spec.Pools[0].RemoteService = remote
			}
		}
		event = fmt.Sprint(name, " follows ", remote)
	case 18:
		h.same[pools[0]] = poolNames[h.random.IntN(3)]
		event = fmt.Sprint(pools[0], " has the endpoints of ", h.same[pools[0]])
	}
	pause := time.Duration(h.random.Int64N(int64(8 * time.Minute)))
	h.log = append(h.log, fmt.Sprintf("%v later: %s", pause, event))
	h.after(pause)
}

// may reports whether a pool allows a namespace a port.
func (h *history) may(pool, namespace string, port uint16) bool {
	return slices.Contains(h.allowed[pool][namespace], port)
}

// check holds the plan against what is asked for and allowed.
func (h *history) check(t *testing.T) {
	t.Helper()
	uses := map[string]assign.PoolUse{}
	for _, target := range h.plan.Targets {
		for _, u := range target.Uses {
			if name := target.Key.String() + " " + u.Pool; uses[name].Pool == "" || u.State == assign.Active {
				uses[name] = u // slices of another name may be left
			}
			forbidden := h.allowed[u.Pool] != nil && !h.may(u.Pool, target.Namespace, u.Ports[0].Number)
			if forbidden && u.State != assign.Leaving && u.State != assign.Emptied {
				t.Errorf("%v: %+v is forbidden", target.Key, u)
			}
			if u.Next != nil && !h.may(u.Next.Pool, target.Namespace, u.Next.Ports[0].Number) {
				t.Errorf("%v: got %+v planned, which is forbidden", target.Key, u.Next)
			}
		}
	}
	for _, target := range h.plan.Targets {
		h.checkHandOvers(t, target)
	}
	for _, b := range h.in.Bindings {
		h.checkBinding(t, b, uses)
	}
	for name, u := range uses {
		asked := h.asked(name)
		if _, known := h.left[name]; asked {
			delete(h.left, name)
		} else if !known {
			h.left[name] = h.in.Now
		}
		if u.State != assign.Emptied && u.State != assign.Draining {
			delete(h.over, name)
			continue
		}
		if h.over[name] {
			continue
		}
		h.over[name] = true
		if asked {
			t.Errorf("%s: emptied although a valid binding asks for it", name)
		}
		namespace, _, _ := strings.Cut(name, "/")
		revoked := h.allowed[u.Pool] != nil && !h.may(u.Pool, namespace, u.Ports[0].Number) // its time began before
		if !h.named(name) && !revoked && h.in.Now.Sub(h.left[name]) < releaseAfter {
			t.Errorf("%s: emptied %v after it vanished", name, h.in.Now.Sub(h.left[name]))
		}
	}
}

// checkHandOvers holds what begins to drain, or is emptied without, against what takes its
// place: as many endpoints as have to are stored, in each family.
func (h *history) checkHandOvers(t *testing.T, target assign.Assignment) {
	t.Helper()
	for _, u := range target.Uses {
		name := target.Key.String() + " " + u.SliceName(target.Key)
		before := h.states[name]
		h.states[name] = u.State
		goes := u.State == assign.Draining && before != u.State || u.State == assign.Emptied && before != assign.Draining && before != u.State
		forbidden := h.allowed[u.Pool] != nil && !h.may(u.Pool, target.Namespace, u.Ports[0].Number)
		if !goes || forbidden || before == "" || !h.replaced(target.Key, u) || h.unready[u.Group] {
			continue
		}
		addrs := map[netip.Addr]bool{}
		for _, other := range target.Uses {
			if other.State == assign.Active {
				if has, _ := h.stored(target.Key, other.SliceName(target.Key)); has != nil {
					for addr := range has {
						addrs[addr] = true
					}
				}
			}
		}
		var stored assign.Count
		for addr := range addrs {
			if stored.IPv6++; addr.Is4() {
				stored.IPv4, stored.IPv6 = stored.IPv4+1, stored.IPv6-1
			}
		}
		passing, set := h.passing[u.Group]
		if !set {
			passing.IPv4 = 10
		}
		if stored.IPv4 < (passing.IPv4+1)/2 || stored.IPv6 < (passing.IPv6+1)/2 || stored == (assign.Count{}) {
			t.Errorf("%s: %v of %v pass there, and it goes for %v that are stored: %+v", name, passing, u.Group, stored, target.Uses)
		}
	}
}

// replaced reports whether a binding names other slices in place of those of a use.
func (h *history) replaced(of assign.Key, u assign.PoolUse) bool {
	return !h.adoptsOther(of) && slices.ContainsFunc(h.in.Bindings, func(b v1alpha1.EndpointBinding) bool {
		return key(b.Namespace+"/"+b.Name) == of && (!slices.Contains(b.Spec.PoolNames(), u.Pool) || b.Spec.Adopt != u.Adopt && h.asked(of.String()+" "+u.Pool))
	})
}

// adoptsOther reports whether a binding is refused because the slices that it adopts are those
// of another pool (205).
func (h *history) adoptsOther(of assign.Key) bool {
	return slices.ContainsFunc(h.plan.Refusals, func(r assign.Refusal) bool { return r.Key == of && r.Reason == v1alpha1.ReasonInvalid })
}

// checkBinding requires what a valid binding asks for.
func (h *history) checkBinding(t *testing.T, b v1alpha1.EndpointBinding, uses map[string]assign.PoolUse) {
	t.Helper()
	if h.adoptsOther(key(b.Namespace + "/" + b.Name)) {
		return
	}
	for _, pool := range b.Spec.PoolNames() {
		name := b.Namespace + "/" + b.Name + " " + pool
		if u, ok := uses[name]; h.asked(name) && (!ok || u.State == assign.Emptied || u.State == assign.Kept) {
			t.Errorf("%s: got %+v, want it published", name, u)
		}
	}
}

// asked reports whether a valid binding asks for a use and the pool allows it.
func (h *history) asked(use string) bool {
	for _, b := range h.in.Bindings {
		for _, p := range b.Spec.Pools {
			for _, s := range h.in.Services {
				if use == b.Namespace+"/"+b.Name+" "+p.Name && s.Key == key(b.Namespace+"/"+b.Name) {
					follows := p.RemoteService == nil || p.RemoteService.Namespace == "far" && b.Namespace == "shop"
					return follows && h.may(p.Name, b.Namespace, s.Ports[0].TargetPort)
				}
			}
		}
	}
	return false
}

// named reports whether a use may end at once: its Service still has a binding, which
// names another pool, or does not allow it.
func (h *history) named(use string) bool {
	return slices.ContainsFunc(h.in.Bindings, func(b v1alpha1.EndpointBinding) bool {
		return slices.ContainsFunc(poolNames, func(pool string) bool { return use == b.Namespace+"/"+b.Name+" "+pool })
	})
}

func TestNoHistoryTakesAwayWhatAValidBindingAsksFor(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*histories) {
		h := newHistory(t, seed)
		h.after(0)
		for range 80 {
			h.step()
			h.check(t)
			if t.Failed() {
				t.Fatalf("seed %d:\n%q", seed, h.log)
			}
		}
	}
}
