package hack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what the rules below look at.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions *map[string]string `json:"permissions"`
		Timeout     int                `json:"timeout-minutes"`
		Uses        string             `json:"uses"`
		Steps       []struct {
			Uses string `json:"uses"`
		} `json:"steps"`
	} `json:"jobs"`
}

var (
	pinned = regexp.MustCompile(`^[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}$`)
	// uses is a line of a workflow with what follows the action; it must name a version.
	uses = regexp.MustCompile(`(?m)^\s*(?:- )?uses:\s*(\S+)(.*)$`)
	said = regexp.MustCompile(`^ # v[0-9]+(\.[0-9]+)*$`)
)

// mistakesOf are the breaches of the rules: an action is pinned by its commit, with
// its version beside it; what a workflow may do is granted job by job; no job runs
// for hours.
func mistakesOf(text []byte) (found []string) {
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	if w.Permissions == nil || len(*w.Permissions) > 0 {
		found = append(found, "the top level has no \"permissions: {}\"")
	}
	if len(w.Jobs) == 0 {
		found = append(found, "there are no jobs")
	}
	count := 0
	for name, job := range w.Jobs {
		if job.Permissions == nil {
			found = append(found, fmt.Sprintf("job %s: no permissions", name))
		}
		if job.Timeout <= 0 {
			found = append(found, fmt.Sprintf("job %s: no timeout-minutes", name))
		}
		all := []string{job.Uses}
		for _, step := range job.Steps {
			all = append(all, step.Uses)
		}
		for _, action := range all {
			if action == "" {
				continue
			}
			count++
			if !pinned.MatchString(action) {
				found = append(found, fmt.Sprintf("job %s: %s is not pinned by a commit", name, action))
			}
		}
	}
	lines := uses.FindAllSubmatch(text, -1)
	if len(lines) != count {
		found = append(found, fmt.Sprintf("%d actions stand in %d lines", count, len(lines)))
	}
	for _, line := range lines {
		if !said.Match(line[2]) {
			found = append(found, fmt.Sprintf("%s: no version beside it", line[1]))
		}
	}
	slices.Sort(found)
	return found
}

func TestTheWorkflowsArePinnedAndLimited(t *testing.T) {
	for _, pattern := range []string{"*.yml", "*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", pattern))
		if err != nil {
			t.Fatal(err)
		}
		if pattern == "*.yml" && len(files) == 0 {
			t.Fatal("there are no workflows")
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, mistake := range mistakesOf(text) {
				t.Errorf("%s: %s", filepath.Base(file), mistake)
			}
		}
	}
}

func TestTheRulesForWorkflowsFindEachBreach(t *testing.T) {
	const commit = "3d3c42e5aac5ba805825da76410c181273ba90b1"
	const good = "permissions: {}\njobs:\n  a:\n    timeout-minutes: 5\n    permissions: {}\n    steps:\n      - uses: a/b@" + commit + " # v1.2.3\n"
	if got := mistakesOf([]byte(good)); len(got) > 0 {
		t.Fatalf("got %v for a good workflow", got)
	}
	for old, replaced := range map[string]string{
		"permissions: {}\njobs":  "jobs",
		"permissions: {}\njobs:": "permissions: {contents: read}\njobs:",
		"    permissions: {}\n":  "",
		"timeout-minutes: 5":     "name: x",
		"@" + commit:             "@v1.2.3",
		" # v1.2.3":              "",
		"# v1.2.3":               "# newest",
		"      - uses":           "      - name: x\n        \"uses\"",
	} {
		text := regexp.MustCompile(regexp.QuoteMeta(old)).ReplaceAllLiteralString(good, replaced)
		if got := mistakesOf([]byte(text)); len(got) == 0 {
			t.Errorf("%q instead of %q: got no mistake", replaced, old)
		}
	}
}
