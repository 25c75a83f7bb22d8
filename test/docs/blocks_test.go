package docs_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	// waitTimeout bounds one block; building the program is the longest.
	waitTimeout = 5 * time.Minute
	// ready is where the daemon of a block says that it works, at its default
	// address; the mark of a block may name another one.
	ready = "http://127.0.0.1:8081/readyz"
)

// before and after stand around a block. Variables are kept for the next block, as in
// a terminal that stays open, and .envrc is loaded as direnv does it. A command that
// fails ends the block, except diff: its status 1 says that something differs.
const (
	before = `set -uEa
state=$1
[ ! -f "$state" ] || . "$state"
[ ! -f .envrc ] || . ./.envrc
direnv() { [ "$1" = allow ] && . ./.envrc; }
trap 'code=$?; case "$code $BASH_COMMAND" in "1 "*ionos-endpointslice-controller" diff" | "1 kubectl diff "*) ;; *) echo "exit status $code: $BASH_COMMAND" >&2; exit $code ;; esac' ERR
`
	after = `
export -p > "$state"
`
)

// session is a terminal in a copy of the repository. It follows a page as a person
// would.
type session struct {
	dir, home, state string
	env              []string
	daemons          []daemon
}

// daemon is a block that runs until it is stopped; ended says how it did.
type daemon struct {
	cmd   *exec.Cmd
	ended chan error
}

// newSession copies the repository and puts the tools of the tests into the PATH.
func newSession(t *testing.T) *session {
	t.Helper()
	home := t.TempDir()
	s := &session{dir: t.TempDir(), home: home, state: filepath.Join(home, "state")}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(s.dir, relative), 0o700)
		case !entry.Type().IsRegular():
			return nil
		}
		return copyFile(path, filepath.Join(s.dir, relative))
	})
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(home, "bin")
	if err := os.Mkdir(tools, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tool := range map[string]string{"kubectl": "kubectl", "helm": "helm4"} {
		if err := os.Symlink(built.Tool(t, tool), filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"HOME=" + home, "PATH=" + tools + ":" + os.Getenv("PATH"), "TMPDIR=" + home}
	s.env = append(s.env, goEnv(t)...)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// goEnv makes go in a copy of the repository compile as [built] does, so that what is
// compiled already is used: each copy has another path.
func goEnv(t *testing.T) []string {
	t.Helper()
	names := []string{"GOPATH", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOPROXY", "GOFLAGS"}
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"CGO_ENABLED=0"}
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if names[i] == "GOFLAGS" {
			value = strings.TrimSpace(value + " -trimpath")
		}
		env = append(env, names[i]+"="+value)
	}
	return env
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a temporary file of another program
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode())
}

// follow runs the blocks of a page in their order.
func (s *session) follow(t *testing.T, path string) {
	t.Helper()
	s.blocks(t, newPage(path, read(t, path)), func(int) {})
}

// blocks runs those of a page, and calls then after each with their number so far.
func (s *session) blocks(t *testing.T, p page, then func(done int)) {
	t.Helper()
	ran := 0
	for _, b := range p.blocks {
		if b.language != "sh" || strings.HasPrefix(b.mark, "not run here") {
			continue
		}
		ran++
		if out, err := s.run(t, b); err != nil {
			t.Fatalf("%s:%d: %v\n%s\n%s", p.path, b.line, err, b.text, out)
		}
		then(ran)
	}
	if ran == 0 {
		t.Errorf("%s: no block was run", p.path)
	}
}

// run runs one block to its end, or until its daemon is ready.
func (s *session) run(t *testing.T, b block) (*bytes.Buffer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	where, lasts := strings.CutPrefix(b.mark, "runs until stopped")
	if lasts {
		// stop ends it; the end of the test's context would kill it first, now and then.
		ctx = context.WithoutCancel(t.Context())
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", before+b.text+after, "bash", s.state)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if lasts {
		d := daemon{cmd, make(chan error, 1)}
		go func() { d.ended <- cmd.Wait() }()
		if err = answers(t, cmp.Or(strings.TrimPrefix(where, ": "), ready), d); err == nil {
			s.daemons = append(s.daemons, d)
		}
	} else {
		err = cmd.Wait()
	}
	said, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return bytes.NewBuffer(said), err
}

// answers waits until the address does, or the daemon has ended by itself.
func answers(t *testing.T, url string, d daemon) error {
	t.Helper()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-d.ended:
			return errors.Join(errors.New("it ended by itself"), err)
		case <-pause.C:
		}
	}
	return fmt.Errorf("%s does not answer with 200", url)
}

// stop ends the daemons of the session as Ctrl-C does, which is no failure.
func (s *session) stop(t *testing.T) {
	t.Helper()
	for _, d := range s.daemons {
		if err := syscall.Kill(-d.cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Errorf("stop the daemon: %v", err)
		}
		var exit *exec.ExitError
		if err := <-d.ended; err != nil && !(errors.As(err, &exit) && stopped(exit)) {
			t.Errorf("the daemon was stopped: %v", err)
		}
	}
	s.daemons = nil
}

// stopped reports whether the shell was ended by the signal, as its daemon was.
func stopped(exit *exec.ExitError) bool {
	how, ok := exit.Sys().(syscall.WaitStatus)
	return ok && how.Signaled() && how.Signal() == syscall.SIGTERM
}

// clusterSession is a session with an API server where kubectl and Helm look for one.
func clusterSession(t *testing.T) *session {
	t.Helper()
	cp, s := controlplane.Start(t, controlplane.Options{}), newSession(t)
	config := filepath.Join(s.home, ".kube", "config")
	if err := os.Mkdir(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(cp.Kubeconfig(t), config); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheBlocksOfTheReadmeWork has an API server where kubectl and Helm look for
// one, and the two files that the installation takes its Secrets from.
func TestTheBlocksOfTheReadmeWork(t *testing.T) {
	netns.Require(t)
	s := clusterSession(t)
	for _, name := range []string{"token", "remote-kubeconfig.yaml"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.follow(t, "README.md")
}

// tryIt is the page about a machine without a cluster.
const tryIt = "docs/try-it.md"

func TestTheBlocksWithoutAClusterWork(t *testing.T) {
	netns.Require(t)
	newSession(t).follow(t, tryIt)
}

// TestTheBlocksOfTheTutorialWork has one API server for both clusters, and what
// the blocks that are not run would have left.
func TestTheBlocksOfTheTutorialWork(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{})
	s := newSession(t)
	for _, name := range []string{"edge.yaml", "secured.yaml"} {
		if err := copyFile(cp.Kubeconfig(t), filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "DATACENTER_ID=8feda53f-15f0-447f-badf-ebe32dad2fc0", "LAN_ID=2")
	s.follow(t, "docs/tutorial.md")
}
