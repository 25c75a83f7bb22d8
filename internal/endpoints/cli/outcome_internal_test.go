package cli

import (
	"fmt"
	"strings"
	"testing"
)

//go:generate go test . -run TestTheReferenceOfExitStatusesIsUpToDate -update

// OutcomeDoc explains one outcome: when it happens, what the run did then, and what
// to do.
type OutcomeDoc struct {
	Outcome Outcome
	// Status is the exit status.
	Status int
	Cause  string
	Effect string
	Remedy string
}

// Outcomes lists every outcome, sorted by exit status.
func Outcomes() []OutcomeDoc {
	return []OutcomeDoc{
		{Unchanged, ExitOK, "The slices were right already, and an endpoint is ready.", "No slice was written.", "No action."},
		{Written, ExitOK, "The slices differed.", "All differences were written, and an endpoint is ready.", "No action."},
		{WouldWrite, ExitOK, "The slices differ, and this is a dry run.", "No slice was written.", "Run it without `--dry-run` and `DRY_RUN` to write."},
		{FailingOpen, ExitDifferent, "No endpoint passes, and `HEALTH_CHECK_FAIL_OPEN` is `true`.", "The endpoints were written as ready.", "Check the workload, its port and the network."},
		{OnlyLeavingPass, ExitDifferent, "Only leaving endpoints pass their health check.", "They were written as ready.", "Find the cause before the leaving nodes are switched off."},
		{NoEndpointReady, ExitDifferent, "Nodes are eligible, but no endpoint is ready.", "The differences were written.", "Look up the reason that the message names in [reasons](reasons.md)."},
		{NoEligibleNode, ExitDifferent, "No node of the source is eligible, and no slice publishes an endpoint.", "No endpoint is published.", "Look up its [reason](reasons.md)."},
		{NoNode, ExitDifferent, "The source lists no node, and no slice publishes an endpoint.", "No endpoint is published.", "Check what the source reads."},
		{NotGranted, ExitDifferent, "A Service may not use its pool or port, is over a limit, or lacks a pool.", "Its endpoints stay.", "Follow the message."},
		{Stopped, ExitDifferent, "A signal came before the run was done.", "A write that had begun was finished; others were not tried.", "Run it again."},
		{Misused, ExitUsage, "The command line or the configuration is wrong.", "The run did not begin.", "Correct it; `config validate` lists every mistake."},
		{DocumentInvalid, ExitUsage, "A document is wrong, or cannot be read.", "The others were carried out; its endpoints stay.", "Correct it; `config validate` lists every mistake."},
		{SourceFailed, ExitSource, "The source could not be read completely.", "No slice of its pool was written.", "Correct the cause that the message names."},
		{StoreFailed, ExitStore, "Loading or writing slices failed.", "After a failed load no slice was written. A failed write stops no other write.", "Correct the cause."},
		{Conflict, ExitStore, "Another program changed the slice at every attempt.", "The slice is as that program left it.", "Find that program in `managedFields`; stop it."},
		{ServiceProblem, ExitStore, "The Service is missing, being deleted, has a selector, is ExternalName, or has no port that fits.", "No slice was created.", "Correct it."},
		{InventoryRejected, ExitRefused, "The inventory would remove more endpoints than one inventory may.", "The endpoints stay; all other differences were written.", "Check the source."},
		{ChecksSilent, ExitRefused, "So many endpoints are silent that this machine is probably cut off.", "Silent endpoints stay ready.", "Check the network of this machine."},
		{ServicesKept, ExitRefused, "Too many Services lost their documents at once, or not everything could be read.", "Their endpoints stay, checked.", "Bring the documents back."},
		{LeaseNotHeld, ExitLeaseLost, "The lease was lost, handed over, or not got before a signal.", "No slice was written after that.", "Run it again."},
		{TimedOut, ExitTimeout, "The run was not done within `--timeout`, waiting for the lease included.", "Written slices stay.", "Give it more time."},
	}
}

