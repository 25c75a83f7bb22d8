package assign

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// Resolve says who is served by what. Its order is the same in every process: targets
// that are served already come first, then by namespace and name, so that a limit that
// is reached takes nothing from anybody.
func Resolve(in Input, memory Memory) (Plan, Memory) {
	wanted, notices, read := requests(in, memory.read)
	r := newRules(&in)
	r.before = r.recovered(memory, wanted)
	maps.DeleteFunc(r.before, func(key Key, _ target) bool {
		_, asked := wanted[key]
		return !asked && in.complete(key.Namespace) && r.services[key] == nil // deleted: its slices are left to the garbage collector
	})
	r.after, r.adopted = make(map[Key]target, len(r.before)), adopted(r.before, wanted)
	out := Plan{Notices: notices}
	for _, key := range r.order(wanted) {
		t := r.before[key]
		req, asked := wanted[key]
		var w wish
		if asked {
			w = r.wish(key, req, t.uses)
			t.refused = len(w.refusals) > 0
			if req.mistakes == "" {
				t.dryRun = req.spec.Mode == v1alpha1.BindingDryRun
			}
		}
		t.uses = r.life(key, t.uses, asked, w)
		r.quota.keep(key, t)
		t.uses = out.lose(key, t.uses)
		out.Refusals = append(out.Refusals, w.refusals...)
		if len(t.uses) > 0 {
			r.after[key] = t
			out.Notices = append(out.Notices, r.traits(key, t.uses)...)
		}
	}
	l := leave{in: &in, pools: poolsInUse(&in, memory, r.after), rules: r, targets: r.after}
	l.all(&out)
	slices.SortFunc(out.Targets, func(a, b Assignment) int { return a.Key.Compare(b.Key) })
	slices.SortStableFunc(out.Refusals, func(a, b Refusal) int { return a.Key.Compare(b.Key) })
	slices.SortStableFunc(out.Notices, func(a, b Notice) int { return a.Key.Compare(b.Key) })
	return out, Memory{targets: r.after, pools: l.pools, read: read}
}

// adopted are the namespaces in which a name is adopted, or asked for.
func adopted(before map[Key]target, wanted map[Key]request) map[string]bool {
	in := map[string]bool{}
	for key, t := range before {
		if slices.ContainsFunc(t.uses, func(u use) bool { return u.Adopt != "" }) {
			in[key.Namespace] = true
		}
	}
	for key, req := range wanted {
		if req.spec.Adopt != "" {
			in[key.Namespace] = true
		}
	}
	return in
}

// order lists the keys of targets that have something first, each part sorted: of these the ones that
// ask for another check come last, so that it counts beside what the others have.
func (r *rules) order(wanted map[Key]request) []Key {
	more := make(map[Key]int)
	r.quota.off = true
	for key, t := range r.before {
		isNew := func(u Use) bool { return !slices.ContainsFunc(t.uses, func(o use) bool { return o.Group == u.Group }) }
		if req, asked := wanted[key]; asked && slices.ContainsFunc(r.wish(key, req, t.uses).uses, isNew) {
			more[key] = 1
		}
	}
	r.quota.off = false
	keys := slices.SortedFunc(maps.Keys(r.before), func(a, b Key) int { return cmp.Or(more[a]-more[b], a.Compare(b)) })
	others := slices.DeleteFunc(slices.SortedFunc(maps.Keys(wanted), Key.Compare), func(key Key) bool {
		_, has := r.before[key]
		return has
	})
	return append(keys, others...)
}

// life takes a wish in: what is wanted comes or stays, what is not wanted gets its end. A
// use is what owns slices of a name.
func (r *rules) life(key Key, uses []use, asked bool, w wish) []use {
	var after []use
	is := func(want Use) func(use) bool {
		return func(u use) bool { return u.SliceName(key) == want.SliceName(key) }
	}
	for _, want := range w.uses {
		i := slices.IndexFunc(uses, is(want))
		if i < 0 {
			after = append(after, use{Use: want, began: r.in.Now, uncounted: r.in.Nodes[want.Pool] == 0})
			continue
		}
		changed := r.change(key, uses[i], want)
		changed.began, changed.left = uses[i].began, time.Time{}
		changed.uncounted = uses[i].uncounted && r.in.Nodes[want.Pool] == 0
		after = append(after, changed)
	}
	ports := r.offered(key)
	if len(w.uses) > 0 {
		ports, _ = r.named(key, &w.uses[0])
	}
	for _, u := range uses {
		if !slices.ContainsFunc(w.uses, func(want Use) bool { return is(want)(u) }) {
			u.next = nil
			if !u.PortFromService {
				u.Ports = renamed(r.stored(key, &u.Use), ports)
			}
			why := r.endOf(key, u, asked, w)
			if why == replaced && u.left.IsZero() && !u.recovered {
				u.left = r.in.Now
			}
			after = append(after, u.ended(why, r.in.Now))
		}
	}
	return after
}

