package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// The exit statuses of the program.
const (
	// ExitOK: done, or no difference.
	ExitOK = 0
	// ExitDifferent: there are differences, or what was asked for is not ready or
	// not done.
	ExitDifferent = 1
	// ExitUsage: the command line or the configuration is wrong.
	ExitUsage = 2
	// ExitSource: the source could not be read.
	ExitSource = 3
	// ExitStore: the slices could not be loaded or written.
	ExitStore = 4
	// ExitRefused: the guard kept endpoints that would have been removed.
	ExitRefused = 5
	// ExitLeaseLost: the lease of the leader election was lost or handed over, or not got.
	ExitLeaseLost = 6
	// ExitTimeout: --timeout was over.
	ExitTimeout = 124
)

// exitCode returns the exit status that an error stands for.
func exitCode(err error) int {
	var own *commandline.ExitError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &own):
		return own.Code
	}
	return outcomeOf(err).status()
}

// outcomeOf names why a command failed. An error that cobra reports by itself is a
// wrong command line.
func outcomeOf(err error) Outcome {
	var source *controller.SourceError
	var store *controller.StoreError
	switch {
	case errors.Is(err, errTimeout):
		return TimedOut
	case errors.Is(err, lease.ErrLost), errors.Is(err, lease.ErrHandedOver), errors.Is(err, lease.ErrNotElected):
		return LeaseNotHeld
	case errors.Is(err, errStopped):
		return Stopped
	case errors.As(err, &source):
		return SourceFailed
	case errors.As(err, &store) && errors.Is(err, publish.ErrConflict):
		return Conflict
	case errors.As(err, &store):
		return StoreFailed
	}
	return Misused
}

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = errors.New("not done within --timeout; give it more time")

// errStopped says that a signal came before the program was done.
var errStopped = errors.New("stopped by a signal before it was done")

// ended puts before an error why its context ended, if --timeout or a signal
// ended it: an error that the end of a context causes is no failure.
func ended(ctx context.Context, err error) error {
	var own *commandline.ExitError
	switch {
	case err == nil, ctx.Err() == nil, errors.As(err, &own):
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Errorf("%w: %w", errTimeout, err)
	}
	return fmt.Errorf("%w: %w", errStopped, err)
}

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
