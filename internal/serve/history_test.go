package serve_test

import (
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

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

var (
	histories = flag.Int("histories", 40, "how many random histories of documents, restarts, refusals and deaths are tried")
	history1  = flag.Int("history", -1, "the one history that is repeated")
)

// wanted is what the documents say of one Service.
type wanted struct {
	pools []string
	adopt string
}

// history is a random life of documents, Services, nodes and an API server.
type history struct {
	*world
	random *rand.Rand
	// slow draws how long writes take; under mu, because the writers do.
	slow *rand.Rand
	// pools are the documents of pools, and which cluster each of them reads.
	pools map[string]string
	wants map[string]wanted
	named int
	// ports are those of each Service, died since when something refuses or does not.
	ports map[string][]string
	since map[string]time.Time
	// begun is when the program started, changed when a Service changed.
	begun   time.Time
	changed map[string]time.Time
	// refuses are parts of names of slices that are not created.
	refuses []string
	seen    map[string][]string
	// used is since when each endpoint of a Service is usable without a pause.
	used map[string]map[string]time.Time
	// serves is since when each Service has a working endpoint without a pause.
	serves map[string]time.Time
	log    []string
	at     time.Time
}

var clusters = map[string][]string{
	"a": {"10.0.0.1", "10.0.0.2", "10.0.0.3"}, "b": {"10.0.1.1", "10.0.1.2", "10.0.1.3"}, "c": {"10.0.2.1", "10.0.2.2"},
}

var subnets = map[string]string{"a": "10.0.0.0/24", "b": "10.0.1.0/24", "c": "10.0.2.0/24"}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		world: newWorld(t), random: rand.New(rand.NewPCG(seed, 2)), slow: rand.New(rand.NewPCG(seed, 3)), pools: map[string]string{"a": "a", "b": "b", "c": "c"}, wants: map[string]wanted{},
		ports: map[string][]string{}, since: map[string]time.Time{}, changed: map[string]time.Time{}, seen: map[string][]string{}, serves: map[string]time.Time{}, used: map[string]map[string]time.Time{}, at: time.Now(),
	}
	for i := range 4 {
		name := fmt.Sprintf("%s/s%d", []string{"shop", "blog"}[i%2], i)
		h.ports[name] = []string{"http:8080"}
		h.service(name, h.ports[name]...)
		h.wants[name] = wanted{pools: []string{h.one(h.pools)}}
	}
	h.fault = h.refused
	h.apply()
	return h
}

// one draws a key of a map.
func (h *history) one(of map[string]string) string {
	names := slices.Sorted(maps.Keys(of))
	return names[h.random.IntN(len(names))]
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf("%v ", time.Since(h.at).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// apply puts the documents in effect.
func (h *history) apply() {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(h.pools)) {
		cluster := h.pools[name]
		h.pool(name, clusters[cluster]...)
		texts = append(texts, poolOf(name, subnets[cluster]))
	}
	for _, name := range slices.Sorted(maps.Keys(h.wants)) {
		want := h.wants[name]
		var more []string
		if want.adopt != "" {
			more = append(more, "adopt: "+want.adopt)
		}
		texts = append(texts, bindingOf(name, strings.Join(want.pools, ", "), more...))
	}
	h.documents(texts...)
}

// refused is what becomes of a write: creates may be refused while updates pass.
func (h *history) refused(of plan.Target, w plan.Write) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	takes := time.Duration(h.slow.IntN(300)) * time.Millisecond
	if w.Operation == plan.Create && slices.ContainsFunc(h.refuses, func(part string) bool { return strings.Contains(of.Namespace+"/"+w.Slice.Name+".", part) }) {
		return takes, errors.New("exceeded quota")
	}
	return takes, nil
}

// rename gives a pool another name, in its document and in all bindings.
func (h *history) rename(from string) {
	h.named++
	to := fmt.Sprintf("%s%d", strings.TrimRight(from, "0123456789"), h.named)
	h.pools[to] = h.pools[from]
	delete(h.pools, from)
	for name, want := range h.wants {
		want.pools = slices.Clone(want.pools)
		for i := range want.pools {
			if want.pools[i] == from {
				want.pools[i] = to
			}
		}
		h.wants[name] = h.noAdopt(name, want)
	}
	h.note("pool %s is renamed to %s", from, to)
}

