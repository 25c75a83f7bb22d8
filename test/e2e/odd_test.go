package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// oddity is one way in which an inventory goes wrong.
type oddity struct {
	name string
	// make makes it in place of the inventory, or of the program that prints one.
	make func(t *testing.T, path string)
	// says is part of the error.
	says string
}

// TestOddInventories breaks the inventory of a running daemon with one mistake after
// the other: each is an error, and no endpoint goes.
func TestOddInventories(t *testing.T) {
	netns.Require(t)
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		w := newLocalWorld(t)
		s := newSurfaces(w.start("SOURCE_TIMEOUT=5s"))
		s.survives(oddFiles(t, w), w.inventory, func() { w.writeInventory(w.nodes) })
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		w := newLocalWorld(t)
		path := filepath.Join(t.TempDir(), "inventory")
		mend := func() { program(t, path, "cat "+w.inventory) }
		mend()
		s := newSurfaces(w.start("SOURCE_KIND=command", "INVENTORY_COMMAND="+path, "INVENTORY_FILE_PATH=", "SOURCE_TIMEOUT=2s"))
		s.survives(oddCommands(w), path, mend)
	})
}

// survives makes each oddity and ends it.
func (s *surfaces) survives(odd []oddity, path string, mend func()) {
	w := s.world
	w.t.Helper()
	w.until(s.allReady, func() string { return fmt.Sprintf("at first: got %+v, want every node ready", s.status().Nodes) })
	for _, o := range odd {
		if err := os.RemoveAll(path); err != nil {
			w.t.Fatal(err)
		}
		o.make(w.t, path)
		w.until(func() bool { return strings.Contains(s.status().Source.LastError, o.says) }, func() string {
			return o.name + ": got the error " + s.status().Source.LastError + ", want one with " + o.says
		})
		s.wantAllReady(o.name)
		if err := os.RemoveAll(path); err != nil {
			w.t.Fatal(err)
		}
		mend()
		w.until(func() bool { return s.status().Source.LastError == "" }, func() string {
			return o.name + " is over: got the error " + s.status().Source.LastError
		})
		s.wantAllReady(o.name + " is over")
	}
}

func (s *surfaces) wantAllReady(when string) {
	s.world.t.Helper()
	if !s.allReady() {
		s.world.t.Errorf("%s: got %+v, want every node ready", when, s.status().Nodes)
	}
}

func (s *surfaces) allReady() bool {
	nodes := s.status().Nodes
	return len(nodes) == len(s.world.nodes) && !slices.ContainsFunc(nodes, func(n nodeStatus) bool { return n.State != "ready" })
}

// content makes a file.
func content(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".next", path); err != nil {
			t.Fatal(err)
		}
	}
}

func folder(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func gone(*testing.T, string) {}

func oddFiles(t *testing.T, w *world) []oddity {
	t.Helper()
	good := marshal(t, w.nodes)
	return []oddity{
		{"gone", gone, "no such file"},
		{"a folder", folder, "not a regular file"},
		{"a FIFO", func(t *testing.T, path string) {
			t.Helper()
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"a link to a device", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Symlink("/dev/zero", path); err != nil {
				t.Fatal(err)
			}
		}, "not a regular file"},
		{"2 GiB", func(t *testing.T, path string) {
			t.Helper()
			content("")(t, path+".large")
			if err := os.Truncate(path+".large", 2<<30); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".large", path); err != nil {
				t.Fatal(err)
			}
		}, "larger than"},
		{"a byte order mark", content("\ufeff" + good), "byte order mark"},
		{"UTF-16", content("\xff\xfe[\x00]\x00"), "not UTF-8"},
		{"NUL bytes", content("[\x00]"), "not JSON"},
		{"NUL bytes at the end", content(good + "\x00\x00"), "follows the document"},
		{"brackets without end", content(strings.Repeat("[", 100_000)), "max depth"},
		{"a word", content("null"), "null"},
	}
}

// program makes a shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

func oddCommands(w *world) []oddity {
	script := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			program(t, path, strings.ReplaceAll(text, "LIST", "cat "+w.inventory))
		}
	}
	return []oddity{
		{"gone", gone, "no such file"},
		{"a folder", folder, "permission denied"},
		{"not executable", content("#!/bin/sh\n"), "permission denied"},
		{"half written, and still open", func(t *testing.T, path string) {
			t.Helper()
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = file.Close() })
			if _, err := file.WriteString("#!/bin/sh\necho '[{"); err != nil {
				t.Fatal(err)
			}
		}, "inventory command"},
		{"a status after the list", script("LIST; exit 1"), "exit status 1"},
		{"a signal after the list", script("LIST; kill -KILL $$"), "signal 9"},
		{"words", script("echo please log in"), "not JSON"},
		{"a warning before the list", script("echo warning; LIST"), "not JSON"},
		{"a warning after the list", script("LIST; echo warning"), "follows the document"},
		{"it hangs", script("trap '' TERM INT; sleep 600 & echo connecting >&2; wait"), "connecting"},
		{"it leaves a daemon at its output", script("setsid sleep 4 & LIST"), "holds the output open"},
		{"it floods standard error", script("head -c 20000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3"), "exit status 3"},
		{"it stops itself", script("kill -STOP $$; LIST"), "killed"},
	}
}

// TestContract33TheFirstProcessOfAContainerCollectsWhatItsCommandsLeave: a program
// that makes daemons of its children leaves them to process 1, which is us.
func TestContract33TheFirstProcessOfAContainerCollectsWhatItsCommandsLeave(t *testing.T) {
	netns.Require(t)
	w := newLocalWorld(t)
	path := filepath.Join(t.TempDir(), "inventory")
	program(t, path, "echo >> "+path+".runs; setsid sh -c 'sleep 0.1' </dev/null >/dev/null 2>&1 & cat "+w.inventory)
	cmd := w.startAs([]string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}, func(*exec.Cmd) {},
		"SOURCE_KIND=command", "INVENTORY_COMMAND="+path, "INVENTORY_FILE_PATH=", "SOURCE_POLL_INTERVAL=100ms")
	runs := func() int {
		data, _ := os.ReadFile(path + ".runs")
		return len(data)
	}
	w.until(func() bool { return runs() >= 20 }, func() string { return "the command does not run" })
	first := children(t, cmd.Process.Pid)
	if len(first) != 1 {
		t.Fatalf("got processes %v below unshare, want the daemon", first)
	}
	zombies := func() (n int) {
		for _, pid := range children(t, first[0]) {
			if stateOf(pid) == "Z" {
				n++
			}
		}
		return n
	}
	// Those of the last runs are collected by the next.
	w.until(func() bool { return zombies() <= 3 }, func() string {
		return fmt.Sprintf("got %d zombies after %d runs", zombies(), runs())
	})
	if err := syscall.Kill(first[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(cmd); got != 0 {
		t.Errorf("got exit status %d, want 0", got)
	}
}
