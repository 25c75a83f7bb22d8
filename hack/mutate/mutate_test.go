package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = `package x

func a(n int, s []int) bool {
	log.Info("n", n+1)
	for i := range s {
		if s[i] < 2 && n == i {
			break
		}
		n += len(fmt.Sprint(n - 1))
	}
	defer done()
	s = make([]int, 0, 8) // room
	b(n)
	return false
}

func (x T) String() string { return "x" + y }
`

func TestTheEditsOfAFunction(t *testing.T) {
	found, err := functionsOf("internal/endpoints/publish/x.go", source)
	if err != nil || len(found) != 1 || found[0].name != "a" {
		t.Fatalf("got %v, %v, want the function a alone", found, err)
	}
	var got []string
	for _, e := range found[0].edits {
		got = append(got, change{found[0], e}.diff())
	}
	const line = "-if s[i] < 2 && n == i {"
	want := []string{
		line + " +if !(s[i] < 2 && n == i) {", line + " break }", line + " +if s[i] < 2 || n == i {", line + " +if s[i] <= 2 && n == i {",
		line + " +if s[i] < 3 && n == i {", line + " +if s[i] < 2 && n != i {", "-break",
		"-n += len(fmt.Sprint(n - 1))", "-defer done()", "-s = make([]int, 0, 8) // room +// room", "-b(n)", "-return false +return true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (change{found[0], found[0].edits[11]}).source(); got != strings.Replace(source, "false", "true", 1) {
		t.Errorf("got %s", got)
	}
}

func TestEachPackageOfTheEngineCanBeBroken(t *testing.T) {
	found, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range engine {
		count := 0
		for _, f := range found {
			if strings.HasPrefix(f.file, filepath.Join("../..", name)+"/") {
				count++
			}
		}
		if count < 20 {
			t.Errorf("%s: got %d functions, want more", name, count)
		}
	}
}

func TestWhatNoticedAChange(t *testing.T) {
	for out, want := range map[string]string{
		"--- FAIL: TestA/part (0.1s)\n--- FAIL: TestB":                          "TestA/part",
		"panic: test timed out after 5m0s\n\trunning tests:\n\t\tTestC (4m59s)": "the time limit in TestC",
		"\nfatal error: runtime: out of memory\nmore":                           "fatal error: runtime: out of memory",
	} {
		if got := failure(out); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