// noAdopt takes adopt out where slices may hold the endpoints of another pool: that is
// refused.
func (h *history) noAdopt(_ string, want wanted) wanted {
	want.adopt = ""
	return want
}

// step changes one thing, or many at once.
func (h *history) step() {
	name := slices.Sorted(maps.Keys(h.wants))[h.random.IntN(len(h.wants))]
	switch h.random.IntN(16) {
	case 0, 1, 2:
		h.wants[name] = wanted{pools: h.some()}
		h.note("%s wants %v", name, h.wants[name].pools)
	case 3:
		pools := h.some()
		for other := range h.wants {
			h.wants[other] = wanted{pools: pools}
		}
		h.note("all want %v", pools)
	case 4:
		h.rename(h.one(h.pools))
	case 5:
		if want := h.wants[name]; len(want.pools) == 1 {
			h.named++
			want.adopt = []string{"", fmt.Sprintf("%s-remote%d", strings.ReplaceAll(name, "/", "-"), h.named)}[h.random.IntN(2)]
			h.wants[name] = want
			h.note("%s adopts %q", name, want.adopt)
		}
	case 6, 7:
		h.ports[name] = [][]string{{"http:8080"}, {"web:8080"}, {"http:9090"}, {"http:8080", "admin:9090"}, {"http:9090", "admin:8080"}, {"web:8080", "admin:9090"}}[h.random.IntN(6)]
		h.service(name, h.ports[name]...)
		h.changed[name] = time.Now()
		h.note("%s has the ports %v", name, h.ports[name])
	case 8:
		h.locked(func() {
			h.refuses = [][]string{{"shop/"}, {"blog/"}, {"." + h.one(h.pools) + "."}, {"/"}}[h.random.IntN(4)]
		})
		h.note("creates of %q are refused", h.refuses)
	case 9:
		h.locked(func() { h.refuses = nil })
		h.note("no create is refused")
	case 10, 11:
		h.hurt(true)
	case 12:
		h.hurt(false)
	case 13:
		h.note("restart")
		h.stop()
		if h.random.IntN(2) == 0 { // something changes while no process runs
			h.wants[name] = wanted{pools: h.some()}
			h.note("%s wants %v meanwhile", name, h.wants[name].pools)
			h.apply()
		}
		h.start()
		h.begun = time.Now()
		return
	case 14:
		h.note("%s is made anew", name)
		h.changed[name] = time.Now()
		h.seen[name] = nil
		h.remake(name)
		return
	case 15:
		h.note("time")
	}
	h.apply()
}

// some draws one or two pools.
func (h *history) some() []string {
	pools := []string{h.one(h.pools)}
	if other := h.one(h.pools); other != pools[0] && h.random.IntN(3) == 0 {
		pools = append(pools, other)
	}
	return pools
}

// hurt lets an address or one of its ports refuse, or answer again.
func (h *history) hurt(dies bool) {
	cluster := clusters[h.one(subnets)]
	what := cluster[h.random.IntN(len(cluster))] + []string{"", ":8080", ":9090"}[h.random.IntN(3)]
	h.locked(func() {
		if h.dead[what] != dies {
			for _, port := range []string{"8080", "9090"} {
				addr, _, _ := strings.Cut(what, ":")
				h.since[addr+":"+port] = time.Now()
			}
		}
		if dies {
			h.dead[what] = true
		} else {
			clear(h.dead)
			for addr := range h.since {
				h.since[addr] = time.Now()
			}
		}
	})
	h.note("%s refuses %v", what, dies)
}