// change makes a use what is wanted, as soon as the group of that may take over. Until then
// the old one stays, unless the pool forbids it, under the names that the Service has for
// its ports. Where the Service has no such ports, the old one is of no use.
func (r *rules) change(key Key, u use, want Use) use {
	if u.Group == want.Group && u.PortFromService == want.PortFromService && slices.Equal(u.Ports, want.Ports) {
		return use{Use: want} // so it is nearly always
	}
	if wanted, _ := r.named(key, &want); !u.PortFromService {
		u.Ports = renamed(r.stored(key, &u.Use), wanted)
	}
	same := r.samePorts(key, &u.Use, &want)
	_, useful := r.named(key, &u.Use)
	takes, waits := r.takesOver(key, u, &want)
	switch {
	case same && (u.Group == want.Group || u.recovered), u.emptied, !useful, takes:
		return use{Use: want}
	case r.forbidden(key, u):
		u = u.ended(revoked, r.in.Now)
	default:
		u = u.ended("", time.Time{})
	}
	u.next, u.waits = &want, waits
	return u
}

// endOf says why a use is not wanted; empty where it stays although nothing asks for it.
func (r *rules) endOf(key Key, u use, asked bool, w wish) end {
	refused := slices.ContainsFunc(w.refusals, func(f Refusal) bool { return f.Pool == u.Pool })
	switch {
	case r.forbidden(key, u):
		return revoked
	case asked && !w.broken && !refused:
		return replaced // whether or not the pool is still there
	case r.broken(u.Pool):
		return broken
	case r.pools[u.Pool] == nil, !asked:
		return vanished
	}
	return "" // the wish changed to one that is not granted: what it was stays
}

// forbidden reports whether a present pool does not allow a use any more. Labels of a
// namespace that could not be read forbid nothing.
func (r *rules) forbidden(key Key, u use) bool {
	pool := r.pools[u.Pool]
	if pool == nil || r.in.Variables {
		return false
	}
	_, known := r.in.Namespaces[key.Namespace]
	bySelector := slices.ContainsFunc(pool.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil })
	if bySelector && !known && !r.in.Complete {
		return false
	}
	allowed := documents.Allowed(&pool.Spec, key.Namespace, r.in.Namespaces[key.Namespace])
	_, forbidden := forbids(allowed, u.Use)
	return forbidden || !follows(allowed, u.Remote)
}

// ended gives a use an end, from now on unless it has it already. What drained for another end, or
// is to stay now, is ready again.
func (u use) ended(e end, now time.Time) use {
	if u.end != e {
		u.end, u.since, u.drains = e, now, time.Time{}
	}
	return u
}

// poolsInUse are the pools of the input, and the last versions of vanished ones that
// are in use.
func poolsInUse(in *Input, memory Memory, targets map[Key]target) map[string]v1alpha1.EndpointPool {
	used := make(map[string]bool)
	for _, p := range in.Pools {
		used[p.Name] = true
	}
	for _, t := range targets {
		for _, u := range t.uses {
			used[u.Pool] = true
		}
	}
	pools := knownPools(in, memory)
	maps.DeleteFunc(pools, func(name string, _ v1alpha1.EndpointPool) bool { return !used[name] })
	return pools
}

// knownPools are all pools that something is known of: a version that was in effect counts
// before one that can only be checked.
func knownPools(in *Input, memory Memory) map[string]v1alpha1.EndpointPool {
	pools := make(map[string]v1alpha1.EndpointPool, len(in.Pools)+len(memory.pools))
	maps.Copy(pools, memory.pools)
	for _, p := range in.OnlyChecked {
		if before, known := pools[p.Name]; !known || before.Spec.Source == (v1alpha1.PoolSource{}) {
			pools[p.Name] = p
		}
	}
	for _, p := range in.Pools {
		pools[p.Name] = p
	}
	return pools
}

// lose tells of the uses of pools of which nothing is known: nobody can check them. They stay
// as they are, unless others replace them.
func (p *Plan) lose(key Key, uses []use) []use {
	return slices.DeleteFunc(uses, func(u use) bool {
		if u.lost > 0 {
			p.Lost = append(p.Lost, PublishedSlice{Key: key, Pool: u.Pool, Slice: u.SliceName(key), Ports: u.Ports, Endpoints: u.lost})
		}
		return u.unknown && u.end != replaced
	})
}
