package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const howto = "../../docs/how-to/install-with-manifests.md"

// block is the first block of commands below a heading of the how-to.
func block(t *testing.T, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(read(t, howto), "\n## "+heading+"\n")
	m := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	if !found || m == nil {
		t.Fatalf("%s: no commands below %q", howto, heading)
	}
	return m[1]
}

// TestTheHowToLeavesWhatIsYours runs the commands that fill the copies in: what
// they print is what the text goes on with.
func TestTheHowToLeavesWhatIsYours(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "deploy"), os.DirFS(folder)))
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block(t, "Fill them in"))
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var left []string
	for line := range strings.Lines(string(out)) {
		file, rest, _ := strings.Cut(line, ":")
		_, rest, _ = strings.Cut(rest, ":")
		key, _, _ := strings.Cut(strings.TrimSpace(rest), ":")
		left = append(left, file+" "+key)
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
	if got := strings.Count(read(t, filepath.Join(dir, "deploy/rbac.yaml")), "namespace: backends"); got != 2 {
		t.Errorf("rbac.yaml: got the namespace %d times, want 2", got)
	}
	if _, err := os.Stat("../../.git"); err != nil {
		return // nobody can commit a Secret here
	}
	ignored := exec.CommandContext(t.Context(), "git", "check-ignore", "--no-index", "deploy/ionos-token-secret.yaml", "deploy/kubeconfigs-secret.yaml")
	ignored.Dir = "../.."
	if out, err := ignored.CombinedOutput(); err != nil {
		t.Errorf("the copies with Secrets: got %v %q, want them ignored by Git", err, out)
	}
}
