package assign

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// leave decides what becomes of uses that are not wanted any more.
type leave struct {
	in      *Input
	pools   map[string]v1alpha1.EndpointPool
	rules   *rules
	targets map[Key]target
	// kept says that so many targets vanished that none of them leaves.
	kept bool
}

// all writes the targets into the plan, and forgets what is done.
func (l *leave) all(out *Plan) {
	if gone, all := l.vanished(); gone > max(1, all/2) {
		l.kept, out.Kept = true, fmt.Sprintf("%d of %d Services lost their binding, their annotation or their pool at once, which may be a mistake: their endpoints stay published and checked; bring the documents back, or, if it is meant, remove the namespaces from spec.allow of the pools or delete the Services", gone, all)
	}
	for key, t := range l.targets {
		t.uses = slices.DeleteFunc(t.uses, func(u use) bool { return u.emptied && !l.rules.publishes(key, &u) })
		told := Assignment{Key: key}
		for i := range t.uses {
			told.Uses = append(told.Uses, l.one(key, t, i, out))
		}
		// A dry run ends where only what it had before is left to be emptied.
		told.DryRun = t.dryRun && slices.ContainsFunc(t.uses, func(u use) bool { return !u.emptied })
		if len(t.uses) == 0 {
			delete(l.targets, key)
			continue
		}
		l.targets[key] = t
		out.Targets = append(out.Targets, told)
	}
	for _, name := range slices.Sorted(maps.Keys(l.pools)) {
		out.Pools = append(out.Pools, l.pools[name])
	}
}

// vanished counts the targets of which something vanished, and all.
func (l *leave) vanished() (gone, all int) {
	for _, t := range l.targets {
		if slices.ContainsFunc(t.uses, func(u use) bool { return !u.emptied }) {
			all++
		}
		if slices.ContainsFunc(t.uses, func(u use) bool { return !u.emptied && u.end == vanished }) {
			gone++
		}
	}
	return gone, all
}

// one says what becomes of one use now.
func (l *leave) one(key Key, t target, i int, out *Plan) PoolUse {
	u := &t.uses[i]
	told := PoolUse{Use: u.Use, State: Active, Next: u.next}
	if l.next(key, u, &told, out); u.end != "" {
		told.Waits = "" // its end is told
	}
	switch u.end {
	case broken:
		told.State, told.Message = Kept, "the document of its pool has a mistake, and no earlier version is known: its endpoints stay published and checked, and no inventory of the pool is read; correct the document of the pool"
		return told
	case vanished:
		l.vanish(key, u, &told, out)
	case revoked:
		l.wait(u, &told, out, "the pool does not allow it any more")
	case replaced:
		l.replace(key, t, i, &told, out)
	}
	switch {
	case u.emptied && u.next != nil: // the old one is over, so the new one need not be ready
		*u = use{Use: *u.next, began: u.began}
		told = PoolUse{Use: u.Use, State: Active}
	case u.emptied:
		told.State, told.Until, told.Message = Emptied, time.Time{}, "its time is over: its slices are emptied"
	}
	return told
}

// next says what a use waits for that is to become another one.
func (l *leave) next(key Key, u *use, told *PoolUse, out *Plan) {
	if u.next == nil {
		return
	}
	says := "documents name"
	if l.in.Variables {
		says = "variables name"
	}
	u.waits.tell(told, "the "+says+" another port, health check or remote Service")
	if u.waits.less() {
		out.Notices = append(out.Notices, Notice{Key: key, Pool: u.Pool, Reason: TakesOverWithLess, Message: told.Message})
	}
}

// vanish lets a use leave that nothing asks for any more, unless that may be a mistake.
func (l *leave) vanish(key Key, u *use, told *PoolUse, out *Plan) {
	if u.emptied || !l.kept && l.in.complete(key.Namespace) {
		l.wait(u, told, out, "its binding, its annotation or its pool is gone")
		return
	}
	u.since = l.in.Now // the time begins when it is no mistake any more
	told.State, told.Message = Kept, "its binding, its annotation or its pool is gone, and so are others', or not everything could be read: its endpoints stay published and checked"
}

// wait lets a use leave when its time is over.
func (l *leave) wait(u *use, told *PoolUse, out *Plan, why string) {
	period := v1alpha1.DefaultReleaseAfter
	if pool, ok := l.pools[u.Pool]; ok && pool.Spec.ReleaseAfter != nil {
		period = pool.Spec.ReleaseAfter.Duration
	}
	until := u.since.Add(period)
	if !u.emptied && l.in.Now.Before(until) {
		told.State, told.Until = Leaving, until
		told.Message = fmt.Sprintf("%s: its endpoints stay published and checked for EndpointPool %s spec.releaseAfter=%s", why, u.Pool, period)
		out.at(until)
		return
	}
	u.emptied = true
}

// publishes reports whether slices of a use hold endpoints.
func (r *rules) publishes(key Key, u *use) bool {
	return slices.ContainsFunc(r.slices[key], func(p PublishedSlice) bool { return p.Endpoints > 0 && u.owns(key, p.Slice) })
}
