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
		{Unchanged, ExitOK, "The slices were right already, and an endpoint is ready.", "Nothing was written.", "Nothing to do."},
		{Written, ExitOK, "The slices differed.", "All differences were written, and an endpoint is ready.", "Nothing to do."},
		{WouldWrite, ExitOK, "The slices differ, and this is a dry run.", "Nothing was written. An endpoint would be ready.", "Run it without `--dry-run` and `DRY_RUN` to write. `diff` shows the differences."},
		{FailingOpen, ExitDifferent, "No endpoint passes its health check, and `HEALTH_CHECK_FAIL_OPEN` is `true`.", "The present endpoints were written as ready, without a check that passed.", "Find out why every check fails: the workload, its port, the setting of the check, or the network from this machine."},
		{OnlyLeavingPass, ExitDifferent, "No endpoint of the inventory passes its health check, but endpoints that leave do.", "The leaving endpoints that pass were written as ready, all other differences as well.", "Find out why the endpoints of the inventory do not pass, before the leaving nodes are switched off."},
		{NoEndpointReady, ExitDifferent, "Nodes are eligible, but no endpoint is ready.", "The differences were written. The Service has no endpoint that is ready.", "Look up the reason that the message names in [reasons](reasons.md)."},
		{NoEligibleNode, ExitDifferent, "The source lists nodes, but the filter leaves all of them out, and no slice publishes an endpoint.", "There is nothing to publish.", "Look up the reason that the message names in [reasons](reasons.md)."},
		{NoNode, ExitDifferent, "The source lists no node, and no slice publishes an endpoint.", "There is nothing to publish.", "Check what the source reads."},
		{NotGranted, ExitDifferent, "With `DOCUMENTS_DIR`: a Service asks for a pool or a port that it may not use, a limit is reached, or slices are of a pool that no document describes.", "Nothing new is published for it; what it had stays. All others were filled.", "Do what the message says; [many Services](../how-to/many-services.md) says who may use what."},
		{Stopped, ExitDifferent, "A signal came before the run was done.", "A write that had begun was finished; others were not tried.", "Run it again."},
		{Misused, ExitUsage, "The command line or the configuration is wrong.", "Nothing was read, checked or written.", "Correct what the message names; `config validate` lists every mistake."},
		{DocumentInvalid, ExitUsage, "With `DOCUMENTS_DIR`: a document is wrong, or cannot be read.", "What the document published before stays. The other documents were carried out.", "Correct what the message names; `config validate` lists every mistake."},
		{SourceFailed, ExitSource, "The source could not be read completely.", "Nothing of its pool was written.", "Correct the cause that the message names. The slices stay as they are."},
		{StoreFailed, ExitStore, "The slices could not be loaded, or one could not be written.", "If they could not be loaded, nothing was written. If one could not be written, the others were.", "Correct the cause that the message names, and run it again."},
		{Conflict, ExitStore, "At every attempt another program changed the slice between reading and writing.", "That slice is as the other program left it.", "Find the other program in the `managedFields` of the slice, stop it, and run again."},
		{ServiceProblem, ExitStore, "The Service cannot be filled: it is missing, being deleted, has a selector, is of type ExternalName, or has no port that fits.", "No slice was created. Existing slices were kept up to date, unless the Service is gone.", "Correct the Service as the message says, and run it again."},
		{InventoryRejected, ExitRefused, "The inventory would remove more endpoints than one inventory may.", "The endpoints that it leaves out are kept. All other differences were written.", "Check the source. A single run has no memory and rejects such an inventory each time; only the daemon counts them, towards `EMPTY_RESULT_THRESHOLD`. If the removal is meant and the message names `MAX_REMOVAL_PERCENT`, raise it for this run."},
		{ChecksSilent, ExitRefused, "So many endpoints do not answer at once that this machine is probably cut off from them.", "Endpoints that do not answer are kept ready. All other differences were written.", "Check the network between this machine and the endpoints, and run it again."},
		{ServicesKept, ExitRefused, "With `DOCUMENTS_DIR`: so many Services lost their binding, annotation or pool at once that this may be a mistake, or not everything could be read.", "Their endpoints are checked and stay published. All others were filled.", "Bring the documents back. If the removal is meant, do what the message says."},
		{LeaseNotHeld, ExitLeaseLost, "With `LEADER_ELECTION=true`: the lease was lost during the run, or a signal came before the lease was free.", "Nothing was written after the lease was lost.", "Run it again when the replica that holds the lease has ended, or leave the work to that replica."},
		{TimedOut, ExitTimeout, "The run was not done within `--timeout`. With `LEADER_ELECTION=true` waiting for the lease counts.", "What was written until then stays; the message says what was not done.", "Give it more time with `--timeout`."},
	}
}

const exitReferenceHead = `<!-- Generated from internal/endpoints/cli by "go generate ./internal/endpoints/cli". Do not edit. -->

# Exit status

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
| 6 | the lease of the leader election was lost, or not got | ` + "`run`" + ` |
| 124 | ` + "`--timeout`" + ` was over | all commands with that flag |

` + "`diff` ends with 0 or 1 by its differences alone. Other results of a run, such as a rejected inventory or no eligible node, are printed on standard error." + `

## run --once

The last line of the log, "run ended", has the outcome as ` + "`outcome`" + `. Its message, or for every exit status but 0 the line ` + "`Error:`" + ` on standard error, says what was seen, what was written and what to do. ` + "`Misused`" + ` ends the program before there is a log. If several outcomes apply, the first in this order counts: an error, ` + "`ServiceProblem`, `FailingOpen`, `ChecksSilent`, `OnlyLeavingPass`, `InventoryRejected`" + `, nothing ready, the rest. A dry run has the same outcome as a run, and writes nothing.

Where there are several Services or pools, each has an outcome of its own, and the log has a line "not as it should be" for each whose exit status would not be 0. The run ends with that of the worst, in this order: ` + "`StoreFailed`, `Conflict`, `SourceFailed`, `ServiceProblem`, `FailingOpen`, `ChecksSilent`, `OnlyLeavingPass`, `InventoryRejected`, `ServicesKept`" + `, nothing ready, ` + "`NotGranted`, `DocumentInvalid`" + `, the rest. An error of one Service concerns that Service only.

A single run is the daemon until all has settled: each source was read once, each endpoint was checked, and all that differs was written or refused. It begins a drain and does not wait for its end. Since when an endpoint drains is taken from its slice, so a later run, or the daemon, ends it.

| status | outcome | when | what the run did | what to do |
|---|---|---|---|---|
`

// ExitReference returns docs/reference/exit-status.md.
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
