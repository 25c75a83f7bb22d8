package hack_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestWhatFailedIsListedWithItsLastWords(t *testing.T) {
	const first = `=== RUN   TestGood
    good_test.go:1: of a test that passes
--- PASS: TestGood (0.10s)
=== RUN   TestA
=== RUN   TestB
    b_test.go:7: said by B
=== NAME  TestA
    a_test.go:9: got 1, want 2
        and more of it
    process.go:57: --- last lines of a child
--- FAIL: TestB (0.10s)
=== CONT  TestA/part
    a_test.go:12: a part
--- FAIL: TestA (0.20s)
    --- FAIL: TestA/part (0.10s)
FAIL
FAIL	` + module + `test/a	1.0s
FAIL	` + module + `test/broken [build failed]
`
	// The same name in another run says something else.
	const second = "WARNING: DATA RACE\n=== RUN   TestB\n--- FAIL: TestB (0.10s)\npanic: at once\n"
	got := script{name: "failures.sh", args: []string{folder(t, first, second)}}.run(t).want(0)
	one := `--- TestB
    b_test.go:7: said by B
--- TestA
    a_test.go:9: got 1, want 2
--- TestA/part
    a_test.go:12: a part
FAIL	` + module + `test/broken [build failed]
`
	const other = "WARNING: DATA RACE\n--- TestB\npanic: at once\n"
	const title = "\n== what failed\n"
	// find lists files in any order.
	if got.stderr != "" || got.stdout != title+one+other && got.stdout != title+other+one {
		t.Errorf("got %s%s, want %s%s%s", got.stdout, got.stderr, title, one, other)
	}
}

func TestOfATestThatFailsAndSaysMuchTheEndIsShown(t *testing.T) {
	var log strings.Builder
	log.WriteString("=== RUN   TestA\n")
	for i := range 1000 {
		fmt.Fprintf(&log, "    a_test.go:%d: %s\n", i, strings.Repeat("é", 1000))
	}
	log.WriteString("--- FAIL: TestA (0.10s)\n")
	got := script{name: "failures.sh", args: []string{folder(t, log.String())}}.run(t).want(0, "a_test.go:985", "a_test.go:999")
	if strings.Contains(got.stdout, "a_test.go:984") || len(got.stdout) > 16*301+40 {
		t.Errorf("got %d bytes, want the last fifteen lines of 300 bytes", len(got.stdout))
	}
}

func TestWhereNothingFailedNothingIsListed(t *testing.T) {
	got := script{name: "failures.sh", args: []string{folder(t, "--- PASS: TestA (0.10s)\nok  \t"+module+"a\t1s\n")}}.run(t).want(0)
	if got.stdout != "" {
		t.Errorf("got %s, want nothing", got.stdout)
	}
	script{name: "failures.sh"}.run(t).want(2, "see --help")
	script{name: "failures.sh", args: []string{"--help"}}.run(t).want(0, "Usage: hack/failures.sh")
}

// What is repeated is what failed, and nothing where that would not tell everything.
func TestWhatFailedIsRepeated(t *testing.T) {
	const two = `--- FAIL: TestA (0.20s)
    --- PASS: TestA/good (0.10s)
    --- FAIL: TestA/API_server (0.10s)
        --- FAIL: TestA/API_server/empty,_killed (0.10s)
--- FAIL: TestB (0.20s)
    --- FAIL: TestB/file (0.10s)
FAIL
FAIL	` + module + `test/a	1.0s
`
	alone := func(log string) string {
		return strings.TrimSpace(script{name: "failed-alone.sh", args: []string{filepath.Join(folder(t, log), "0")}}.run(t).want(0).stdout)
	}
	matches := func(levels, name string, level int) bool {
		return regexp.MustCompile(strings.Split(levels, "/")[level]).MatchString(name)
	}
	got := alone(two)
	for level, names := range [][]string{{"TestA", "TestB"}, {"API_server", "file"}, {"empty,_killed"}} {
		for _, name := range names {
			if !matches(got, name, level) {
				t.Errorf("got %s, want that it takes %s", got, name)
			}
		}
	}
	if strings.Count(got, "/") != 2 || matches(got, "good", 1) {
		t.Errorf("got %s, want three levels without what passed", got)
	}
	many := ""
	for i := range 11 {
		many += fmt.Sprintf("--- FAIL: Test%d (0.10s)\n", i)
	}
	for name, log := range map[string]string{
		"nothing": "--- PASS: TestA (0.10s)\n", "a panic": two + "panic: at once\n", "a data race": "WARNING: DATA RACE\n" + two,
		"no build": two + "FAIL\t" + module + "test/b [build failed]\n", "too many": many,
		"a package is killed": two + "signal: killed\n",
	} {
		if got := alone(log); got != "" {
			t.Errorf("%s: got %s, want nothing", name, got)
		}
	}
	script{name: "failed-alone.sh"}.run(t).want(2, "see --help")
	script{name: "failed-alone.sh", args: []string{"--help"}}.run(t).want(0, "Usage: hack/failed-alone.sh")
}
