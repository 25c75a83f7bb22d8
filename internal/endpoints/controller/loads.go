package controller

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// reload is how long a store that could not be read waits until it is tried again: what is
// published is not checked before. patient is how long checks wait for stores that are being read.
const reload, patient = time.Second, 10 * time.Second

// first tells why the slices of variables cannot be read, and that they can: nothing else
// happens before.
func (t *teller) first(set documents.Set, err error) {
	o := writer.Outcome{At: time.Now(), Loaded: true, LoadErr: err}
	var story explain.Story
	t.unread, story = t.unread.Tell(o)
	for _, b := range set.Bindings() {
		key := assign.Key{Namespace: b.Namespace, Service: b.Name}
		t.opts.Observe.OfTarget(key, t.opts.DryRun)(o)
		say(t.log.With(keyArgs(key)...), naming.Names{}, story)
		for _, notice := range story.Notices {
			t.opts.Announce(key, notice)
		}
	}
}

// load reads one of the stores, and reports whether that succeeded.
func (t *targets) load(ctx context.Context, f *filler, i int) bool {
	state, err := writer.Load(ctx, f.fills[i].store)
	t.lists.share(state.Slices)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unread = err; err == nil {
		t.server.once.read(f.fills[i].of, &state)
		f.states[i] = &state
		f.loads--
	}
	t.server.signal()
	return err == nil
}

// known reports whether every store was read.
func (f *filler) known() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads == 0
}

// unreadable is why a store could not be read, nil where that is not so.
func (f *filler) unreadable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unread
}

// beginning is what a group starts from.
type beginning struct {
	// members are what is published by its targets, or by those that will take it, and past is
	// what else is known of them.
	members []inventory.Member
	past    map[netip.Addr]guard.Past
	// without are the targets whose stores cannot be opened or read.
	without []assign.Key
}

// beginning returns what a group starts from. It is known when all stores were read that can
// be, and one at least: a group that began without what a target publishes would take it away.
// It waits for stores that are not read yet, but not for ever: a Service that changes all the time is
// read again with each plan.
func (t *targets) beginning(p assign.Plan, g assign.Group, waits bool) (from beginning, known bool) {
	read := 0
	from.past = make(map[netip.Addr]guard.Past)
	for _, each := range p.Targets {
		for i, u := range each.Uses {
			if u.Group != g && (u.Next == nil || u.Next.Group != g) {
				continue
			}
			f := t.running[each.Key]
			loaded := f != nil && f.known()
			switch {
			case t.unwritable(each.Key) != nil, !loaded && !waits:
				from.without = append(from.without, each.Key)
				continue
			case !loaded:
				return beginning{}, false
			}
			read++
			before := t.server.groups.running[u.Group]
			if before != nil && before.verdict.Load() != nil && !slices.Contains(before.without, each.Key) {
				from.members = merged(from.members, before.verdict.Load().Members)
				maps.Copy(from.past, before.verdict.Load().Past())
			} else { // as they are now: what was read at first may be long ago
				now, _ := t.state(each.Key, f.fills[i].of.SliceName)
				from.take(now.Slices)
			}
		}
	}
	return from, len(from.without) == 0 || read > 0
}

// take adds what slices publish.
func (b *beginning) take(own []publish.Slice) {
	b.members = merged(b.members, publish.Published(publish.State{Slices: own}))
	for _, s := range own {
		for _, m := range s.Endpoints {
			if was := b.past[m.Address]; m.State == inventory.StateDraining && s.Changed.After(was.Drains) {
				was.Drains = s.Changed
				b.past[m.Address] = was
			}
		}
	}
}

// late reports whether a store of one of these targets could be read after all.
func (t *targets) late(without []assign.Key) bool {
	return slices.ContainsFunc(without, func(key assign.Key) bool { return t.running[key] != nil && t.running[key].known() })
}

// lacks reports whether a group does not know what the slices of a target publish: it began without
// them, or the target came later. Before it has begun anew, nothing that it decided may reach them.
func (g *groups) lacks(key assign.Key, f *filler) bool {
	for i, each := range f.fills {
		running := g.running[each.group]
		if running != nil && f.seen[i].Load() == nil && !slices.Contains(running.without, key) && !running.knows(f.states[i].Slices) {
			running.without = append(running.without, key)
			g.server.signal()
		}
	}
	for _, running := range g.running {
		if slices.Contains(running.without, key) {
			return true
		}
	}
	return false
}

// knows reports whether the group decides about all that slices publish.
func (g *group) knows(own []publish.Slice) bool {
	known := g.members
	if v := g.verdict.Load(); v != nil {
		known = v.Members
	}
	return !slices.ContainsFunc(publish.Published(publish.State{Slices: own}), func(m inventory.Member) bool {
		_, found := slices.BinarySearchFunc(known, m, inventory.CompareMembers)
		return !found
	})
}

// merged returns what either of two targets publishes. Mostly that is the same, and a
// list of what all targets publish would be long.
func merged(all, more []inventory.Member) []inventory.Member {
	if slices.Equal(all, more) {
		return all
	}
	return slices.Clone(publish.Published(publish.State{Slices: []publish.Slice{{Endpoints: all}, {Endpoints: more}}}))
}

// lists are the endpoint lists of slices that were just read. After a start the slices of
// many Services hold the same endpoints, and then share one list.
type lists struct {
	mu   sync.Mutex
	seen [][]inventory.Member
}

// share makes the slices hold lists that were seen before, where these are equal. The
// caller owns the slices.
func (l *lists) share(own []publish.Slice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) > 1000 { // while a Service changes all the time there is always one to be read
		l.seen = nil
	}
	for i := range own {
		list := own[i].Endpoints
		if j := slices.IndexFunc(l.seen, func(seen []inventory.Member) bool { return slices.Equal(seen, list) }); j >= 0 {
			own[i].Endpoints = l.seen[j]
		} else {
			l.seen = append(l.seen, slices.Clip(list))
		}
	}
}

// forget forgets what was seen.
func (l *lists) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
}
