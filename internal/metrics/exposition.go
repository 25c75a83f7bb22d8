package metrics

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

const (
	// mostTargets is up to how many targets each has series of its own. Where there are
	// more, only those with a problem have, and at most as many of them.
	mostTargets = 1000
	// unwritten is how long slices may differ before that is a problem.
	unwritten = time.Minute
)

// exposition is what one scrape sees of pools and targets.
type exposition struct {
	plans     uint64
	plan      *resolve.Plan
	documents documents.Set
	sound     time.Time
	// pools are sorted by name.
	pools []poolView
	// shown are the targets that have series of their own, sorted; unlisted is how many
	// have none.
	shown    []targetView
	unlisted int
	// problems counts the targets by problem.
	problems map[string]int
}

// poolView is one pool.
type poolView struct {
	name    string
	targets int
	// seen is nil where no target uses the pool; the rest is then empty.
	seen *poolSeen
	// groups are what its groups decided; unchecked says that one of them cannot begin
	// as the document says.
	groups    []*pool.Outcome
	unchecked bool
}

// targetView is one Service that is filled, or wants to be.
type targetView struct {
	resolve.Key
	// filled says that something is known of its slices.
	filled                    bool
	published, ready, pending int
	// problems are sorted.
	problems []string
}

// look returns what is known at this moment.
func (m *Metrics) look(now time.Time) *exposition {
	m.mu.Lock()
	v := &exposition{plans: m.plans, plan: m.plan, documents: m.documents, sound: m.sound, problems: make(map[string]int)}
	seen, groups, targets := maps.Clone(m.pools), maps.Clone(m.groups), maps.Clone(m.targets)
	unchecked, unfilled := maps.Clone(m.unchecked), maps.Clone(m.unfilled)
	m.mu.Unlock()

	outcomes := make(map[resolve.Group]*pool.Outcome, len(groups))
	for key, g := range groups {
		outcomes[key] = g.Load()
	}
	v.addPools(seen, outcomes, unchecked)
	v.addTargets(targets, outcomes, unfilled, now)
	return v
}

func (v *exposition) addPools(seen map[string]*poolSeen, outcomes map[resolve.Group]*pool.Outcome, unchecked map[resolve.Group]bool) {
	at := make(map[string]int, len(v.plan.Pools))
	for i := range v.plan.Pools {
		name := v.plan.Pools[i].Name
		at[name] = i
		v.pools = append(v.pools, poolView{name: name, seen: seen[name]})
	}
	for i := range v.plan.Targets {
		for _, u := range v.plan.Targets[i].Uses {
			if p, ok := at[u.Pool]; ok {
				v.pools[p].targets++
			}
		}
	}
	for _, key := range v.plan.Groups() {
		i, ok := at[key.Pool]
		if !ok {
			continue
		}
		p := &v.pools[i]
		p.unchecked = p.unchecked || unchecked[key]
		if o := outcomes[key]; o != nil {
			p.groups = append(p.groups, o)
		}
	}
}

// addTargets finds out what is wrong with each target, and which have series.
func (v *exposition) addTargets(targets map[resolve.Key]*targetSeen, outcomes map[resolve.Group]*pool.Outcome, unfilled map[resolve.Key]bool, now time.Time) {
	refused := make(map[resolve.Key][]string)
	for i := range v.plan.Refusals {
		r := &v.plan.Refusals[i]
		refused[r.Key] = append(refused[r.Key], r.Reason)
	}
	for i := range v.plan.Notices {
		if n := &v.plan.Notices[i]; n.Reason == resolve.TakesOverWithLess {
			refused[n.Key] = append(refused[n.Key], n.Reason)
		}
	}
	all := make([]targetView, 0, len(v.plan.Targets)+len(refused))
	for i := range v.plan.Targets {
		t := &v.plan.Targets[i]
		one := targetView{Key: t.Key, problems: append(leaving(t), refused[t.Key]...)}
		delete(refused, t.Key)
		if unfilled[t.Key] {
			one.problems = append(one.problems, notFilled)
		}
		if seen := targets[t.Key]; seen != nil {
			one.add(t, seen, failsOpen(t, outcomes), now)
		}
		all = append(all, one)
	}
	for key, reasons := range refused {
		all = append(all, targetView{Key: key, problems: reasons})
	}
	slices.SortFunc(all, func(a, b targetView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service))
	})
	for i := range all {
		slices.Sort(all[i].problems)
		all[i].problems = slices.Compact(all[i].problems)
		for _, kind := range all[i].problems {
			v.problems[kind]++
		}
	}
	v.shown = all
	if len(all) > mostTargets {
		v.shown = slices.DeleteFunc(slices.Clone(all), func(t targetView) bool { return len(t.problems) == 0 })
		v.shown = v.shown[:min(len(v.shown), mostTargets)]
	}
	v.unlisted = len(all) - len(v.shown)
}

// leaving says what becomes of a target that is not what its document or annotation says.
func leaving(t *resolve.Target) []string {
	var problems []string
	for _, u := range t.Uses {
		switch {
		case u.State == resolve.Leaving:
			problems = append(problems, v1alpha1.ReasonReleasing)
		case u.State == resolve.Kept:
			problems = append(problems, v1alpha1.ReasonManyReleased)
		case u.Next != nil:
			problems = append(problems, waiting)
		}
	}
	return problems
}

// failsOpen reports whether a target publishes endpoints as ready although none passes:
// one of its pools fails open, and nothing of that address family works in the others.
func failsOpen(t *resolve.Target, outcomes map[resolve.Group]*pool.Outcome) bool {
	var works guard.Working
	var open struct{ v4, v6 bool }
	for _, u := range t.Uses {
		o := outcomes[u.Group]
		if o == nil || u.State == resolve.Emptied {
			continue
		}
		works = works.And(o.Verdict.Working())
		if members := o.Verdict.Members; o.Verdict.Mode == guard.FailOpen && len(members) > 0 {
			// They are sorted by address, IPv4 first.
			open.v4 = open.v4 || members[0].Address.Is4()
			open.v6 = open.v6 || members[len(members)-1].Address.Is6()
		}
	}
	return open.v4 && works.IPv4 == guard.NothingWorks || open.v6 && works.IPv6 == guard.NothingWorks
}

// add takes in what is known of the slices of a target.
func (t *targetView) add(of *resolve.Target, seen *targetSeen, open bool, now time.Time) {
	t.filled = true
	blocked := false
	tell := func(holds bool, kind string) {
		if holds {
			t.problems = append(t.problems, kind)
		}
	}
	for _, f := range *seen.fills.Load() {
		t.published, t.ready, t.pending = t.published+f.published, t.ready+f.ready, t.pending+f.pending
		blocked = blocked || f.problem != ""
		tell(f.problem != "", string(f.problem))
		tell(f.refused > 0, v1alpha1.ReasonSliceOwnedByOther)
		tell(f.unreadable, storeUnavailable)
		tell(f.stale, storeStale)
		tell(f.defect, defect)
		tell(f.failing, v1alpha1.ReasonWriteFailed)
		tell(f.pending > 0 && !seen.dryRun && now.Sub(f.since) >= unwritten, v1alpha1.ReasonPending)
	}
	if seen.dryRun || blocked || !slices.ContainsFunc(of.Uses, func(u resolve.PoolUse) bool { return u.State != resolve.Emptied }) {
		return
	}
	tell(t.ready == 0, v1alpha1.ReasonNoEndpointReady)
	tell(open, v1alpha1.ReasonFailOpen)
}
