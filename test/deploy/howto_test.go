package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

const (
	howto    = "../../docs/how-to/install-with-manifests.md"
	maintain = "../../docs/how-to/maintain.md"
	upgrade  = "../../docs/how-to/upgrade.md"
)

// block is the first block of commands below a heading of a page.
func block(t *testing.T, page, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(read(t, page), "\n## "+heading+"\n")
	m := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	if !found || m == nil {
		t.Fatalf("%s: no commands below %q", page, heading)
	}
	return m[1]
}

// terminal is one person's terminal in a fresh checkout: variables stay from one
// block to the next.
type terminal struct {
	dir, state string
	env        []string
}

// newTerminal copies the files that the pages name, without files of a user, and has
// kubectl in its PATH.
func newTerminal(t *testing.T, w *world) *terminal {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"hack", "deploy"} {
		must(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join("../..", name))))
	}
	own, err := filepath.Glob(filepath.Join(dir, "deploy", "*.yaml"))
	must(t, err)
	for _, path := range own {
		if name := filepath.Base(path); !strings.HasSuffix(name, ".example.yaml") && name != "kustomization.yaml" && name != "chart-values.yaml" {
			must(t, os.Remove(path))
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, ".envrc.example"), []byte(read(t, "../../.envrc.example")), 0o600))
	must(t, os.Symlink(w.CP.KubectlPath(), filepath.Join(home, "kubectl")))
	return &terminal{dir, filepath.Join(home, "state"), []string{
		"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH"), "KUBECONFIG=" + w.CP.Kubeconfig(t),
		"CONTROLLER_BINARY=" + built.Program(t),
	}}
}

// command is a block in the terminal. direnv loads .envrc.
func (s *terminal) command(t *testing.T, block string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `state=$1
[ ! -f "$state" ] || . "$state"
direnv() { [ "$1" = allow ] && . ./.envrc; }
`+block+`
export -p >"$state"
`, "bash", s.state)
	command.Dir, command.Env = s.dir, s.env
	return command
}

// run runs a block that must succeed.
func (s *terminal) run(t *testing.T, block string) (stdout, stderr string) {
	t.Helper()
	var said strings.Builder
	command := s.command(t, block)
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s%s", err, block, out, said.String())
	}
	return string(out), said.String()
}

// fillsTheCopiesIn runs the commands that fill the copies in: what they print is
// what the text goes on with.
func (s *terminal) fillsTheCopiesIn(t *testing.T) {
	out, _ := s.run(t, block(t, howto, "Fill them in"))
	var left []string
	for line := range strings.Lines(out) {
		file, rest, _ := strings.Cut(line, ":")
		_, rest, _ = strings.Cut(rest, ":")
		key, _, _ := strings.Cut(strings.TrimSpace(rest), ":")
		left = append(left, strings.TrimPrefix(file, "deploy/")+" "+key)
	}
	want := []string{
		"ionos-token-secret.yaml token", "kubeconfigs-secret.yaml server",
		"kubeconfigs-secret.yaml certificate-authority-data", "kubeconfigs-secret.yaml token",
		"controller-config.yaml IONOS_DATACENTER_ID", "controller-config.yaml IONOS_PRIVATE_LAN_ID",
		"controller-config.yaml SECURED_SUBNET_CIDR",
	}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left to fill in (-want +got):\n%s", diff)
	}
	if got := strings.Count(read(t, filepath.Join(s.dir, "deploy/rbac.yaml")), "namespace: backends"); got != 2 {
		t.Errorf("rbac.yaml: got the namespace %d times, want 2", got)
	}
}

func TestTheCopiesAreIgnoredByGit(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		return // without a repository no Secret can be committed
	}
	ignored := exec.CommandContext(t.Context(), "git", "check-ignore", "--no-index", "deploy/ionos-token-secret.yaml", "deploy/kubeconfigs-secret.yaml")
	ignored.Dir = "../.."
	if out, err := ignored.CombinedOutput(); err != nil {
		t.Errorf("the copies with Secrets: got %v %q, want them ignored by Git", err, out)
	}
}
