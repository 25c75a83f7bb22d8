package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// judge names the outcome of a single run without an error, and says in sentences
// what was seen, what follows from it, and what to do.
func judge(a syncer.Assessment, dryRun bool) (Outcome, string) {
	outcome, message := judgeSlices(a, dryRun)
	if a.Use.Message != "" {
		message = sentences(message, upper(a.Use.Message)+".")
	}
	return outcome, message
}

func judgeSlices(a syncer.Assessment, dryRun bool) (Outcome, string) {
	v, now := a.Status.Verdict, countOf(a)
	done := did(a, dryRun) + ": " + now.String() + "."
	switch problem := a.Status.Problem; {
	case problem.Kind != "":
		return ServiceProblem, fmt.Sprintf("%s: %s. %s.", problem.Kind, problem.Message, did(a, dryRun))
	case v.Mode == guard.FailOpen:
		return FailingOpen, sentences("Failing open: "+v.Message+".", done, exampleOf(a),
			"Find out why every endpoint fails; until then they are published without a health check that passed.")
	case v.Cause == guard.ProbesSilent:
		return ChecksSilent, sentences("Endpoints that do not answer are kept: "+v.Message+".", done,
			"Check the network between this machine and the endpoints, and run it again.")
	case v.Cause == guard.NothingPasses:
		return OnlyLeavingPass, sentences("Only endpoints that leave pass: "+v.Message+".", done, exampleOf(a),
			"Find out why the endpoints of the inventory do not pass.")
	case v.Mode != guard.Publish:
		remedy := "A single run rejects such an inventory each time; only the daemon counts them, towards EMPTY_RESULT_THRESHOLD."
		if v.Cause == guard.TooManyRemovals {
			remedy += " If the removal is meant, raise MAX_REMOVAL_PERCENT for this run."
		}
		return InventoryRejected, sentences("Inventory rejected, endpoints that it leaves out are kept: "+v.Message, done, leftOut(a), remedy)
	case now.ready == 0:
		return nothingReady(a, done)
	case len(a.Writes) == 0 && len(a.Results) == 0:
		return Unchanged, sentences("The slices were right already: "+now.String()+".", leftOut(a), foreign(a))
	case dryRun:
		return WouldWrite, sentences(done, leftOut(a), foreign(a))
	}
	return Written, sentences(done, leftOut(a), foreign(a))
}

// failed says what follows from an error, and what to do if the error does not say
// so.
func failed(o Outcome, a syncer.Assessment) string {
	landed := strings.ToLower(did(a, false))
	switch {
	case o == Conflict:
		return fmt.Sprintf("another program writes the slice too: it changed before each of %d attempts; %s; find the program in the managedFields of the slice, stop it, and run again", serve.Tries, landed)
	case len(a.Results) > 0:
		return landed + "; run it again to write the rest"
	}
	return landed + ", the slices are as they were"
}

// nothingReady says why no endpoint is ready although the guard kept none down.
func nothingReady(a syncer.Assessment, done string) (Outcome, string) {
	source := a.Status.Source
	eligible := slices.ContainsFunc(source.Decisions, func(d inventory.Decision) bool { return d.Reason == "" })
	switch {
	case source.Nodes == 0:
		return NoNode, sentences("The source lists no node.", done, "Check what the source reads.")
	case !eligible:
		return NoEligibleNode, sentences(leftOut(a), done, remedyOf(source.Decisions))
	}
	var failing []inventory.Decision
	for _, f := range a.Status.Findings {
		if f.Stage == inventory.StageGuard || f.Stage == inventory.StageHealth {
			failing = append(failing, f.Decision)
		}
	}
	return NoEndpointReady, sentences("No endpoint is ready ("+reasonsOf(failing)+").", done, exampleOf(a), leftOut(a), remedyOf(failing))
}

// sentences joins those that there are.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// did says what was written, or would be.
func did(a syncer.Assessment, dryRun bool) string {
	switch n := len(a.Writes); {
	case dryRun && n == 0:
		return "Dry run, no slice would be written"
	case dryRun:
		return fmt.Sprintf("Dry run, %s would be written", plural(n, "slice"))
	case a.Landed() == 0:
		return "No slice was written"
	case a.Landed() == 1:
		return "1 slice was written"
	}
	return fmt.Sprintf("%d slices were written", a.Landed())
}

