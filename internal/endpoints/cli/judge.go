package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// judgement is what one pool gives a Service, and what was seen and decided of the pool.
type judgement struct {
	*controller.AssessedFill
	// nodes is how many the source lists, and filtered what the filter decided on them.
	nodes    int
	filtered []inventory.Decision
	verdict  guard.Verdict
	health   inventory.Health
	findings []explain.Finding
	dryRun   bool
}

func judgingOf(a *controller.Assessment, t *controller.AssessedTarget, f *controller.AssessedFill, dryRun bool) judgement {
	j := judgement{AssessedFill: f, dryRun: dryRun || t.DryRun}
	if g := a.GroupOf(f.Use.Group); g != nil && g.State != nil {
		j.nodes, j.filtered = g.State.Source.Nodes, explain.ByName(g.State.Source.Decisions)
		if g.State.Decided && f.Use.State != assign.Emptied {
			j.verdict, j.health, j.findings = *g.State.Verdict, g.State.Health, g.State.Findings()
		}
	}
	if countOf(f)[inventory.StateReady] == 0 && j.verdict.Mode == guard.FailOpen {
		j.verdict.Mode = guard.Publish // an endpoint of another pool works, so failing open does not apply
	}
	return j
}

// judge names the outcome of what one pool gives a Service, and says in sentences what was
// seen, what follows from it, and what to do.
func (j judgement) judge() (Outcome, string) {
	done := j.did() + ": " + countOf(j.AssessedFill).String() + "."
	switch {
	case j.StoreErr != nil:
		outcome := outcomeOf(&controller.StoreError{Err: j.StoreErr})
		return outcome, fmt.Sprintf("%s; %s.", j.StoreErr, failed(outcome, j.AssessedFill))
	case j.Undecided != nil:
		return SourceFailed, fmt.Sprintf("%s; %s.", j.Undecided, failed(SourceFailed, j.AssessedFill))
	case j.Use.State == assign.Kept:
		return ServicesKept, sentences(upper(j.Use.Message)+".", done)
	case j.Use.State == assign.Draining:
		return j.writtenOr(), sentences(upper(j.Use.Message)+".", done)
	case j.Use.State == assign.Emptied:
		return j.writtenOr(), sentences("The slices are emptied: "+j.Use.Message+".", j.did()+".")
	}
	outcome, message := j.judgeSlices(done)
	if j.Use.Message != "" {
		message = sentences(message, upper(j.Use.Message)+".")
	}
	return outcome, message
}

func (j judgement) judgeSlices(done string) (Outcome, string) {
	v, now := j.verdict, countOf(j.AssessedFill)
	switch {
	case j.Problem.Kind != "":
		return ServiceProblem, fmt.Sprintf("%s: %s. %s.", j.Problem.Kind, j.Problem.Message, j.did())
	case v.Mode == guard.FailOpen:
		return FailingOpen, sentences("Failing open: "+v.Message+".", done, j.example(),
			"Find out why every endpoint fails; until then they are published without a health check that passed.")
	case v.Cause == guard.ProbesSilent:
		return ChecksSilent, sentences("Endpoints that do not answer are kept: "+v.Message+".", done,
			"Check the network between this machine and the endpoints, and run the command again.")
	case v.Cause == guard.NothingPasses:
		return OnlyLeavingPass, sentences("Only endpoints that leave pass: "+v.Message+".", done, j.example(),
			"Find out why the endpoints of the inventory do not pass.")
	case v.Mode != guard.Publish:
		remedy := "A single run rejects such an inventory each time; only the daemon counts them, towards EMPTY_RESULT_THRESHOLD."
		if v.Cause == guard.TooManyRemovals {
			remedy += " If the removal is meant, raise MAX_REMOVAL_PERCENT for this run."
		}
		return InventoryRejected, sentences("Inventory rejected, endpoints that it leaves out are kept: "+v.Message, done, j.leftOut(), remedy)
	case now[inventory.StateReady] == 0:
		return j.nothingReady(done)
	}
	outcome := j.writtenOr()
	if outcome == Unchanged {
		done = "The slices were right already: " + now.String() + "."
	}
	return outcome, sentences(done, j.leftOut())
}

