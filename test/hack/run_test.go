package hack_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

func TestMain(m *testing.M) { built.Main(m) }

// waitTimeout bounds every script; none is expected to take so long.
const waitTimeout = 2 * time.Minute

// root is the repository.
const root = "../.."

// script is one call of a script. It sees none of the test's own environment.
type script struct {
	name string
	args []string
	env  map[string]string
	// path is PATH, the test's own where it is empty.
	path string
	// stdin is what a person would type, but without a terminal.
	stdin string
	// dir is the working directory; a script must work from any.
	dir string
}

// with returns the call with further variables; an empty value takes one away.
func (s script) with(changes map[string]string) script {
	env := map[string]string{}
	for _, set := range []map[string]string{s.env, changes} {
		for name, value := range set {
			env[name] = value
		}
	}
	s.env = env
	return s
}

// did is what a call came to.
type did struct {
	t              *testing.T
	call           string
	status         int
	stdout, stderr string
}

// run runs the script to its end.
func (s script) run(t *testing.T) did {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "hack", s.name))
	if err != nil {
		t.Fatal(err)
	}
	return s.execute(t, "bash", append([]string{path}, s.args...)...)
}

// execute runs a program in the environment of the call.
func (s script) execute(t *testing.T, program string, args ...string) did {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.WaitDelay = time.Second
	command.Dir = s.dir
	if command.Dir == "" {
		command.Dir = t.TempDir()
	}
	path := s.path
	if path == "" {
		path = os.Getenv("PATH")
	}
	command.Env = []string{"PATH=" + path, "HOME=" + t.TempDir()}
	for name, value := range s.env {
		if value != "" {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.Stdin = strings.NewReader(s.stdin)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", s.name, err)
	}
	call := strings.Join(append([]string{s.name}, s.args...), " ")
	return did{t, call, command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want checks that the call ended with the status and said each of these.
func (d did) want(status int, said ...string) did {
	d.t.Helper()
	if d.status != status {
		d.t.Errorf("%s: got exit status %d, want %d\n%s%s", d.call, d.status, status, d.stdout, d.stderr)
	}
	for _, text := range said {
		if !strings.Contains(d.stdout+d.stderr, text) {
			d.t.Errorf("%s: got no %q in\n%s%s", d.call, text, d.stdout, d.stderr)
		}
	}
	if strings.Contains(d.stderr, "unbound variable") || strings.Contains(d.stderr, ": line ") {
		d.t.Errorf("%s: the shell itself complains:\n%s", d.call, d.stderr)
	}
	return d
}

// lacks fails the test if the call said one of these.
func (d did) lacks(said ...string) did {
	d.t.Helper()
	for _, text := range said {
		if strings.Contains(d.stdout+d.stderr, text) {
			d.t.Errorf("%s: got %q in\n%s%s", d.call, text, d.stdout, d.stderr)
		}
	}
	return d
}

// pathWithout makes a PATH with every program that the scripts use, except some.
func pathWithout(t *testing.T, missing ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{
		"bash", "basename", "dirname", "cat", "sed", "awk", "grep", "sort", "uniq", "head", "wc", "mktemp", "rm", "sleep", "find",
		"git", "curl", "jq", "python3",
	} {
		found, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v; run hack/install-test-packages.sh", err)
		}
		if err := os.Symlink(found, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range missing {
		_ = os.Remove(filepath.Join(dir, name)) // docker, go and kubectl are missing anyway
	}
	return dir
}

// fake puts a shell script of that name into a folder of its own, and returns the folder.
func fake(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/usr/bin/env bash\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