// plural spells a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// count is how many endpoints the slices publish in which state.
type count struct{ ready, draining, down int }

// countOf counts the endpoints of the slices as they should be. One that is in two
// slices counts in the better state, because that is how it is used.
func countOf(a syncer.Assessment) count {
	states := make(map[netip.Addr]inventory.State)
	for _, s := range a.Desired {
		for _, m := range s.Endpoints {
			if was, known := states[m.Address]; !known || m.State < was {
				states[m.Address] = m.State
			}
		}
	}
	var c count
	for _, state := range states {
		switch state {
		case inventory.StateReady:
			c.ready++
		case inventory.StateDraining:
			c.draining++
		case inventory.StateDown:
			c.down++
		case inventory.Absent:
		}
	}
	return c
}

// String says what is published.
func (c count) String() string {
	if c == (count{}) {
		return "no endpoint is published"
	}
	text := plural(c.ready, "endpoint") + " ready"
	if c.ready == 0 {
		text = "no endpoint ready"
	}
	if c.draining > 0 {
		text += fmt.Sprintf(", %d draining", c.draining)
	}
	if c.down > 0 {
		text += fmt.Sprintf(", %d down", c.down)
	}
	return text
}

// leftOut says how many nodes are not eligible, by which reasons, and why the
// first of them is not. It is empty where all are.
func leftOut(a syncer.Assessment) string {
	return leftOutOf(a.Status.Source.Decisions, a.Status.Source.Nodes)
}

// leftOutOf says the same of the decisions of the filter on so many nodes.
func leftOutOf(filtered []inventory.Decision, nodes int) string {
	left := notEligible(filtered)
	if len(left) == 0 {
		return ""
	}
	first := left[0]
	name := cmp.Or(first.Node.Name, first.Node.ID)
	return fmt.Sprintf("Not eligible: %d of %s (%s), for example %s: %s.",
		len(left), plural(nodes, "node"), reasonsOf(left), name, first.Text())
}

// notEligible returns one decision for each node that the filter leaves out: the
// first with a reason.
func notEligible(filtered []inventory.Decision) []inventory.Decision {
	passed := make(map[inventory.Identity]bool)
	for _, d := range filtered {
		passed[d.Node] = passed[d.Node] || d.Reason == ""
	}
	var left []inventory.Decision
	for _, d := range filtered {
		if !passed[d.Node] {
			passed[d.Node] = true // counted
			left = append(left, d)
		}
	}
	return left
}

// reasonsOf counts decisions by reason, the most frequent first.
func reasonsOf(decisions []inventory.Decision) string {
	counts := make(map[inventory.Reason]int)
	for _, d := range decisions {
		if d.Reason != "" {
			counts[d.Reason]++
		}
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b inventory.Reason) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	words := make([]string, len(reasons))
	for i, r := range reasons {
		words[i] = fmt.Sprintf("%s=%d", r, counts[r])
	}
	return strings.Join(words, ", ")
}

// remedyOf says what to do about the first decision that has a reason.
func remedyOf(decisions []inventory.Decision) string {
	i := slices.IndexFunc(decisions, func(d inventory.Decision) bool { return d.Reason != "" })
	if i < 0 {
		return ""
	}
	for _, doc := range inventory.Reasons() {
		if doc.Reason == decisions[i].Reason {
			return strings.ToUpper(doc.Remedy[:1]) + doc.Remedy[1:] + "."
		}
	}
	return ""
}

// exampleOf returns the message of the first endpoint that fails its check.
func exampleOf(a syncer.Assessment) string {
	for _, streak := range a.Status.Health.All() {
		if streak.Passes == 0 {
			if said := cmp.Or(streak.Last.Message, streak.Trouble); said != "" {
				return "For example " + said + "."
			}
		}
	}
	return ""
}

// foreign names the first slice that belongs to another program.
func foreign(a syncer.Assessment) string {
	refused, beside := a.Status.State.Refused, a.Status.State.Beside
	var said string
	switch {
	case len(refused) > 0:
		said = refused[0].Message + "."
	case len(beside) > 0:
		said = beside[0].Message + "."
	default:
		return ""
	}
	if n := len(refused) + len(beside) - 1; n > 0 {
		said += fmt.Sprintf(" %d more slices of other programs: see the command status.", n)
	}
	return strings.ToUpper(said[:1]) + said[1:]
}
