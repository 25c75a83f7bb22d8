package chart_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// helms are the versions that the charts are for.
var helms = []string{"helm3", "helm4"}

// readme is what the README's command sets, with the LAN of the tests.
var readme = []string{
	"--set", "image.tag=0.1.0",
	"--set", "controller.ionosDatacenterId=8feda53f-15f0-447f-badf-ebe32dad2fc0",
	"--set", "controller.ionosPrivateLanId=2",
	"--set", "controller.securedSubnetCidr=10.0.0.0/16",
}

// result is what one command came to.
type result struct {
	failed         bool
	stdout, stderr string
}

// helm runs one version of Helm with a home of its own. It lives too short to collect much garbage.
func helm(t *testing.T, version string, args ...string) result {
	t.Helper()
	home := t.TempDir()
	return run(t, []string{"HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "GOGC=400"}, built.Tool(t, version), args...)
}

// run runs a program to its end.
func run(t *testing.T, env []string, path string, args ...string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Env = env
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return result{err != nil, stdout.String(), stderr.String()}
}

// render returns the rendered manifests of the daemon's chart, or fails the test.
func render(t *testing.T, version string, args ...string) string {
	t.Helper()
	return renderOf(t, chartDir, version, args...)
}

func renderOf(t *testing.T, chart, version string, args ...string) string {
	t.Helper()
	got := helm(t, version, append([]string{"template", "edge", chart, "--namespace", "edge"}, args...)...)
	if got.failed {
		t.Fatalf("%s template %v: %s", version, args, got.stderr)
	}
	return got.stdout
}

// renders are the charts rendered with the combinations of values.
var renders sync.Map

// renderOnce is renderOf for those that [eachCombination] gives: what several tests look
// at is rendered once.
func renderOnce(t *testing.T, chart, version string, args []string) string {
	t.Helper()
	type rendered struct {
		sync.Once
		text string
	}
	key := strings.Join(append([]string{chart, version}, args...), " ")
	known, _ := renders.LoadOrStore(key, new(rendered))
	made := known.(*rendered)
	made.Do(func() { made.text = renderOf(t, chart, version, args...) })
	if made.text == "" {
		t.Fatalf("%s: another test could not render it", key)
	}
	return made.text
}

// combinations are the values files in ci/ of a chart, by name.
func combinations(t *testing.T, chart string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got no values in ci/: %v", err)
	}
	found := map[string]string{}
	for _, file := range files {
		found[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = file
	}
	return found
}

// eachCombination runs a test for each chart, each version and each values file.
func eachCombination(t *testing.T, charts []string, test func(t *testing.T, chart, version string, args []string)) {
	t.Helper()
	for _, chart := range charts {
		for name, file := range combinations(t, chart) {
			for _, version := range helms {
				t.Run(filepath.Base(chart)+"/"+name+"/"+version, func(t *testing.T) {
					t.Parallel()
					test(t, chart, version, []string{"--values", file})
				})
			}
		}
	}
}
