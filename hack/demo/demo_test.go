package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

// build compiles the daemon and the demo as demo.sh does, and returns the folder.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the daemon")
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", dir+string(filepath.Separator),
		"./cmd/ionos-endpointslice-controller", "./hack/demo")
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// demo is a demo that plays, its errors, and the folder that it must clean up.
type demo struct {
	*exec.Cmd
	errors bytes.Buffer
	temp   string
}

func newDemo(t *testing.T, program, daemon string) *demo {
	t.Helper()
	d := &demo{Cmd: exec.CommandContext(t.Context(), program, "-daemon", daemon), temp: t.TempDir()}
	d.Stderr = &d.errors
	// A configuration for a real cluster in the user's shell must not matter.
	d.Env = append(os.Environ(), "TMPDIR="+d.temp, "STORE_KIND=kubectl", "TARGET_NAMESPACE=production")
	return d
}

// tidied fails if the demo left something behind.
func (d *demo) tidied(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(d.temp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("the demo left %v", left)
	}
}

// status is the exit status of an error.
func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func TestTheDemo(t *testing.T) {
	dir := build(t)
	program, daemon := filepath.Join(dir, "demo"), filepath.Join(dir, "ionos-endpointslice-controller")
	t.Run("plays every scene", func(t *testing.T) { t.Parallel(); playsEveryScene(t, newDemo(t, program, daemon)) })
	t.Run("names a scene that does not come true", func(t *testing.T) { t.Parallel(); namesTheScene(t, program) })
	t.Run("stops at Ctrl-C", func(t *testing.T) { t.Parallel(); stopsAtCtrlC(t, newDemo(t, program, daemon)) })
}

func playsEveryScene(t *testing.T, d *demo) {
	output, err := d.Output()
	text := string(output)
	if got := status(t, err); got != exitOK {
		t.Fatalf("got exit status %d, want 0\n%s\n%s", got, text, d.errors.String())
	}
	_, story, _ := strings.Cut(text, "\nScene 1 of 8")
	reasons := [][]string{
		{"worker-3 (127.0.0.13): absent -> ready, Ready: GET http://127.0.0.13:"},
		{"worker-2 (127.0.0.12): ready -> down, ProbeRefused: ", "127.0.0.12 worker-2 down ProbeRefused"},
		{"worker-2 (127.0.0.12): down -> ready, Ready: "},
		{"worker-5 (127.0.0.15): ready -> draining, Draining: ", "127.0.0.15 worker-5 draining Draining", "draining -> absent, Gone: "},
		{"the document is truncated", "Publish -> Hold, NoNodes: ", "EMPTY_RESULT_THRESHOLD=10", "no such file or directory", "127.0.0.14 worker-4 ready"},
		{"source recovered", "Hold -> Publish"},
		{"Publish -> FailOpen, NothingPasses: ", "ProbeStatus", "FailOpen -> Publish"},
		{"stopped, the slices are left as they are", "127.0.0.14 worker-4 ready"},
	}
	told := regexp.MustCompile(`\nScene \d of 8`).Split(story, -1)
	if len(told) != len(reasons) {
		t.Fatalf("got %d scenes, want %d:\n%s", len(told), len(reasons), text)
	}
	for i, scene := range told {
		words := strings.Join(strings.Fields(scene), " ")
		for _, want := range append(reasons[i], " OK ") {
			if !strings.Contains(words, want) {
				t.Errorf("scene %d does not say %q:\n%s", i+1, want, scene)
			}
		}
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > columns || strings.Contains(line, "\x1b") {
			t.Errorf("a line is too wide or has a colour: %q", line)
		}
	}
	d.tidied(t)
}

func namesTheScene(t *testing.T, program string) {
	daemon := filepath.Join(t.TempDir(), "daemon")
	if err := os.WriteFile(daemon, []byte("#!/bin/sh\necho no such luck >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := newDemo(t, program, daemon)
	_, err := d.Output()
	if got := status(t, err); got != exitFailed {
		t.Errorf("got exit status %d, want %d", got, exitFailed)
	}
	for _, want := range []string{"scene 1 (Nodes join)", "three ready endpoints", "exit status 3", "\n  no such luck\n"} {
		if !strings.Contains(d.errors.String(), want) {
			t.Errorf("got %s, want %q in it", d.errors.String(), want)
		}
	}
	d.tidied(t)
}

func stopsAtCtrlC(t *testing.T, d *demo) {
	output, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	port := ""
	lines := bufio.NewScanner(output)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Scene 2") {
		if _, after, ok := strings.Cut(lines.Text(), "TARGET_PORT="); ok {
			port, _, _ = strings.Cut(after, " ")
		}
	}
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		continue // drain the pipe, or the demo would block when it is full
	}
	if got := status(t, d.Wait()); got != exitInterrupted {
		t.Errorf("got exit status %d, want %d\n%s", got, exitInterrupted, d.errors.String())
	}
	d.tidied(t)
	var dialer net.Dialer
	if _, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.11:"+port); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v from a backend on port %q, want none there", err, port)
	}
}
