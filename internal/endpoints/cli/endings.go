package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// severity lists the outcomes of targets, the worst first.
var severity = []Outcome{
	StoreFailed, Conflict, SourceFailed, ServiceProblem, FailingOpen, ChecksSilent, OnlyLeavingPass, InventoryRejected, ServicesKept,
	NoEndpointReady, NoEligibleNode, NoNode, NotGranted, DocumentInvalid, Written, WouldWrite, Unchanged,
}

// ending is what one look, or one run, came to for one subject.
type ending struct {
	assign.Key
	// Pool is empty where the whole Service is meant; Service is, where it is a document
	// or a namespace.
	Pool    string
	Outcome Outcome
	Message string
}

// String names the subject before the message.
func (j ending) String() string {
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
	all []ending
	// targets and written are how many Services and slices there are and were written, or
	// would be.
	targets, written int
	dryRun           bool
}

// judgeAll judges every target, every wish that is not granted, and every document.
func judgeAll(a controller.Assessment, dryRun bool) endings {
	e := endings{dryRun: dryRun}
	keys := make(map[assign.Key]bool)
	for _, t := range a.Assessed {
		keys[t.Key] = true
		for _, f := range t.Fills {
			j := judgingOf(&a, t, f, dryRun)
			outcome, message := j.judge()
			e.add(t.Key, f.Use.Pool, outcome, f.Target.Names.Of(message))
			if j.dryRun {
				e.written += len(f.Writes)
			} else {
				e.written += f.Landed()
			}
		}
	}
	for _, r := range a.Plan.Refusals {
		keys[r.Key] = true
		outcome := NotGranted
		if slices.Contains([]publish.Kind{publish.ServiceMissing, publish.ServiceDeleting, publish.ServiceHasSelector, publish.ServiceExternalName, publish.PortMismatch}, publish.Kind(r.Reason)) {
			outcome = ServiceProblem
		}
		e.add(r.Key, r.Pool, outcome, r.Reason+": "+r.Message+".")
	}
	for _, l := range a.Plan.Lost {
		e.add(l.Key, l.Pool, NotGranted, fmt.Sprintf("Slice %s publishes endpoints of a pool that no document describes. They stay as they are and are not checked. Bring the document of the pool back, or delete the slice.", l.Slice))
	}
	if a.Plan.Kept != "" {
		e.add(assign.Key{}, "", ServicesKept, a.Plan.Kept+".")
	}
	for _, err := range a.Blind {
		e.add(assign.Key{}, "", StoreFailed, err.Error()+".")
	}
	for _, m := range a.Documents.Mistakes {
		e.add(assign.Key{}, "", DocumentInvalid, m.Error())
	}
	e.targets = len(keys)
	e.sort()
	return e
}

func (e *endings) add(key assign.Key, pool string, outcome Outcome, message string) {
	e.all = append(e.all, ending{key, pool, outcome, message})
}

// sort puts the worst first, then by namespace and name.
func (e *endings) sort() {
	slices.SortStableFunc(e.all, func(a, b ending) int {
		return cmp.Or(cmp.Compare(slices.Index(severity, a.Outcome), slices.Index(severity, b.Outcome)), a.Compare(b.Key))
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
func (e *endings) wrong() []ending {
	end := slices.IndexFunc(e.all, func(j ending) bool { return j.Outcome.status() == ExitOK })
	if end < 0 {
		end = len(e.all)
	}
	return e.all[:end]
}

// alone reports whether there is one Service of one pool, and nothing else: then texts name
// neither.
func (e *endings) alone() bool { return e.targets == 1 && len(e.all) == 1 }

// text says one of them.
func (e *endings) text(j ending) string {
	if e.alone() {
		return j.Message
	}
	return j.String()
}

// total counts, or says what came of the only Service.
func (e *endings) total() string {
	did := plural(e.written, "slice") + " written"
	if e.dryRun {
		did = "dry run, " + plural(e.written, "slice") + " would be written"
	}
	switch {
	case e.alone():
		return e.all[0].Message
	case e.targets == 0:
		return "No binding and no annotation chooses a Service; " + did + "."
	}
	wrong := make(map[assign.Key]bool)
	counts := make(map[Outcome]int)
	for _, j := range e.wrong() {
		counts[j.Outcome]++
		if j.Service != "" {
			wrong[j.Key] = true
		}
	}
	text := fmt.Sprintf("%d of %s as they should be", e.targets-len(wrong), plural(e.targets, "Service"))
	var reasons []string
	for _, o := range severity {
		if counts[o] > 0 {
			reasons = append(reasons, fmt.Sprintf("%s=%d", o, counts[o]))
		}
	}
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text + "; " + did + "."
}

// err is the error that a command ends with, nil where all is as it should be.
func (e *endings) err() error {
	worst := e.worst()
	if worst.status() == ExitOK {
		return nil
	}
	text := e.total()
	if !e.alone() {
		text += " The worst: " + e.all[0].String()
	}
	return commandline.Exit(worst.status(), errors.New(text))
}
