package cli

// Outcome is how `run --once` ended. The list is closed.
type Outcome string

// The outcomes.
const (
	Unchanged         Outcome = "Unchanged"
	Written           Outcome = "Written"
	WouldWrite        Outcome = "WouldWrite"
	FailingOpen       Outcome = "FailingOpen"
	OnlyLeavingPass   Outcome = "OnlyLeavingPass"
	NoEndpointReady   Outcome = "NoEndpointReady"
	NoEligibleNode    Outcome = "NoEligibleNode"
	NoNode            Outcome = "NoNode"
	Stopped           Outcome = "Stopped"
	Misused           Outcome = "Misused"
	SourceFailed      Outcome = "SourceFailed"
	StoreFailed       Outcome = "StoreFailed"
	Conflict          Outcome = "Conflict"
	ServiceProblem    Outcome = "ServiceProblem"
	InventoryRejected Outcome = "InventoryRejected"
	ChecksSilent      Outcome = "ChecksSilent"
	NotGranted        Outcome = "NotGranted"
	DocumentInvalid   Outcome = "DocumentInvalid"
	ServicesKept      Outcome = "ServicesKept"
	LeaseNotHeld      Outcome = "LeaseNotHeld"
	TimedOut          Outcome = "TimedOut"
)

// status is the exit status of the outcome.
func (o Outcome) status() int {
	switch o {
	case Unchanged, Written, WouldWrite:
		return ExitOK
	case FailingOpen, OnlyLeavingPass, NoEndpointReady, NoEligibleNode, NoNode, NotGranted, Stopped:
		return ExitDifferent
	case SourceFailed:
		return ExitSource
	case StoreFailed, Conflict, ServiceProblem:
		return ExitStore
	case InventoryRejected, ChecksSilent, ServicesKept:
		return ExitRefused
	case LeaseNotHeld:
		return ExitLeaseLost
	case TimedOut:
		return ExitTimeout
	case Misused, DocumentInvalid:
	}
	return ExitUsage
}
