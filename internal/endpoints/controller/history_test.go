package controller_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

var (
	histories = flag.Int("histories", 12, "how many random histories of documents, restarts, refusals and deaths are tried")
	history0  = flag.Int("first", 0, "the first of them")
	history1  = flag.Int("history", -1, "the one history that is repeated")
)

// remote is what a pool reads.
type remote struct {
	subnets, nodes []string
}

// Halves and With are controllertest.Divisible.
func (r remote) Halves() (one, other remote) {
	one.subnets, other.subnets = r.subnets, r.subnets
	for i, node := range r.nodes {
		half := []*remote{&one, &other}[i%2]
		half.nodes = append(half.nodes, node)
	}
	return one, other
}

func (r remote) With(other remote) remote {
	return remote{r.subnets, slices.Concat(r.nodes, other.nodes)}
}

// What an API server does to the slices of a namespace or a pool.
const (
	noCreates   = "creates are refused"
	noAdditions = "additions are refused"
	noWrites    = "writes are refused"
	aWebhook    = "a webhook leaves the last endpoint out"
)

// trouble is what an API server does, and when that ended: zero while it lasts.
type trouble struct {
	kind, namespace, pool string
	ended                 time.Time
}

// history is a random life of documents, Services, nodes and an API server.
type history struct {
	*world
	controllertest.Documents[remote]

	random *rand.Rand
	// slow draws how long writes take; under mu, because the writers do.
	slow *rand.Rand
	// empty are pools whose inventory is empty, filled those in which it was, and since when.
	empty  map[string]bool
	filled map[string]time.Time
	// all are the addresses of all nodes.
	all []string
	// ports are those of each Service, changed is when these changed.
	ports    map[string][]string
	changed  map[string]time.Time
	troubles []trouble
	// used are the endpoints that were used at the last look.
	used   map[string]map[netip.AddrPort]bool
	oracle controllertest.Oracle
	// removed is when a pool was removed last.
	removed time.Time
	log     []string
	at      time.Time
}

// newHistory is a world of three clusters. In every third one they have both families, in every
// twentieth one there are dozens of Services.
func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		world: newWorld(t), Documents: controllertest.NewDocuments[remote](), random: rand.New(rand.NewPCG(seed, 2)), slow: rand.New(rand.NewPCG(seed, 3)),
		empty: map[string]bool{}, filled: map[string]time.Time{}, used: map[string]map[netip.AddrPort]bool{}, ports: map[string][]string{}, changed: map[string]time.Time{},
		oracle: controllertest.Oracle{Joins: 15 * time.Second, Leaves: 3*worldInterval + 2*time.Second}, at: time.Now(),
	}
	for i, name := range []string{"a", "b", "c"} {
		one := remote{subnets: []string{fmt.Sprintf("10.0.%d.0/24", i)}}
		for n := range 3 {
			one.nodes = append(one.nodes, fmt.Sprintf("10.0.%d.%d", i, n+1))
		}
		if seed%3 == 0 {
			one.subnets = append(one.subnets, fmt.Sprintf("fd00:%d::/64", i))
			for n := range 3 {
				one.nodes = append(one.nodes, fmt.Sprintf("fd00:%d::%d", i, n+1))
			}
		}
		h.Pools[name], h.all = one, append(h.all, one.nodes...)
	}
	services := 4
	if seed%20 == 19 {
		services = 24
	}
	for i := range services {
		name := fmt.Sprintf("%s/s%d", []string{"shop", "blog"}[i%2], i)
		h.ports[name] = []string{"http:8080"}
		h.service(name, h.ports[name]...)
		h.Bindings[name] = controllertest.Binding{Pools: []string{one(h, h.Pools)}}
	}
	h.fault, h.alter = h.refused, h.webhook
	h.apply()
	return h
}

// one draws a key of a map.
func one[V any](h *history, of map[string]V) string {
	names := slices.Sorted(maps.Keys(of))
	return names[h.random.IntN(len(names))]
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf("%v ", time.Since(h.at).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// apply puts the documents in effect.
func (h *history) apply() {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(h.Pools)) {
		p := h.Pools[name]
		if h.pool(name, p.nodes...); h.empty[name] {
			h.pool(name)
		}
		texts = append(texts, poolOf(name, p.subnets...))
	}
	for _, name := range slices.Sorted(maps.Keys(h.Bindings)) {
		want := h.Bindings[name]
		var more []string
		if want.Adopt != "" {
			more = append(more, "adopt: "+want.Adopt)
		}
		texts = append(texts, bindingOf(name, strings.Join(want.Pools, ", "), more...))
	}
	h.documents(texts...)
}

// concerns reports whether a trouble is one of the slices of a target.
func (t trouble) concerns(namespace, pool string) bool {
	return (t.namespace == "" || t.namespace == namespace) && (t.pool == "" || t.pool == pool)
}

// now returns whether a trouble of that kind is in force for a target. The lock is held.
func (h *history) now(kind, namespace, pool string) bool {
	return slices.ContainsFunc(h.troubles, func(t trouble) bool {
		return t.kind == kind && t.ended.IsZero() && t.concerns(namespace, pool)
	})
}

// refused is what becomes of a write: creates may be refused while updates pass.
func (h *history) refused(of publish.Target, w publish.Write) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	takes := time.Duration(h.slow.IntN(300)) * time.Millisecond
	switch {
	case h.now(noWrites, of.Namespace, of.Pool):
		return takes, errors.New("not now")
	case h.now(noAdditions, of.Namespace, of.Pool) && (w.Operation == publish.Create || len(w.Added) > 0):
		return takes, publish.Refused(errors.New("a policy"))
	case h.now(noCreates, of.Namespace, of.Pool) && w.Operation == publish.Create:
		return takes, errors.New("exceeded quota")
	}
	return takes, nil
}

