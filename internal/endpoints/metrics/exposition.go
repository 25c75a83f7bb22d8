package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
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
	*controller.Snapshot

	plans uint64
	sound time.Time
	// pools are sorted by name.
	pools []poolView
	// shown are the targets that have series of their own; unlisted is how many have none.
	shown    []targetView
	unlisted int
	// problems counts the targets by problem.
	problems map[string]int
}

// poolView is one pool.
type poolView struct {
	controller.Pool

	targets int
	// counts is nil where no target uses the pool; the rest is then empty.
	counts *poolCounts
	// groups are what its groups decided; unchecked says that one of them cannot begin
	// as the document says.
	groups    []*pool.Outcome
	unchecked bool
}

// targetView is one Service that is filled, or wants to be.
type targetView struct {
	assign.Key
	// filled says that something is known of its slices, blocked that the Service prevents
	// that they are written.
	filled, blocked           bool
	published, ready, pending int
	// turn is how many of its namespace with a problem come before it, with it.
	turn int
	// problems are sorted.
	problems []string
}

// look returns what is known at this moment.
func (m *Metrics) look(o Options, now time.Time) *exposition {
	v := &exposition{Snapshot: o.Snapshot(), problems: make(map[string]int)}
	outcomes := make(map[assign.Group]*pool.Outcome, len(v.Groups))
	for _, g := range v.Groups {
		if g.State != nil {
			outcomes[g.Group] = &g.State.Outcome
		}
	}
	m.mu.Lock()
	v.plans, v.sound = m.plans, m.sound
	v.addPools(m.pools)
	m.mu.Unlock()
	v.addTargets(outcomes, o.DryRun, now)
	return v
}

func (v *exposition) addPools(counts map[string]*poolCounts) {
	at := make(map[string]int, len(v.Pools))
	for i, p := range v.Pools {
		at[p.Name] = i
		v.pools = append(v.pools, poolView{Pool: p, counts: counts[p.Name]})
	}
	for i := range v.Plan.Targets {
		for _, u := range v.Plan.Targets[i].Uses {
			if p, ok := at[u.Pool]; ok {
				v.pools[p].targets++
			}
		}
	}
	for _, g := range v.Groups {
		i, ok := at[g.Pool]
		if !ok {
			continue
		}
		p := &v.pools[i]
		p.unchecked = p.unchecked || g.Problem != ""
		if g.State != nil {
			p.groups = append(p.groups, &g.State.Outcome)
		}
	}
}

// addTargets finds out what is wrong with each target, and which have series.
func (v *exposition) addTargets(outcomes map[assign.Group]*pool.Outcome, dryRun bool, now time.Time) {
	refused := make(map[assign.Key][]string)
	for i := range v.Plan.Refusals {
		r := &v.Plan.Refusals[i]
		refused[r.Key] = append(refused[r.Key], r.Reason)
	}
	for i := range v.Plan.Notices {
		if n := &v.Plan.Notices[i]; n.Reason == assign.TakesOverWithLess {
			refused[n.Key] = append(refused[n.Key], n.Reason)
		}
	}
	all := make([]targetView, 0, len(v.Plan.Targets)+len(refused))
	for i := range v.Plan.Targets {
		t := &v.Plan.Targets[i]
		one := targetView{Key: t.Key, problems: append(leaving(t), refused[t.Key]...)}
		delete(refused, t.Key)
		if v.Targets[i].Problem != "" {
			one.problems = append(one.problems, notFilled)
		}
		for _, f := range v.Targets[i].Fills {
			if f.State != nil {
				one.fill(f.State, dryRun || t.DryRun, now)
			}
		}
		if one.filled && !one.blocked && !dryRun && !t.DryRun {
			one.judge(t, failsOpen(t, outcomes))
		}
		all = append(all, one)
	}
	for key, reasons := range refused {
		all = append(all, targetView{Key: key, problems: reasons})
	}
	slices.SortFunc(all, func(a, b targetView) int { return a.Compare(b.Key) })
	for i := range all {
		slices.Sort(all[i].problems)
		all[i].problems = slices.Compact(all[i].problems)
		for _, kind := range all[i].problems {
			v.problems[kind]++
		}
	}
	v.shown = all
	if len(all) > mostTargets {
		v.shown = troubled(all)
	}
	v.unlisted = len(all) - len(v.shown)
}

// troubled returns those with a problem that have series: one of each namespace comes first, so that no
// team takes the series of others.
func troubled(all []targetView) []targetView {
	shown := slices.DeleteFunc(slices.Clone(all), func(t targetView) bool { return len(t.problems) == 0 })
	turn := make(map[string]int)
	for i := range shown {
		turn[shown[i].Namespace]++
		shown[i].turn = turn[shown[i].Namespace]
	}
	slices.SortStableFunc(shown, func(a, b targetView) int { return cmp.Compare(a.turn, b.turn) })
	return shown[:min(len(shown), mostTargets)]
}

// leaving says what becomes of a target that is not what its document or annotation says.
func leaving(t *assign.Assignment) []string {
	var problems []string
	for _, u := range t.Uses {
		switch {
		case u.State == assign.Leaving:
			problems = append(problems, v1alpha1.ReasonReleasing)
		case u.State == assign.Kept:
			problems = append(problems, v1alpha1.ReasonManyReleased)
		case u.Next != nil:
			problems = append(problems, waiting)
		}
	}
	return problems
}

// failsOpen reports whether a target publishes endpoints as ready although none passes:
// one of its pools fails open, and nothing of that address family works in the others.
func failsOpen(t *assign.Assignment, outcomes map[assign.Group]*pool.Outcome) bool {
	var works guard.WorkByFamily
	var open struct{ v4, v6 bool }
	for _, u := range t.Uses {
		o := outcomes[u.Group]
		if o == nil || u.State == assign.Emptied {
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

// tell adds a problem where it holds.
func (t *targetView) tell(holds bool, kind string) {
	if holds {
		t.problems = append(t.problems, kind)
	}
}

// fill takes in what is known of the slices that one pool fills.
func (t *targetView) fill(f *controller.FillState, dryRun bool, now time.Time) {
	t.filled, t.blocked, t.pending = true, t.blocked || f.Problem.Kind != "", t.pending+f.Pending
	for _, s := range f.State.Slices {
		t.published += len(s.Endpoints)
		t.ready += count(s.Endpoints, func(m *inventory.Member) bool { return m.State == inventory.StateReady })
	}
	t.tell(f.Problem.Kind != "", string(f.Problem.Kind))
	t.tell(len(f.State.Refused) > 0, v1alpha1.ReasonSliceOwnedByOther)
	t.tell(f.LoadErr != nil, storeUnavailable)
	t.tell(f.State.Stale != nil, storeStale)
	t.tell(f.Defect != nil, defect)
	t.tell(f.WriteErr != nil, v1alpha1.ReasonWriteFailed)
	t.tell(f.Pending > 0 && !dryRun && now.Sub(f.PendingSince) >= unwritten, v1alpha1.ReasonPending)
}

// judge says whether all slices of a target together serve.
func (t *targetView) judge(of *assign.Assignment, open bool) {
	if slices.ContainsFunc(of.Uses, func(u assign.PoolUse) bool { return u.State != assign.Emptied }) {
		t.tell(t.ready == 0, v1alpha1.ReasonNoEndpointReady)
		t.tell(open, v1alpha1.ReasonFailOpen)
	}
}