const exitReferenceHead = `## Exit status

A number means the same in every command.

| status | means | of |
|---|---|---|
| 0 | done, no difference, or ready | all commands |
| 1 | there are differences | ` + "`diff`" + ` |
| 1 | the subject is not ready, or a check failed (with ` + "`--only`" + `: a check of these areas) | ` + "`status`, `explain`, `inventory`, `check`, `run --once`" + ` |
| 1 | a signal came before the command was done | ` + "`run --once`, `diff`, `status`, `explain`, `inventory`" + `; a signal ends the daemon with 0 |
| 2 | the command line or the configuration is wrong | all commands |
| 3 | the source could not be read | ` + "`run --once`, `diff`, `status`, `explain`, `inventory`" + ` |
| 4 | the slices could not be loaded or written | ` + "`run --once`, `diff`, `status`, `explain`" + ` |
| 5 | the guard kept endpoints that would have been removed | ` + "`run --once`" + ` |
| 6 | the lease of the leader election was lost, or not got; of a single run also handed over | ` + "`run`" + ` |
| 124 | ` + "`--timeout`" + ` was over | all commands with that flag |

` + "`diff` ends with 0 or 1 by its differences alone. Other results of a run, such as a rejected inventory or no eligible node, are printed on standard error." + `

### run --once

The last line of the log, "run ended", has the outcome as ` + "`outcome`" + `. Its message, or for every exit status but 0 the line ` + "`Error:`" + ` on standard error, says what was seen, what was written and what to do. ` + "`Misused`" + ` ends the program before there is a log. If several outcomes apply, the first in this order counts: an error, ` + "`ServiceProblem`, `FailingOpen`, `ChecksSilent`, `OnlyLeavingPass`, `InventoryRejected`" + `, nothing ready, the rest. A dry run has the same outcome as a run, and writes nothing.

Where there are several Services or pools, each has an outcome of its own, and the log has a line "not as it should be" for each whose exit status would not be 0. The run ends with that of the worst, in this order: ` + "`StoreFailed`, `Conflict`, `SourceFailed`, `ServiceProblem`, `FailingOpen`, `ChecksSilent`, `OnlyLeavingPass`, `InventoryRejected`, `ServicesKept`" + `, nothing ready, ` + "`NotGranted`, `DocumentInvalid`" + `, the rest. An error of one Service concerns that Service only.

A single run is the daemon until all has settled: each source was read once, each endpoint was checked, and all that differs was written or refused. It begins a drain and does not wait for its end. The slice says since when an endpoint drains, so a later run, or the daemon, ends it.

The message says what to do in each case. ` + "`NotGranted`, `DocumentInvalid` and `ServicesKept`" + ` exist with documents only. Where a Service has a problem, its existing slices were kept up to date, unless the Service is gone. A single run has no memory, so it rejects a shrunken inventory each time; only the daemon counts rejected inventories towards ` + "`EMPTY_RESULT_THRESHOLD`" + `. If the removal is meant and the message names ` + "`MAX_REMOVAL_PERCENT`" + `, raise it for this run.

| status | outcome | when | what the run did | what to do |
|---|---|---|---|---|
`

// ExitReference returns the part of docs/reference/check.md about exit statuses.
func ExitReference() string {
	var b strings.Builder
	b.WriteString(exitReferenceHead)
	for _, doc := range Outcomes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s | %s |\n", doc.Status, doc.Outcome, doc.Cause, doc.Effect, doc.Remedy)
	}
	return b.String()
}

func TestEachOutcomeEndsWithTheStatusOfTheReference(t *testing.T) {
	t.Parallel()
	for _, doc := range Outcomes() {
		if got := doc.Outcome.status(); got != doc.Status {
			t.Errorf("%s: got %d, want %d", doc.Outcome, got, doc.Status)
		}
	}
}
