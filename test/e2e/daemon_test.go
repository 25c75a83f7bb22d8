package e2e_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// daemon is one run of the program.
type daemon struct {
	world *world
	cmd   *exec.Cmd
	done  chan struct{}

	mu    sync.Mutex
	lines []map[string]any
	raw   []string
	// seen is how many lines wait has gone through.
	seen int
}

// environ is the world's environment, with changes.
func (w *world) environ(changes ...string) []string {
	var env []string
	for name, value := range w.env {
		env = append(env, name+"="+value)
	}
	return append(env, changes...)
}

// start runs the daemon until the test ends; its logs are shown when it fails.
func (w *world) start(changes ...string) *daemon {
	w.t.Helper()
	d := &daemon{world: w, done: make(chan struct{})}
	d.cmd = exec.Command(built.Program(w.t))
	d.cmd.Env = w.environ(changes...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		defer close(d.done)
		d.read(stderr)
		_ = d.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		d.kill()
		if w.t.Failed() {
			w.t.Logf("log of the daemon:\n%s", strings.Join(d.raw, "\n"))
		}
	})
	return d
}

// read takes the log in.
func (d *daemon) read(stderr io.Reader) {
	scanner := bufio.NewScanner(stderr)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		line := map[string]any{}
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			line = map[string]any{"msg": scanner.Text()}
		}
		d.mu.Lock()
		d.lines, d.raw = append(d.lines, line), append(d.raw, scanner.Text())
		d.mu.Unlock()
	}
}

// kill ends the daemon as a crash would.
func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// stop ends the daemon in order and returns its exit status.
func (d *daemon) stop() int {
	d.world.t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.world.t.Fatal(err)
	}
	select {
	case <-d.done:
	case <-time.After(waitTimeout):
		d.world.t.Fatal("the daemon does not stop")
	}
	return d.cmd.ProcessState.ExitCode()
}

// wantStop ends the daemon in order, and demands that it ends well and in time.
func (d *daemon) wantStop() {
	d.world.t.Helper()
	start := time.Now()
	if got := d.stop(); got != 0 {
		d.world.t.Errorf("got exit status %d, want 0", got)
	}
	wantWithin(d.world.t, "stopping", start, time.Now(), 10*time.Second)
}

// says waits for the next log line with that message and returns it.
func (d *daemon) says(message string) map[string]any {
	d.world.t.Helper()
	var found map[string]any
	d.world.until(func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		for ; d.seen < len(d.lines); d.seen++ {
			if d.lines[d.seen]["msg"] == message {
				found = d.lines[d.seen]
				d.seen++
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("the daemon does not say %q", message) })
	return found
}

// count returns how many lines so far have that message.
func (d *daemon) count(message string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, line := range d.lines {
		if line["msg"] == message {
			n++
		}
	}
	return n
}

// result is what one command came to.
type result struct {
	code           int
	stdout, stderr string
}

// command runs the program with arguments to its end.
func (w *world) command(changes []string, args ...string) result {
	w.t.Helper()
	return runProgram(w.t, w.environ(changes...), args...)
}

// runProgram runs the program in an environment.
func runProgram(t *testing.T, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built.Program(t), args...)
	cmd.Env = env
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
