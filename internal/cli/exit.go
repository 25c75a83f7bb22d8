package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// The exit statuses of the program.
const (
	// ExitOK: done, or no difference.
	ExitOK = 0
	// ExitDifferent: there are differences, or what was asked for is not ready.
	ExitDifferent = 1
	// ExitUsage: the command line or the configuration is wrong.
	ExitUsage = 2
	// ExitSource: the source could not be read.
	ExitSource = 3
	// ExitStore: the slices could not be loaded or written.
	ExitStore = 4
	// ExitRefused: the guard held something back.
	ExitRefused = 5
	// ExitLeaseLost: the lease of the leader election was lost, or not got.
	ExitLeaseLost = 6
	// ExitTimeout: --timeout was over.
	ExitTimeout = 124
)

// exitError is an error that knows its exit status. Its err may be nil: then
// everything was said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the exit status that an error stands for. What cobra reports
// by itself is a wrong command line.
func exitCode(err error) int {
	var own *exitError
	var source *syncer.SourceError
	var store *syncer.StoreError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &own):
		return own.code
	case errors.Is(err, errTimeout):
		return ExitTimeout
	case errors.Is(err, election.ErrLost), errors.Is(err, election.ErrNotElected):
		return ExitLeaseLost
	case errors.As(err, &source):
		return ExitSource
	case errors.As(err, &store):
		return ExitStore
	}
	return ExitUsage
}

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = errors.New("not done within --timeout; give it more time")

// timedOut replaces an error by errTimeout where --timeout caused it.
func timedOut(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return fmt.Errorf("%w: %w", errTimeout, err)
	}
	return err
}
