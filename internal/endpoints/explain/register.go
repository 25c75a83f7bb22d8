package explain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// register keeps findings up to date. What Findings says of a node does not
// depend on nodes with other names. So only names whose decisions differ are found
// anew:
//
//	no name                      the findings stay as they are
//	names of nodes               the findings of these names are replaced
//	an address without a name    all findings are made anew
//
// A register never changes; update returns the next one.
type register struct {
	// filtered and decided are what the findings were made of.
	filtered, decided []inventory.Decision
	// base are findings of all names, sorted; newer are those of some names, and
	// hold in place of the ones in base.
	base  []Finding
	newer map[string][]Finding
	// newest are the findings that the last update has made.
	newest []Finding
}

// mostNewer is how many names may be newer than base.
const mostNewer = 100

// all returns the findings, sorted.
func (r register) all() []Finding {
	if len(r.newer) == 0 {
		return r.base
	}
	all := make([]Finding, 0, len(r.base)+len(r.newer))
	rest := r.base
	for _, name := range slices.Sorted(maps.Keys(r.newer)) {
		from, to := placesOf(rest, name)
		all = append(append(all, rest[:from]...), r.newer[name]...)
		rest = rest[to:]
	}
	return append(all, rest...)
}

// of returns the findings about the names, sorted.
func (r register) of(n names) []Finding {
	var part []Finding
	for _, name := range slices.Sorted(maps.Keys(n)) {
		newer, ok := r.newer[name]
		if !ok {
			from, to := placesOf(r.base, name)
			newer = r.base[from:to]
		}
		part = append(part, newer...)
	}
	return part
}

// placesOf returns where in a sorted list the findings about a name are.
func placesOf(all []Finding, name string) (from, to int) {
	from, _ = slices.BinarySearchFunc(all, name, func(f Finding, name string) int { return cmp.Compare(f.Node.Name, name) })
	to = from
	for to < len(all) && all[to].Node.Name == name {
		to++
	}
	return from, to
}

// update returns the register of what is said now. moved are the members whose
// state is not the one of before.
func (r register) update(filtered []inventory.Decision, verdict *guard.Verdict, moved []memberChange, judged, now time.Time) register {
	concerned := r.gone()
	next := register{filtered: filtered, decided: verdict.Decisions, base: r.base, newer: r.newer}
	concerned.addDiffering(r.filtered, filtered)
	concerned.addDiffering(r.decided, verdict.Decisions)
	concerned.addVolatile(verdict.Decisions)
	for _, m := range moved {
		concerned.add(decisionOn(verdict.Decisions, m.address).Node.Name)
	}
	switch {
	case len(concerned) == 0:
	case concerned[""], len(concerned) > mostNewer:
		next.newest = Findings(r.all(), ByName(filtered), *verdict, judged, now)
		next.base, next.newer = next.newest, nil
	default:
		part := *verdict
		part.Decisions = concerned.of(verdict.Decisions)
		next.newest = Findings(r.of(concerned), ByName(concerned.of(filtered)), part, judged, now)
		next.replace(concerned)
	}
	return next
}

// replace puts the newest findings in place of those about the names.
func (r *register) replace(concerned names) {
	r.newer = maps.Clone(r.newer)
	if r.newer == nil {
		r.newer = make(map[string][]Finding)
	}
	for name := range concerned {
		from, to := placesOf(r.newest, name)
		r.newer[name] = r.newest[from:to]
	}
	if len(r.newer) > mostNewer {
		r.base, r.newer = r.all(), nil
	}
}

// names is a set of names of nodes. The empty name stands for every address whose
// node is not known. Where there are more than mostNewer, all findings are made
// anew, so no more are gathered.
type names map[string]bool

func (n names) add(name string) {
	if len(n) <= mostNewer {
		n[name] = true
	}
}

// addDiffering adds the names of what only one of two lists says. Where both are sorted by
// address, these are no more names than need be.
func (n names) addDiffering(before, after []inventory.Decision) {
	if len(before) > 0 && len(before) == len(after) && &before[0] == &after[0] {
		return
	}
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		case before[0] == after[0]:
			before, after = before[1:], after[1:]
			continue
		default:
			order = inventory.CompareDecisionsByAddress(before[0], after[0])
		}
		if order <= 0 {
			n.add(before[0].Node.Name)
			before = before[1:]
		}
		if order >= 0 {
			n.add(after[0].Node.Name)
			after = after[1:]
		}
	}
}

// of returns the decisions about the names.
func (n names) of(all []inventory.Decision) []inventory.Decision {
	var part []inventory.Decision
	for i := range all {
		if n[all[i].Node.Name] {
			part = append(part, all[i])
		}
	}
	return part
}

// gone returns the names of what is gone, because that is forgotten after a while:
// all of it was found by the last update.
func (r register) gone() names {
	gone := make(names)
	for i := range r.newest {
		if f := &r.newest[i]; f.Reason == inventory.Gone {
			gone.add(f.Node.Name)
		}
	}
	return gone
}

// addVolatile adds the names whose findings can change although nothing else is said.
func (n names) addVolatile(decided []inventory.Decision) {
	for i := range decided {
		if d := &decided[i]; d.Node.Name == "" || d.Reason == inventory.Gone {
			n.add(d.Node.Name)
		}
	}
}