// look holds what kube-proxy would use against what works. The first sentence: nothing takes
// the last working endpoint of a Service away. The second: what refuses is gone within FALL
// intervals and a write, while something that works is published.
func (h *history) look() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.wants {
		usable := h.usableOf(name)
		working := slices.DeleteFunc(slices.Clone(usable), func(at string) bool { return !h.works(netip.MustParseAddrPort(at)) })
		still := slices.DeleteFunc(slices.Clone(h.seen[name]), func(at string) bool { return !h.works(netip.MustParseAddrPort(at)) })
		used := make(map[string]time.Time)
		for _, at := range usable {
			used[at] = time.Now()
			if since, before := h.used[name][at]; before {
				used[at] = since
			}
		}
		h.used[name] = used
		recent := time.Since(h.changed[name]) < 3*time.Second
		if len(working) == 0 && len(still) > 0 && !recent {
			return fmt.Sprintf("%s had %v, of which %v work, and has %v", name, h.seen[name], still, usable)
		}
		if len(working) > 0 || recent {
			h.seen[name] = working
		}
		if len(working) == 0 {
			delete(h.serves, name)
		} else if _, before := h.serves[name]; !before {
			h.serves[name] = time.Now()
		}
		if len(working) == 0 || time.Since(h.serves[name]) < 10*time.Second || time.Since(h.begun) < 25*time.Second || time.Since(h.changed[name]) < 25*time.Second {
			continue
		}
		long := slices.ContainsFunc(working, func(at string) bool { return time.Since(h.since[at]) > 25*time.Second })
		for _, at := range usable {
			if !h.works(netip.MustParseAddrPort(at)) && time.Since(h.since[at]) > 25*time.Second && time.Since(used[at]) > 10*time.Second && long && h.provable(name) && h.described(name, at) {
				return fmt.Sprintf("%s has %s, which refuses for %v, beside %v", name, at, time.Since(h.since[at]), working)
			}
		}
	}
	return ""
}

// provable reports whether the endpoints of the Service are checked on the port that clients
// use: of two ports of a Service the program does not know which to check, so that its wish is
// not granted, and what it had stays with the check that it had.
func (h *history) provable(name string) bool { return len(h.ports[name]) == 1 }

// described reports whether a document describes the pool of a slice that has the endpoint.
// "What no document speaks of any more stays, unchecked" (204).
func (h *history) described(name, at string) bool {
	for _, s := range h.slices {
		if s.namespace+"/"+s.service != name || h.pools[s.pool] == "" {
			continue
		}
		if slices.ContainsFunc(s.Endpoints, func(m inventory.Member) bool {
			return m.State == inventory.StateReady && netip.MustParseAddrPort(at).Addr() == m.Address
		}) {
			return true
		}
	}
	return false
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

// settle ends all trouble, and returns what is wrong after a while.
func (h *history) settle() string {
	h.note("calm")
	h.locked(func() {
		h.refuses = nil
		clear(h.dead)
		for addr := range h.since {
			h.since[addr] = time.Now()
		}
	})
	for name := range h.wants {
		h.ports[name] = []string{"http:8080"}
		h.service(name, "http:8080")
		h.changed[name] = time.Now()
	}
	h.apply()
	if problem := h.run(5 * time.Minute); problem != "" {
		return problem
	}
	for name, want := range h.wants {
		var all []string
		for _, pool := range want.pools {
			for _, addr := range clusters[h.pools[pool]] {
				all = append(all, addr+":8080")
			}
		}
		slices.Sort(all)
		if got := h.usable(name); !slices.Equal(got, slices.Compact(all)) {
			return fmt.Sprintf("in the end %s has %v, want %v", name, got, all)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, s := range h.slices {
		want, ok := h.wants[s.namespace+"/"+s.service]
		is := func(pool string) bool { return s.Name == s.service+"."+pool }
		if ok && len(s.Endpoints) > 0 && s.Name != want.adopt && !slices.ContainsFunc(want.pools, is) {
			return fmt.Sprintf("in the end %s still has %v", key, s.Endpoints)
		}
	}
	return ""
}

// Contracts 50, 62, 200 to 208: whatever happens to documents, Services, nodes and the API
// server, and in which order.
func TestContract200NoHistoryTakesTheLastWorkingEndpointOrKeepsADeadOne(t *testing.T) {
	t.Parallel()
	first, last := 0, *histories
	if *history1 >= 0 {
		first, last = *history1, *history1+1
	}
	for seed := first; seed < last; seed++ {
		bubble.Test(t, func(t *testing.T) {
			h := newHistory(t, uint64(seed))
			h.start()
			h.begun = time.Now()
			problem := h.run(30 * time.Second)
			for i := 0; i < 25 && problem == ""; i++ {
				h.step()
				problem = h.run(time.Duration(h.random.IntN(40_000)) * time.Millisecond)
			}
			if problem == "" {
				problem = h.settle()
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