// writtenOr is the outcome where all is well.
func (j judgement) writtenOr() Outcome {
	switch {
	case len(j.Writes) == 0 && len(j.Results) == 0:
		return Unchanged
	case j.dryRun:
		return WouldWrite
	}
	return Written
}

// failed says what follows from an error, and what to do if the error does not say
// so.
func failed(o Outcome, f *controller.AssessedFill) string {
	landed := strings.ToLower(judgement{AssessedFill: f}.did())
	switch {
	case o == Conflict:
		return fmt.Sprintf("another program writes the slice too: it changed before each of %d attempts; %s; find the program in the managedFields of the slice, stop it, and run again", controller.Tries, landed)
	case len(f.Results) > 0:
		return landed + "; run the command again to write the rest"
	}
	return landed + ", the slices are unchanged"
}

// nothingReady says why no endpoint is ready although the guard kept none down.
func (j judgement) nothingReady(done string) (Outcome, string) {
	eligible := slices.ContainsFunc(j.filtered, func(d inventory.Decision) bool { return d.Reason == "" })
	switch {
	case j.nodes == 0:
		return NoNode, sentences("The source lists no node.", done, "Check what the source reads.")
	case !eligible:
		return NoEligibleNode, sentences(j.leftOut(), done, remedyOf(j.filtered))
	}
	var failing []inventory.Decision
	for _, f := range j.findings {
		if f.Stage == inventory.StageGuard || f.Stage == inventory.StageHealth {
			failing = append(failing, f.Decision)
		}
	}
	return NoEndpointReady, sentences("No endpoint is ready ("+reasonsOf(failing)+").", done, j.example(), j.leftOut(), remedyOf(failing))
}

// sentences joins those that there are.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// did says what was written, or would be.
func (j judgement) did() string {
	switch n := len(j.Writes); {
	case j.dryRun && n == 0:
		return "Dry run, no slice would be written"
	case j.dryRun:
		return fmt.Sprintf("Dry run, %s would be written", plural(n, "slice"))
	case j.Landed() == 0:
		return "No slice was written"
	case j.Landed() == 1:
		return "1 slice was written"
	}
	return fmt.Sprintf("%d slices were written", j.Landed())
}

// plural spells a number of things.
func plural(n int, thing string) string { return inventory.Counted(n, thing, thing+"s") }

// leftOut says how many nodes are not eligible, by which reasons, and why the
// first of them is not. It is empty where all are.
func (j judgement) leftOut() string { return leftOutOf(j.filtered, j.nodes) }

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
	return upper(decisions[i].Reason.Doc().Remedy) + "."
}

// example returns the message of the first endpoint that fails its check.
func (j judgement) example() string {
	for _, streak := range j.health.All() {
		if streak.Passes == 0 {
			if said := cmp.Or(streak.Last.Message, streak.Trouble); said != "" {
				return "For example " + said + "."
			}
		}
	}
	return ""
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// count is how many endpoints the slices publish in which state.
type count map[inventory.State]int

// countOf counts the endpoints of the slices as they should be.
func countOf(f *controller.AssessedFill) count {
	c := make(count)
	for _, m := range publish.Published(publish.State{Slices: f.Desired}) {
		c[m.State]++
	}
	return c
}

// String says what is published.
func (c count) String() string {
	if len(c) == 0 {
		return "no endpoint is published"
	}
	text := plural(c[inventory.StateReady], "endpoint") + " ready"
	if c[inventory.StateReady] == 0 {
		text = "no endpoint ready"
	}
	for _, state := range []inventory.State{inventory.StateDraining, inventory.StateDown} {
		if c[state] > 0 {
			text += fmt.Sprintf(", %d %s", c[state], state)
		}
	}
	return text
}
