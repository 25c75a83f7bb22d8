package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// severity lists the outcomes of targets, the worst first.
func severity() []Outcome {
	return []Outcome{
		StoreFailed, Conflict, SourceFailed, ServiceProblem, FailingOpen, ChecksSilent, OnlyLeavingPass, InventoryRejected, ServicesKept,
		NoEndpointReady, NoEligibleNode, NoNode, NotGranted, DocumentInvalid, Written, WouldWrite, Unchanged,
	}
}

// judged is what one look, or one run, came to for one subject.
type judged struct {
	resolve.Key
	// Pool is empty where the whole Service is meant; Service is, where it is a document
	// or a namespace.
	Pool    string
	Outcome Outcome
	Message string
}

// String names the subject before the message.
func (j judged) String() string {
	subject := j.Key.String()
	switch {
	case j.Service == "":
		return j.Message
	case j.Pool != "":
		subject += ", pool " + j.Pool
	}
	return subject + ": " + j.Message
}

// endings is what became of everything.
type endings struct {
	all []judged
	// targets and written are how many Services and slices there are and were written, or
	// would be.
	targets, written int
	dryRun           bool
}

// judgeMany judges every target, every wish that is not granted, and every document.
func judgeMany(a serve.Assessment, dryRun bool) endings {
	e := endings{dryRun: dryRun}
	keys := make(map[resolve.Key]bool)
	for _, t := range a.Targets {
		keys[t.Key] = true
		for _, f := range t.Fills {
			outcome, message := judgeFill(&a, t, f, dryRun)
			e.add(t.Key, f.Use.Pool, outcome, f.Target.Names.Of(message))
			if dryRun || t.DryRun {
				e.written += len(f.Writes)
			} else {
				e.written += f.Landed()
			}
		}
	}
	for _, r := range a.Plan.Refusals {
		keys[r.Key] = true
		outcome := NotGranted
		if slices.Contains([]plan.Kind{plan.ServiceMissing, plan.ServiceDeleting, plan.ServiceHasSelector, plan.ServiceExternalName, plan.PortMismatch}, plan.Kind(r.Reason)) {
			outcome = ServiceProblem
		}
		e.add(r.Key, r.Pool, outcome, r.Reason+": "+r.Message+".")
	}
	for _, l := range a.Plan.Lost {
		e.add(l.Key, l.Pool, NotGranted, fmt.Sprintf("Slice %s publishes endpoints of a pool that no document describes. They stay as they are and are not checked. Bring the document of the pool back, or delete the slice.", l.Slice))
	}
	if a.Plan.Kept != "" {
		e.add(resolve.Key{}, "", ServicesKept, a.Plan.Kept+".")
	}
	for _, err := range a.Unread {
		e.add(resolve.Key{}, "", StoreFailed, err.Error()+".")
	}
	for _, m := range a.Documents.Mistakes {
		e.add(resolve.Key{}, "", DocumentInvalid, strings.TrimSpace(m.Place()+" ")+m.Error())
	}
	e.targets = len(keys)
	e.sort()
	return e
}

func (e *endings) add(key resolve.Key, pool string, outcome Outcome, message string) {
	e.all = append(e.all, judged{key, pool, outcome, message})
}

// sort puts the worst first, then by namespace and name.
func (e *endings) sort() {
	rank := make(map[Outcome]int)
	for i, o := range severity() {
		rank[o] = i
	}
	slices.SortStableFunc(e.all, func(a, b judged) int {
		return cmp.Or(cmp.Compare(rank[a.Outcome], rank[b.Outcome]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service))
	})
}

// worst is the outcome of the whole.
func (e *endings) worst() Outcome {
	if len(e.all) == 0 {
		return Unchanged
	}
	return e.all[0].Outcome
}

// wrong are those that are not as they should be, the worst first.
func (e *endings) wrong() []judged {
	end := slices.IndexFunc(e.all, func(j judged) bool { return j.Outcome.status() == ExitOK })
	if end < 0 {
		end = len(e.all)
	}
	return e.all[:end]
}

// total counts.
func (e *endings) total() string {
	did := plural(e.written, "slice") + " written"
	if e.dryRun {
		did = "dry run, " + plural(e.written, "slice") + " would be written"
	}
	if e.targets == 0 {
		return "No binding and no annotation chooses a Service; " + did
	}
	wrong := make(map[resolve.Key]bool)
	counts := make(map[Outcome]int)
	for _, j := range e.wrong() {
		counts[j.Outcome]++
		if j.Service != "" {
			wrong[j.Key] = true
		}
	}
	text := fmt.Sprintf("%d of %s as they should be", e.targets-len(wrong), plural(e.targets, "Service"))
	var reasons []string
	for _, o := range severity() {
		if counts[o] > 0 {
			reasons = append(reasons, fmt.Sprintf("%s=%d", o, counts[o]))
		}
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text + "; " + did
}

// judgeFill names the outcome of what one pool gives a Service.
func judgeFill(a *serve.Assessment, t *serve.AssessedTarget, f *serve.AssessedFill, dryRun bool) (Outcome, string) {
	one := syncer.Of(a, f)
	dryRun = dryRun || t.DryRun
	switch {
	case f.StoreErr != nil:
		outcome := outcomeOf(&serve.StoreError{Err: f.StoreErr})
		return outcome, fmt.Sprintf("%s; %s.", f.StoreErr, failed(outcome, one))
	case f.Undecided != nil:
		return SourceFailed, fmt.Sprintf("%s; %s.", f.Undecided, failed(SourceFailed, one))
	case f.Use.State == resolve.Kept:
		return ServicesKept, sentences(upper(f.Use.Message)+".", did(one, dryRun)+": "+countOf(one).String()+".")
	case f.Use.State == resolve.Emptied:
		return writtenOr(one, dryRun), sentences("The slices are emptied: "+f.Use.Message+".", did(one, dryRun)+".")
	}
	if v := &one.Status.Verdict; countOf(one).ready == 0 && v.Mode == guard.FailOpen {
		v.Mode = guard.Publish // an endpoint of another pool works, so failing open does not apply
	}
	return judge(one, dryRun)
}

// writtenOr is the outcome where all is well.
func writtenOr(a syncer.Assessment, dryRun bool) Outcome {
	switch {
	case len(a.Writes) == 0 && len(a.Results) == 0:
		return Unchanged
	case dryRun:
		return WouldWrite
	}
	return Written
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// err is the error that a command ends with, nil where all is as it should be.
func (e *endings) err() error {
	worst := e.worst()
	if worst.status() == ExitOK {
		return nil
	}
	return &exitError{worst.status(), errors.New(e.total() + ". The worst: " + e.all[0].String())}
}
