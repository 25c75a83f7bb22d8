package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// logsOfOne matches the logs of one Pod of a Deployment, which may be the
	// standby's. A page may speak of "deploy/...".
	logsOfOne = regexp.MustCompile(`\blogs\b[^|;&]*\b(?:deploy|deployment|deployments|deployment\.apps|deployments\.apps)[/ ][^.\s]`)
	// logsOfAll matches the logs of the Pods with a label.
	logsOfAll = regexp.MustCompile(`\bkubectl\b[^|;&]*\blogs\b[^|;&]*(?: -l |--selector)[^|;&]*`)
	// inEither is the program in one Pod of a Deployment, in runbooks by the function in_pod.
	inEither = regexp.MustCompile(`(?:\bexec\b[^|;&]*\bdeploy(?:ment)?/\S+ -- /ionos-endpointslice-controller|^\s*in_pod) ([a-z]+)`)
	// forEvery are the commands that say the same in the Pod of the leader and in that
	// of a standby.
	forEvery = []string{"status", "explain", "diff", "check", "config", "version"}
)

// wrongOfTwo says what is wrong with a command line where two replicas run.
func wrongOfTwo(line string) string {
	if logsOfOne.MatchString(line) {
		return "with two replicas these may be the logs of the standby; write logs -l LABEL --prefix --tail=N"
	}
	if all := logsOfAll.FindString(line); all != "" && (!strings.Contains(all, "--prefix") || !strings.Contains(all, "--tail")) {
		return "logs -l shows the last 10 lines of each Pod, and not which Pod; write --prefix --tail=N, or -1 for all"
	}
	for _, found := range inEither.FindAllStringSubmatch(line, -1) {
		if !slices.Contains(forEvery, found[1]) {
			return "with two replicas this may run in the standby, which does not say of " + found[1] + " what the leader does"
		}
	}
	return ""
}

func TestACommandThatIsWrongWithTwoReplicasIsRecognised(t *testing.T) {
	const program = "kubectl -n $NS exec deploy/$APP -- /ionos-endpointslice-controller "
	for line, right := range map[string]bool{
		"kubectl -n $NS logs deploy/$APP --tail=50": false, "kubectl logs -n edge deployment/x": false, "kubectl logs --since=1h deployments.apps/x | grep y": false,
		"kubectl logs -l app=x --prefix": false, "kubectl logs --selector app=x --tail=5": false,
		"kubectl logs -l app=x --prefix --tail=-1 | grep y": true, "kubectl logs POD": true, "kubectl logs job/x": true,
		program + "run --once": false, "in_pod run --once": false, "in_pod status -A": true, program + "status --wait": true, program + "explain w1": true,
		"kubectl rollout status deploy/x": true, "the logs of a Deployment": true, "logs deploy/...": true,
	} {
		if got := wrongOfTwo(line); (got == "") != right {
			t.Errorf("%s: got %q", line, got)
		}
	}
}

// TestEveryCommandIsRightWithTwoReplicas reads the pages, what the chart says after an
// installation, and the scripts.
func TestEveryCommandIsRightWithTwoReplicas(t *testing.T) {
	seen := 0
	judge := func(path string, line int, text string) {
		if inEither.MatchString(text) || logsOfAll.MatchString(text) {
			seen++
		}
		if wrong := wrongOfTwo(text); wrong != "" {
			t.Errorf("%s:%d: %s: %s", path, line, strings.TrimSpace(text), wrong)
		}
	}
	for _, p := range pages(t) {
		p.code(func(line int, text string) { judge(p.path, line, text) })
	}
	for _, folder := range []string{"helm", "hack", "scripts", "deploy"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !slices.Contains([]string{".sh", ".txt", ".yaml", ".tpl"}, filepath.Ext(path)) {
				return err
			}
			relative, err := filepath.Rel(root, path)
			// A line that is broken by a backslash is one, and counted as one.
			for i, text := range strings.Split(strings.ReplaceAll(read(t, relative), "\\\n", " "), "\n") {
				judge(relative, i+1, text)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 35 {
		t.Errorf("got %d such commands: are they still recognised?", seen)
	}
}
