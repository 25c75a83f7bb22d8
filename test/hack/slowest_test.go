package hack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ablmnzde/ionoscloud-endpointslice-controller/"

// printed is what go test -v prints of four packages: one that passes, one that
// fails, one without tests to time, and one that was killed.
const printed = `=== RUN   TestA
    --- PASS: TestA/part (90.00s)
--- PASS: TestA (12.34s)
a test wrote this--- PASS: TestB (100.50s)
--- SKIP: TestSkipped (80.00s)
PASS
ok  	` + module + `internal/a	113.1s
--- FAIL: TestC (3.00s)
FAIL
FAIL	` + module + `test/c	9.25s
FAIL	` + module + `test/broken [build failed]
ok  	` + module + `internal/cached	(cached)
?   	` + module + `internal/none	[no test files]
--- PASS: TestKilled (7.00s)
`

// folder holds files with these texts.
func folder(t *testing.T, texts ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheSlowestPackagesAndTestsOfAllRunsAreListed(t *testing.T) {
	const other = "--- PASS: TestD (20.00s)\nok  \t" + module + "test/d\t21.0s\n"
	got := script{name: "slowest.sh", args: []string{folder(t, printed, other)}}.run(t).want(0)
	want := `
== the slowest packages (seconds)
   113.1  internal/a
    21.0  test/d
     9.2  test/c

== the slowest tests (seconds)
   100.5  internal/a TestB
    20.0  test/d TestD
    12.3  internal/a TestA
     7.0  unfinished TestKilled
     3.0  test/c TestC
`
	if got.stdout != want || got.stderr != "" {
		t.Errorf("got %s%s, want %s", got.stdout, got.stderr, want)
	}
}

// So many lines fill every pipe between the programs of the script.
func TestTenOfVeryManyTestsAreListed(t *testing.T) {
	var log strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&log, "--- PASS: TestNumber%d (%d.00s)\nok  \t%stest/number%d\t%d.0s\n", i, i, module, i, i)
	}
	got := script{name: "slowest.sh", args: []string{folder(t, log.String())}}.run(t).want(0, "19990.0  test/number19990 TestNumber19990")
	if lines := strings.Count(got.stdout, "number"); lines != 20 {
		t.Errorf("got %d lines, want ten packages and ten tests", lines)
	}
}

func TestWithoutARunNothingIsSlow(t *testing.T) {
	script{name: "slowest.sh", args: []string{t.TempDir()}}.run(t).want(0, "the slowest tests")
	script{name: "slowest.sh"}.run(t).want(2, "see --help")
	script{name: "slowest.sh", args: []string{"/nowhere"}}.run(t).want(2, "see --help")
	script{name: "slowest.sh", args: []string{"--help"}}.run(t).want(0, "Usage: hack/slowest.sh")
}

// The steps are a fake: make test prints, and ends with a status.
func TestTheCheckListsTheSlowestAndEndsAsItsSteps(t *testing.T) {
	const slowest = "7.0  unfinished TestKilled"
	for name, c := range map[string]struct {
		status, beside int
		find           string
		said           string
	}{
		"all pass":                   {0, 0, "", slowest},
		"a step fails":               {7, 0, "", slowest},
		"a test fails":               {2, 0, "", "== what failed\n--- TestC\n"},
		"what runs beside one fails": {0, 1, "", "the simulation's last line"},
		"no list can be made":        {0, 0, "exit 3", "== passed"},
		"nor does the step pass":     {7, 0, "exit 3", "== make test"},
	} {
		t.Run(name, func(t *testing.T) {
			log := folder(t, strings.ReplaceAll(printed, "--- SKIP", "--- PASS"))
			temporary := t.TempDir()
			path := []string{
				fake(t, "make", fmt.Sprintf(`case $1 in test) cat %q/0 && exit %d ;; simulate) echo "the simulation's last line" && exit %d ;; esac`, log, c.status, c.beside)),
				fake(t, "go", ""), os.Getenv("PATH"),
			}
			if c.find != "" {
				path = slices.Insert(path, 0, fake(t, "find", c.find))
			}
			call := script{name: "../.ci/run", env: map[string]string{"TMPDIR": temporary}, path: strings.Join(path, ":")}
			call.run(t).want(max(c.status, c.beside), c.said)
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("got %v, %v in the folder of temporary files, want nothing", left, err)
			}
		})
	}
}

// A scene of the laboratory that fails beside others counts as it does alone.
func TestTheCheckRepeatsWhatFailedInTheLaboratory(t *testing.T) {
	const failed = "--- FAIL: TestA (1.00s)\n    --- FAIL: TestA/x (1.00s)\nFAIL\n"
	passes := strings.ReplaceAll(failed, "FAIL", "PASS")
	for name, c := range map[string]struct {
		said         string
		passes       string
		alone, want  int
		charts       int
		repeated     bool
		simulateFail int
	}{
		"it passes alone":      {said: failed, passes: passes, repeated: true},
		"it does not run":      {said: failed, passes: "--- PASS: TestA (1.00s)\n", want: 1, repeated: true},
		"a chart fails":        {said: failed, passes: passes, charts: 7, want: 7, repeated: true},
		"it fails alone":       {said: failed, alone: 7, want: 7, repeated: true},
		"a scene panics":       {said: failed + "panic: at once\n", want: 1},
		"the simulation fails": {said: failed, passes: passes, simulateFail: 1, want: 1, repeated: true},
	} {
		t.Run(name, func(t *testing.T) {
			log := folder(t, c.said, c.passes)
			path := []string{
				fake(t, "make", fmt.Sprintf(`case $* in *TESTFLAGS=-parallel*) echo "alone: $*" && cat %q/1 && exit %d ;; lab-charts*) exit %d ;; lab*) cat %q/0 && exit 2 ;; simulate*) exit %d ;; esac`, log, c.alone, c.charts, log, c.simulateFail)),
				fake(t, "go", ""), os.Getenv("PATH"),
			}
			got := script{name: "../.ci/run", env: map[string]string{"TMPDIR": t.TempDir()}, path: strings.Join(path, ":")}.run(t).want(c.want)
			if repeated := strings.Contains(got.stdout, "alone: lab LAB_CHATTER=^=== PAUSE TESTFLAGS=-parallel 1 -run '^(TestA)/^(x)'"); repeated != c.repeated {
				t.Errorf("got that it is repeated: %v, want %v\n%s", repeated, c.repeated, got.stdout)
			}
		})
	}
}
