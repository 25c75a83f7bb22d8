package source_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// environ returns what PATH the test has, and more variables.
func environ(more ...string) func() ([]string, error) {
	return func() ([]string, error) { return append([]string{"PATH=" + os.Getenv("PATH")}, more...), nil }
}

// newSource returns a source that runs a shell script.
func newCommand(t *testing.T, script string, more ...string) *source.Command {
	t.Helper()
	source := &source.Command{Path: "sh", Args: []string{"-c", script}, Environ: environ(more...)}
	return source
}

func TestConformanceOfCommand(t *testing.T) {
	sourcetest.Run(t, sourcetest.Options{Start: commandHarness})
}

// harness is a source whose program is a script file, which is the world.
func commandHarness(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
	folder := t.TempDir()
	script, data := filepath.Join(folder, "script"), filepath.Join(folder, "data")
	source := &source.Command{Path: "/bin/sh", Args: []string{script, data}, Environ: environ()}
	run := func(code string) { must(t, os.WriteFile(script, []byte(code), 0o600)) }
	write := func(whole []byte) {
		must(t, os.WriteFile(data, whole, 0o600))
		run(`cat "$1"`)
	}
	put := func(nodes []inventory.Node) {
		whole, err := inventory.Encode(nodes)
		must(t, err)
		write(whole)
	}
	put(nodes)
	whole, err := os.ReadFile(data)
	must(t, err)
	return sourcetest.Harness{
		Source: source,
		Put:    put,
		Breaks: map[string]func(){
			"exit status 1 after a whole document": func() { run(`cat "$1"; exit 1`) },
			"a signal after a whole document":      func() { run(`cat "$1"; kill -9 $$`) },
			"a nested call that failed":            func() { run(`set -e; cat "$1"; false; exit 0`) },
			"more than 8 MiB of white space":       func() { run(`cat "$1"; head -c 8388608 /dev/zero | tr '\0' ' '`) },
			"an output without end":                func() { run(`cat "$1"; yes`) },
			"no output":                            func() { run(`exit 0`) },
			"a truncated document":                 func() { write(whole[:len(whole)-3]) },
			"a second document":                    func() { run(`cat "$1" "$1"`) },
			"a message after the document":         func() { run(`cat "$1"; echo done`) },
			"a malformed record":                   func() { write(bytes.Replace(whole, []byte(`"ready":true`), []byte(`"ready":null`), 1)) },
			"a duplicate record": func() {
				write(bytes.Replace(whole, []byte("["), []byte(`[{"name":"d","private_ips":[],"ready":true,"worker":true},{"name":"d","private_ips":[],"ready":true,"worker":true},`), 1))
			},
			"no script": func() { must(t, os.Remove(script)) },
		},
		Stall: func() { run(`cat "$1"; sleep 600 & wait`) },
	}
}

func TestContract02ErrorsCarryTheLastLinesOfStderr(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"exit status", "echo '[]'; echo loading >&2; echo 'no route to host' >&2; exit 4",
			`inventory command: run "sh": exit status 4; stderr ends: loading | no route to host`},
		{"signal", "kill -KILL $$", `inventory command: run "sh": ended by signal 9 (killed); its stderr is empty`},
		{"over the limit", "echo listing >&2; yes",
			`inventory command: run "sh": the output is over the limit of 8388608 bytes; stderr ends: listing`},
		{"no output", "echo nothing found >&2",
			`inventory command: output of "sh": decode inventory: the document is empty; an inventory of no nodes is []; stderr ends: nothing found`},
		{"no JSON", "echo error: no such context",
			`inventory command: output of "sh": decode inventory: line 1, column 1: the document is not JSON: invalid character 'e' looking for beginning of value; its stderr is empty`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := newCommand(t, test.script).Read(t.Context())
			if nodes != nil || err == nil || err.Error() != test.want {
				t.Errorf("got %v, error %v, want %s", nodes, err, test.want)
			}
		})
	}
}

