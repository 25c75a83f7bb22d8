package system_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

func TestMain(m *testing.M) {
	beUnkillable() // where a test has started this program for that
	goleak.VerifyTestMain(m)
}

// sh is a command that runs a script; $1 and so on are its arguments.
func sh(script string, args ...string) system.Command {
	return system.Command{
		Path:      "/bin/sh",
		Args:      append([]string{"-c", script, "sh"}, args...),
		Env:       []string{"PATH=" + os.Getenv("PATH")},
		MaxOutput: 1 << 20,
	}
}

func TestRunReturnsTheWholeOutput(t *testing.T) {
	tests := []struct {
		name    string
		command system.Command
		want    system.Output
	}{
		{"stdout and stderr apart", sh("echo out; echo err >&2"), system.Output{Stdout: []byte("out\n"), Stderr: "err"}},
		{"nothing", sh("exit 0"), system.Output{}},
		{"arguments as they are, seen by no shell", system.Command{
			Path: "/usr/bin/printf", Args: []string{"%s|", "$HOME", "a b", "`id`;*", ""}, MaxOutput: 100,
		}, system.Output{Stdout: []byte("$HOME|a b|`id`;*||")}},
		{"the environment that is given", system.Command{
			Path: "/usr/bin/env", Env: []string{"A=1", "B=x y"}, MaxOutput: 100,
		}, system.Output{Stdout: []byte("A=1\nB=x y\n")}},
		{"no environment, where none is given", system.Command{Path: "/usr/bin/env", MaxOutput: 100}, system.Output{}},
		{"a name, looked up in the given PATH", system.Command{
			Path: "env", Env: []string{"PATH=/nonexistent:/usr/bin"}, MaxOutput: 100,
		}, system.Output{Stdout: []byte("PATH=/nonexistent:/usr/bin\n")}},
		{"standard input", system.Command{
			Path: "/bin/cat", Stdin: []byte("kind: EndpointSlice\n"), MaxOutput: 20,
		}, system.Output{Stdout: []byte("kind: EndpointSlice\n")}},
		{"standard input that the program does not read", system.Command{
			Path: "/bin/true", Stdin: make([]byte, 1<<20), MaxOutput: 1,
		}, system.Output{}},
		{"no standard input", system.Command{Path: "/bin/cat"}, system.Output{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := new(system.Runner).Run(t.Context(), test.command)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContract02RunReportsAFailedProgramWithTheEndOfItsStderr(t *testing.T) {
	tests := []struct {
		name, script string
		want         system.ExitError
		message      string
	}{
		{"exit status", "echo '[]'; echo connecting >&2; echo no route >&2; exit 7",
			system.ExitError{Code: 7, Stderr: "connecting\nno route"},
			`run "/bin/sh": exit status 7; stderr ends: connecting | no route`},
		{"silent", "exit 1", system.ExitError{Code: 1}, `run "/bin/sh": exit status 1; its stderr is empty`},
		{"signal", "kill -TERM $$", system.ExitError{Code: -1, Signal: syscall.SIGTERM},
			`run "/bin/sh": ended by signal 15 (terminated); its stderr is empty`},
		{"control characters", `printf 'a\033[31mb\000\tc\r\n\377d\n' >&2; exit 1`,
			system.ExitError{Code: 1, Stderr: "a[31mb c\n\nd"},
			`run "/bin/sh": exit status 1; stderr ends: a[31mb c | d`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			output, err := new(system.Runner).Run(t.Context(), sh(test.script))
			got := new(system.ExitError)
			if !errors.As(err, &got) {
				t.Fatalf("got error %v, want an ExitError", err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got, want := err.Error(), test.message; got != want {
				t.Errorf("got message %s, want %s", got, want)
			}
			if diff := cmp.Diff(system.Output{}, output); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContract02RunRefusesOutputOverTheLimit(t *testing.T) {
	command := sh("head -c $1 /dev/zero", "1000")
	command.MaxOutput = 1000
	output, err := new(system.Runner).Run(t.Context(), command)
	if got, want := len(output.Stdout), 1000; got != want || err != nil {
		t.Fatalf("at the limit: got %d bytes and error %v, want %d", got, err, want)
	}
	for _, script := range []string{"head -c 1001 /dev/zero", "cat /dev/zero", "trap '' PIPE TERM; yes & yes"} {
		command := sh(script)
		command.MaxOutput = 1000
		output, err := new(system.Runner).Run(t.Context(), command)
		if !errors.Is(err, system.ErrOutputLimit) || output.Stdout != nil {
			t.Errorf("%s: got %d bytes and error %v, want none and ErrOutputLimit", script, len(output.Stdout), err)
		}
		if want := "over the limit of 1000 bytes"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q in it", script, err, want)
		}
	}
}

func TestRunDoesNotStartWhenTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(system.Runner).Run(ctx, system.Command{Path: "/nonexistent/program"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled and no attempt", err)
	}
}

func TestRunReportsAProgramThatDoesNotStart(t *testing.T) {
	folder := t.TempDir()
	script := filepath.Join(folder, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	tests := []struct {
		name string
		path string
		env  []string
		want error
	}{
		{"missing", folder + "/missing", nil, os.ErrNotExist},
		{"not executable", script, nil, os.ErrPermission},
		{"a folder", folder, nil, os.ErrPermission},
		{"a name without a PATH", "env", nil, exec.ErrNotFound},
		{"a name in no folder of the PATH", "no-such-program", []string{"PATH=/usr/bin:/bin"}, exec.ErrNotFound},
		{"a name in the current folder only", "script", []string{"PATH=:."}, exec.ErrNotFound},
		{"no name", "", []string{"PATH=/usr/bin"}, exec.ErrNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "a name in the current folder only" {
				if err := os.Chmod(script, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			_, err := new(system.Runner).Run(t.Context(), system.Command{Path: test.path, Env: test.env})
			if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}
