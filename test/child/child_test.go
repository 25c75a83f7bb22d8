package child_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
)

const waitTimeout = 30 * time.Second

// start runs a script.
func start(t *testing.T, script string) *child.Child {
	t.Helper()
	c, err := child.Start(exec.Command("sh", "-c", script), filepath.Join(t.TempDir(), "script.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return c
}

func TestThePrintedLinesAndTheStatusOutliveTheChild(t *testing.T) {
	c := start(t, "seq 100; echo a fault >&2; exit 3")
	if err := c.Await(waitTimeout); err != nil {
		t.Fatal(err)
	}
	if got := c.State().ExitCode(); got != 3 {
		t.Errorf("got exit status %d, want 3", got)
	}
	if got := c.Tail(); !strings.HasPrefix(got, "--- last lines of script:\n72\n73\n") || !strings.HasSuffix(got, "\n100\na fault") {
		t.Errorf("got %q", got)
	}
	if err := c.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("got %v, want %v", err, os.ErrProcessDone)
	}
}

func TestKillEndsAPausedChildAndItsChildren(t *testing.T) {
	pipe, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	command := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	command.Stdout = theirs
	c, err := child.Start(command, filepath.Join(t.TempDir(), "script.log"))
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := pipe.Read(make([]byte, 20)); n == 0 || err != nil { // both run
		t.Fatalf("got %d bytes and error %v", n, err)
	}
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.AwaitStopped()
	if c.Ended() {
		t.Error("a paused child counts as ended")
	}
	c.Kill()
	if !c.Ended() {
		t.Error("a killed child has not ended")
	}
	_ = pipe.SetReadDeadline(time.Now().Add(waitTimeout))
	if _, err := pipe.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) { // the pipe closes with the last of them
		t.Error("the child of the child goes on")
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	if _, err := child.Start(exec.Command(filepath.Join(t.TempDir(), "none")), filepath.Join(t.TempDir(), "none.log")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}