func TestContract02ErrorsCanBeToldApart(t *testing.T) {
	_, err := newCommand(t, "exit 4").Read(t.Context())
	if exit := new(system.ExitError); !errors.As(err, &exit) || exit.Code != 4 {
		t.Errorf("got %v, want an ExitError of code 4", err)
	}
	if _, err := newCommand(t, "yes").Read(t.Context()); !errors.Is(err, system.ErrOutputLimit) {
		t.Errorf("got %v, want ErrOutputLimit", err)
	}
}

func TestStderrOfAProgramThatSucceedsIsDropped(t *testing.T) {
	nodes, err := newCommand(t, "echo warning: slow >&2; echo '"+one+"'").Read(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Errorf("got %v, %v, want one node", nodes, err)
	}
}

// The program starts a child that starts a grandchild; the grandchild ignores
// what it can and holds both outputs open.
func TestContract03ATimeOutKillsTheWholeProcessGroup(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "alive")
	source := newCommand(t, `
		mkfifo "$FIFO"
		echo '[]'; echo waiting for the API >&2
		sh -c 'trap "" TERM INT HUP; exec 3>"$FIFO"; echo ready >&3; sleep 600 & wait' &
		wait`, "FIFO="+fifo)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() {
		_, err := source.Read(ctx)
		result <- err
	}()
	alive := openWhenThere(t, fifo)
	buffer := make([]byte, 6)
	if _, err := alive.Read(buffer); err != nil || string(buffer) != "ready\n" {
		t.Fatalf("got %q, %v, want the grandchild to be ready", buffer, err)
	}
	cancel()
	err := <-result
	if !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), "stderr ends: waiting for the API") {
		t.Errorf("got %v, want context.Canceled and the last line of stderr", err)
	}
	// The end of the FIFO is the end of the last process that could write to it.
	must(t, alive.SetReadDeadline(time.Now().Add(5*time.Second)))
	if n, err := alive.Read(buffer); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes, %v, want the end: no process of the group is left", n, err)
	}
}

// openWhenThere opens a FIFO for reading as soon as it exists.
func openWhenThere(t *testing.T, fifo string) *os.File {
	t.Helper()
	for {
		// Opening blocks until the other end is opened for writing.
		f, err := os.Open(fifo)
		if err == nil {
			t.Cleanup(func() { _ = f.Close() })
			return f
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestContract04TheEnvironmentIsReadAgainForEveryRead(t *testing.T) {
	token := "first"
	source := &source.Command{
		Path: "/bin/sh",
		Args: []string{"-c", `test "$IONOS_TOKEN" = second && echo "[]"`},
		Environ: func() ([]string, error) {
			if token == "" {
				return nil, errors.New("IONOS_TOKEN_FILE: no such file")
			}
			return []string{"PATH=" + os.Getenv("PATH"), "IONOS_TOKEN=" + token}, nil
		},
	}
	if _, err := source.Read(t.Context()); err == nil {
		t.Error("got no error with the old token")
	}
	token = "second"
	if _, err := source.Read(t.Context()); err != nil {
		t.Errorf("got %v with the new token", err)
	}
	token = ""
	want := "inventory command: IONOS_TOKEN_FILE: no such file"
	if _, err := source.Read(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTheProgramGetsTheEnvironmentThatIsGivenAndNoOther(t *testing.T) {
	t.Setenv("IONOS_LEAK", "1")
	printer := &source.Command{
		Path: "/usr/bin/env", Environ: func() ([]string, error) { return []string{"HOME=/h"}, nil },
	}
	_, err := printer.Read(t.Context())
	if want := "invalid character 'H'"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want the output to begin with HOME", err)
	}
	printer = &source.Command{
		Path: "/usr/bin/env", Environ: func() ([]string, error) { return nil, nil },
	}
	_, err = printer.Read(t.Context())
	if want := "the document is empty"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want no variable", err)
	}
}

func TestWhatCannotBeRunIsAnError(t *testing.T) {
	for name, command := range map[string]*source.Command{
		"no program":        {Environ: environ()},
		"a NUL in the path": {Path: "s\x00h", Environ: environ()},
		"a NUL in the args": {Path: "sh", Args: []string{"\x00"}, Environ: environ()},
	} {
		if got, err := command.Read(t.Context()); got != nil || err == nil {
			t.Errorf("%s: got %v and no error, want an error", name, got)
		}
	}
}
