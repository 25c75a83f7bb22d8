package system

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// waitDelay is how long Run waits for the end of the output after the program
// and its group are gone. Only a process that left the group can hold it open.
const waitDelay = time.Second

// clearDelay is how long Run waits for the end of what it killed.
const clearDelay = 5 * time.Second

// ErrOutputLimit is what Run wraps when the program wrote more than MaxOutput.
var ErrOutputLimit = errors.New("the output is over the limit")

// Command is what to run.
type Command struct {
	// Path is the program: a path, or a name without a slash that is looked up
	// in the PATH of Env.
	Path string
	Args []string
	// Env is the whole environment of the program, as NAME=value. The values
	// of variables that hold a secret, see Redact, are kept out of Stderr.
	Env []string
	// Stdin is the standard input; nil is an empty one.
	Stdin []byte
	// MaxOutput is how many bytes of standard output are accepted.
	MaxOutput int64
}

// Output is what a program that succeeded wrote.
type Output struct {
	Stdout []byte
	// Stderr are the last lines of standard error, as in ExitError.
	Stderr string
}

// ExitError says that the program ended before Run had a reason to end it, and
// did not succeed.
type ExitError struct {
	// Code is the exit status, or -1 after a signal.
	Code int
	// Signal is the signal that ended the program, 0 for none.
	Signal syscall.Signal
	// Stderr are the last lines of standard error: at most 4 KiB, without
	// secrets and without control characters but the line breaks.
	Stderr string
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("ended by signal %d (%v)%s", int(e.Signal), e.Signal, StderrNote(e.Stderr))
	}
	return fmt.Sprintf("exit status %d%s", e.Code, StderrNote(e.Stderr))
}

// Runner runs programs, and starts none while one that it killed still runs: a
// process that waits for a disk or a file server cannot be killed, and every read
// would add one. The zero value is ready for use.
type Runner struct {
	mu sync.Mutex
	// left are the programs that were still there when Run had to return.
	left []*child
}

// Run runs the program until it exits, the context ends, or its output is over
// the limit, whichever is first, and then kills its process group at once. When Run
// returns, nothing of it is running any more, unless a process left the group or
// cannot be killed; a goroutine collects that when it ends.
//
// The error is an *ExitError, or wraps ErrOutputLimit or the context's error,
// or says why the program did not start; with an error there is no output.
func (r *Runner) Run(ctx context.Context, command Command) (Output, error) {
	output, err := r.run(ctx, command)
	if err != nil {
		return Output{}, fmt.Errorf("run %q: %w", command.Path, err)
	}
	return output, nil
}

func (r *Runner) run(ctx context.Context, command Command) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	if err := r.refuse(); err != nil {
		return Output{}, err
	}
	path, err := find(command)
	if err != nil {
		return Output{}, err
	}
	bounded, over := context.WithCancelCause(ctx)
	defer over(nil)
	stdout, stderr := &limitedBuffer{limit: command.MaxOutput, over: over}, new(tail)
	cmd := &exec.Cmd{
		Path:        path,
		Args:        append([]string{command.Path}, command.Args...),
		Env:         append([]string{}, command.Env...), // nil would be our own environment
		Stdout:      stdout,
		Stderr:      stderr,
		WaitDelay:   waitDelay,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if command.Stdin != nil {
		cmd.Stdin = bytes.NewReader(command.Stdin)
	}
	if err := cmd.Start(); err != nil {
		return Output{}, err
	}
	ended, waitErr := r.await(bounded, cmd)
	because := ctx.Err()
	if cause := context.Cause(bounded); errors.Is(cause, ErrOutputLimit) {
		because = cause
	}
	if !ended {
		// What it wrote may still grow, and must not be looked at.
		because = cmp.Or(because, errors.New("it exited, but processes that it started did not"))
		return Output{}, fmt.Errorf("killed: %w; it does not end: %s", because, describe(cmd.Process.Pid))
	}
	lines := last(Redact(stderr.String(), command.Env))
	switch {
	case errors.Is(because, ErrOutputLimit):
		return Output{}, fmt.Errorf("%w%s", because, StderrNote(lines))
	case because != nil:
		return Output{}, fmt.Errorf("killed: %w%s", because, StderrNote(lines))
	case waitErr != nil:
		return Output{}, explain(waitErr, lines)
	}
	return Output{Stdout: stdout.kept.Bytes(), Stderr: lines}, nil
}

// await waits for the end of the program or of the context, kills the group, and collects
// what remains, all of it or what there is within clearDelay. It reports whether
// the program itself has ended.
func (r *Runner) await(ctx context.Context, cmd *exec.Cmd) (ended bool, err error) {
	c := watch(cmd)
	select {
	case <-c.exited:
	case <-ctx.Done():
	}
	c.kill()
	select {
	case <-c.cleared:
		return true, c.err
	case <-time.After(clearDelay):
		r.leave(c)
	}
	select {
	case <-c.collected:
		return true, c.err
	default:
		return false, nil
	}
}

func explain(err error, stderr string) error {
	exit := new(exec.ExitError)
	switch {
	case errors.As(err, &exit):
		failure := &ExitError{Code: exit.ExitCode(), Stderr: stderr}
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			failure.Signal = status.Signal()
		}
		return failure
	case errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("the output is incomplete: a process that it started in a group of its own holds the output open%s", StderrNote(stderr))
	}
	return fmt.Errorf("%w%s", err, StderrNote(stderr))
}

// find returns the path of the program. A name is looked up in the PATH that
// the program itself is given, never in the current folder.
func find(command Command) (string, error) {
	if strings.Contains(command.Path, "/") {
		return command.Path, nil
	}
	var list string
	for _, variable := range command.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			list = value
		}
	}
	for _, folder := range filepath.SplitList(list) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(folder, command.Path)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w; its PATH is %q", exec.ErrNotFound, list)
}
