package e2e_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestRareFaults lets happen what hardly ever does, each in a world of its own.
func TestRareFaults(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for name, test := range map[string]func(*testing.T, *world){
		"APolicyRefusesWrites":         aPolicyRefusesWrites,
		"ARightIsTakenAndGivenBack":    aRightIsTaken,
		"AQuotaIsUsedUp":               aQuotaIsUsedUp,
		"TheNamespaceIsBeingDeleted":   theNamespaceIsBeingDeleted,
		"TheSliceIsBeingDeleted":       theSliceIsBeingDeleted,
		"TheSliceIsDeletedByHand":      theSliceIsDeletedByHand,
		"ASliceOfOursHasAnotherFamily": aSliceHasAnotherFamily,
		"AWriteHangsAtTheEnd":          aWriteHangsAtTheEnd,
		"SIGTERMTwiceEndsAtOnce":       twiceEndsAtOnce,
		"SIGHUPIsLikeACrash":           hangupIsLikeACrash,
		"TheLogHasNoReader":            theLogHasNoReader,
		"TheLogIsNotTaken":             theLogIsNotTaken,
		"TheExecPluginHangs":           theExecPluginHangs,
		"TheNameOfTheServerIsUnknown":  theNameIsUnknown,
		"TheKubeconfigIsDeleted":       theKubeconfigIsDeleted,
		"TheKubeconfigIsReplaced":      theKubeconfigIsReplaced,
		"TheRightToWatchIsTaken":       theRightToWatchIsTaken,
		"TheRootFileSystemIsReadOnly":  theRootIsReadOnly,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, cp, "client-go"))
		})
	}
	t.Run("TheRootFileSystemIsReadOnlyWithKubectl", func(t *testing.T) {
		t.Parallel()
		theRootIsReadOnly(t, newWorld(t, cp, "kubectl"))
	})
}

// startAs runs the daemon by a program, or itself where that is nil, and with
// what is done to the command before it starts.
func (w *world) startAs(by []string, prepare func(*exec.Cmd), changes ...string) *exec.Cmd {
	w.t.Helper()
	args := slices.Concat(by, []string{built.Program(w.t)})
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = w.environ(changes...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	prepare(cmd)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// ended waits for the end of a program and returns its exit status, or minus the
// signal that ended it.
func (w *world) ended(cmd *exec.Cmd) int {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
	case <-time.After(waitTimeout):
		w.t.Fatal("it does not end")
	}
	if how, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && how.Signaled() {
		return -int(how.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// theLogHasNoReader: what takes the log goes away, as a pipe to a program that
// ends, or a container runtime that is restarted.
func theLogHasNoReader(t *testing.T, w *world) {
	reader, writer := pipe(t)
	cmd := w.startAs(nil, func(c *exec.Cmd) { c.Stderr = writer })
	w.wantPublished(w.all())
	_ = reader.Close()
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	w.nodes[0].backends[0].start(t)
	w.wantPublished(w.all())
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(cmd); got != 0 {
		t.Errorf("got exit status %d, want 0", got)
	}
}

// theLogIsNotTaken: the reader is there, and stands still.
func theLogIsNotTaken(t *testing.T, w *world) {
	reader, writer := pipe(t)
	if _, err := unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	cmd := w.startAs(nil, func(c *exec.Cmd) { c.Stderr = writer })
	lines := bufio.NewReader(reader)
	line := map[string]any{}
	for line["msg"] != "listening" {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	s := &surfaces{&daemon{world: w, cmd: cmd}, fmt.Sprint(line["admin_address"]), fmt.Sprint(line["metrics_address"])}
	w.wantPublished(w.all())
	for range 3 { // more lines than the pipe takes
		w.nodes[0].backends[0].kill()
		w.wantPublished(w.all("down"))
		w.nodes[0].backends[0].start(t)
		w.wantPublished(w.all())
	}
	s.wantHealth("the log is not taken", 200)
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(cmd); got != 0 {
		t.Errorf("got exit status %d, want 0", got)
	}
	wantWithin(t, "stopping", start, time.Now(), 10*time.Second)
}

func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	return reader, writer
}

// theRootIsReadOnly: nothing can be written, in no folder.
func theRootIsReadOnly(t *testing.T, w *world) {
	const readOnly = `mount --make-rprivate / && awk '{print $2}' /proc/self/mounts | while read -r point; do
	mount -o remount,bind,ro "$point" 2>/dev/null || true
done
! touch "$HOME/file" 2>/dev/null && ! touch /tmp/file 2>/dev/null || { echo '{"msg": "it can be written"}' >&2; exit 99; }
exec "$@"`
	reader, writer := pipe(t)
	cmd := w.startAs([]string{"unshare", "--mount", "sh", "-c", readOnly, "sh"}, func(c *exec.Cmd) { c.Stderr = writer })
	_ = writer.Close()
	d := &daemon{world: w, cmd: cmd, done: make(chan struct{})}
	go d.read(reader)
	d.says("started from the slices")
	w.wantPublished(w.all())
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.ended(cmd); got != 0 {
		t.Errorf("got exit status %d, want 0: %s", got, strings.Join(d.raw, "\n"))
	}
}

// onServer is a kubeconfig of the daemon's user with changes.
func (w *world) onServer(change func(text string) string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.cp.UserKubeconfig(w.t, w.user))
	if err != nil {
		w.t.Fatal(err)
	}
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if _, err := clientcmd.LoadFromFile(path); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// theNameIsUnknown: the API server's name cannot be resolved.
func theNameIsUnknown(t *testing.T, w *world) {
	path := w.onServer(func(text string) string {
		return strings.Replace(text, w.cp.Address().String(), "api.invalid:6443", 1)
	})
	d := w.start("KUBECONFIG=" + path)
	s := newSurfaces(d)
	if got := fmt.Sprint(s.says("cannot load the slices, trying again")["error"]); !strings.Contains(got, "api.invalid") {
		t.Errorf("got the error %s, want the name in it", got)
	}
	s.wantHealth("the name is unknown", 503)
	d.wantStop()
}

// theKubeconfigIsDeleted: what the daemon runs with is not read again.
func theKubeconfigIsDeleted(t *testing.T, w *world) {
	path := w.onServer(func(text string) string { return text })
	w.start("KUBECONFIG=" + path)
	w.wantPublished(w.all())
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
}

// theExecPluginHangs: the program that fetches the credentials for the local API
// server never ends.
func theExecPluginHangs(t *testing.T, w *world) {
	config, err := clientcmd.LoadFromFile(w.cp.UserKubeconfig(t, w.user))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData = nil, nil
		user.Exec = hangingPlugin()
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	d := w.start("KUBECONFIG=" + path)
	s := newSurfaces(d)
	s.says("cannot load the slices, trying again")
	s.wantHealth("the plugin hangs", 503)
	d.wantStop()
}