// webhook leaves the last endpoint of a slice out.
func (h *history) webhook(of publish.Target, s *publish.Slice) bool {
	if len(s.Endpoints) < 2 || !h.now(aWebhook, of.Namespace, of.Pool) {
		return false
	}
	s.Endpoints = slices.Clone(s.Endpoints[:len(s.Endpoints)-1])
	return true
}

// begins lets the API server or a webhook be in the way, or ends all of that.
func (h *history) begins() {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := trouble{kind: []string{noCreates, noCreates, noAdditions, noWrites, aWebhook}[h.random.IntN(5)]}
	switch h.random.IntN(4) {
	case 0:
		t.namespace = []string{"shop", "blog"}[h.random.IntN(2)]
	case 1, 2:
		t.pool = one(h, h.Pools)
	}
	h.troubles = append(h.troubles, t)
	h.note("%s in namespace %q, of pool %q", t.kind, t.namespace, t.pool)
}

func (h *history) ends() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.troubles {
		if h.troubles[i].ended.IsZero() {
			h.troubles[i].ended = time.Now()
		}
	}
	h.note("all can be written")
}

// step changes one thing, or many at once.
func (h *history) step() {
	name := one(h, h.ports)
	want, bound := h.Bindings[name]
	switch n := h.random.IntN(21); {
	case n < 3 && bound:
		h.Bindings[name] = controllertest.Binding{Pools: h.some()}
		h.note("%s wants %v", name, h.Bindings[name].Pools)
	case n == 3:
		pools := h.some()
		for other := range h.Bindings {
			h.Bindings[other] = controllertest.Binding{Pools: pools}
		}
		h.note("all want %v", pools)
	case n == 4:
		h.note("%s", h.Rename(one(h, h.Pools)))
	case n == 5 && len(want.Pools) == 1:
		want.Adopt = []string{"", h.Fresh(strings.ReplaceAll(name, "/", "-") + "-remote")}[h.random.IntN(2)]
		h.Bindings[name] = want
		h.note("%s adopts %q", name, want.Adopt)
	case n == 6, n == 7:
		h.ports[name] = [][]string{{"http:8080"}, {"web:8080"}, {"http:9090"}, {"http:8080", "admin:9090"}, {"http:9090", "admin:8080"}, {"web:8080", "admin:9090"}}[h.random.IntN(6)]
		h.service(name, h.ports[name]...)
		h.changed[name] = time.Now()
		h.note("%s has the ports %v", name, h.ports[name])
	case n == 8, n == 9:
		h.begins()
	case n == 10:
		h.ends()
	case n == 11, n == 12:
		h.hurt()
	case n == 13:
		h.heal()
	case n == 14, n == 15:
		h.note("restart")
		h.stop()
		if h.random.IntN(2) == 0 && bound { // something changes while no process runs
			h.Bindings[name] = controllertest.Binding{Pools: h.some()}
			h.note("%s wants %v meanwhile", name, h.Bindings[name].Pools)
			h.apply()
		}
		h.start()
		h.oracle.Begin()
		return
	case n == 16:
		h.note("%s is made anew", name)
		h.changed[name] = time.Now()
		h.remake(name)
		return
	case n == 17:
		h.note("%s", h.Split(one(h, h.Pools)))
	case n == 18:
		h.note("%s", h.Remove(one(h, h.Pools)))
		h.removed = time.Now()
	case n == 19:
		pool := one(h, h.Pools)
		h.empty[pool], h.filled[pool] = !h.empty[pool], time.Now()
		h.note("the inventory of %s is empty: %v", pool, h.empty[pool])
	default:
		h.note("time")
	}
	h.apply()
}

// some draws one or two pools.
func (h *history) some() []string {
	pools := []string{one(h, h.Pools)}
	if other := one(h, h.Pools); other != pools[0] && h.random.IntN(3) == 0 {
		pools = append(pools, other)
	}
	return pools
}

// hurt lets an address or one of its ports refuse.
func (h *history) hurt() {
	what := h.all[h.random.IntN(len(h.all))]
	if port := []uint16{0, 8080, 9090}[h.random.IntN(3)]; port > 0 {
		what = at(what, port).String()
	}
	h.locked(func() { h.dead[what] = true })
	h.note("%s refuses", what)
}

func (h *history) heal() {
	h.locked(func() { clear(h.dead) })
	h.note("nothing refuses")
}

// run lets time pass, and looks on.
func (h *history) run(d time.Duration) string {
	for end := time.Now().Add(d); time.Now().Before(end); {
		during(250 * time.Millisecond)
		if problem := h.look(); problem != "" {
			return problem
		}
	}
	return ""
}

// still lets the world be as it is, and returns what is written in the end. While something is
// refused or stored otherwise, it is sent again and again (23, 171), and what was removed is
// released some time (60).
func (h *history) still() string {
	h.mu.Lock()
	troubled := slices.ContainsFunc(h.troubles, func(t trouble) bool { return t.ended.IsZero() || time.Since(t.ended) < delayed(t.kind) })
	h.mu.Unlock()
	if troubled || len(h.Gone)+len(h.Left) > 0 {
		return ""
	}
	h.note("the world stands still")
	if problem := h.run(6 * time.Minute); problem != "" { // drains, hand-overs and ten rejected inventories end
		return problem
	}
	before := h.written()
	problem := h.run(time.Minute)
	if all := h.written(); problem == "" && len(all) > len(before) {
		problem = fmt.Sprintf("contract 22: after six minutes without any change there are the writes %v within a minute", all[len(before):])
	}
	return problem
}

// written are the writes so far.
func (h *history) written() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.writes)
}

// settle ends all trouble, and returns what is wrong after a while. What was stored otherwise is
// sent again after 5 min at the latest (171).
func (h *history) settle() string {
	h.note("calm")
	h.Back()
	h.ends()
	h.heal()
	h.Whole() // half a pool may have too few endpoints to take over (201)
	for pool := range h.empty {
		h.empty[pool], h.filled[pool] = false, time.Now()
	}
	for name := range h.Bindings {
		h.ports[name] = []string{"http:8080"}
		h.service(name, "http:8080")
		h.changed[name] = time.Now()
	}
	h.apply()
	if problem := h.run(6 * time.Minute); problem != "" {
		return problem
	}
	few := h.tooFew()
	for name, want := range h.Bindings {
		var all []string
		for _, pool := range want.Pools {
			for _, addr := range h.Pools[pool].nodes {
				all = append(all, at(addr, 8080).String())
			}
		}
		slices.Sort(all)
		if got := h.usable(name); !slices.Equal(got, slices.Compact(all)) && !few[name] {
			return fmt.Sprintf("in the end %s has %v, want %v", name, got, all)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, s := range h.slices {
		want, ok := h.Bindings[s.namespace+"/"+s.service]
		is := func(pool string) bool { return s.pool == pool }
		if ok && len(s.Endpoints) > 0 && !few[s.namespace+"/"+s.service] && (want.Adopt == "" || !strings.HasPrefix(s.Name, want.Adopt)) && !slices.ContainsFunc(want.Pools, is) {
			return fmt.Sprintf("in the end %s still has %v", key, s.Endpoints)
		}
	}
	return ""
}

// tooFew are the Services in which pools that go have more than twice as many ready endpoints of a
// family as what comes in their place: they stay (201). What several pools have counts once.
func (h *history) tooFew() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	few := make(map[string]bool)
	for name, its := range h.byService() {
		for _, family := range []publish.Family{publish.IPv4, publish.IPv6} {
			comes, goes := make(map[netip.AddrPort]bool), make(map[netip.AddrPort]bool)
			for _, s := range its {
				into := goes
				if slices.Contains(h.Bindings[name].Pools, s.pool) {
					into = comes
				}
				for _, e := range s.Endpoints {
					if s.Family == family && e.State == inventory.StateReady {
						into[netip.AddrPortFrom(e.Address, s.Ports[0].Number)] = true
					}
				}
			}
			few[name] = few[name] || len(goes) > 2*len(comes)
		}
	}
	return few
}

// Contracts 50, 62, 200 to 208: whatever happens to documents, Services, nodes and the API
// server, and in which order.
func TestContract200NoHistoryTakesTheLastWorkingEndpointOrKeepsADeadOne(t *testing.T) {
	t.Parallel()
	first, last := *history0, *history0+*histories
	if *history1 >= 0 {
		first, last = *history1, *history1+1
	}
	for seed := first; seed < last; seed++ {
		bubble.Test(t, func(t *testing.T) {
			h := newHistory(t, uint64(seed))
			h.start()
			problem := h.run(30 * time.Second)
			for i := 0; i < 25 && problem == ""; i++ {
				h.step()
				if problem = h.run(time.Duration(h.random.IntN(40_000)) * time.Millisecond); problem == "" && i == 12 {
					problem = h.still()
				}
			}
			if problem == "" {
				problem = cmp.Or(h.settle(), h.still())
			}
			if h.stop(); problem != "" {
				t.Errorf("history %d (-history %d repeats it): %s\n%s\n%s\nevents %q", seed, seed, problem, strings.Join(h.log, "\n"), h.shown(), h.events)
			}
		})
		if t.Failed() {
			return
		}
	}
}
