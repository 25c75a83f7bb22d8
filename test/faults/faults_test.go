package faults_test

import (
	"bufio"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var logs = flag.String("logs", "", "a folder with what go test -v printed")

const module = "github.com/ablmnzde/ionoscloud-endpointslice-controller/"

// groups are the parts of the page: where the fault is.
var groups = []string{
	"Source: any", "Source: static", "Source: file", "Source: command", "Source: ionos", "Source: kubernetes", "Remote Service",
	"Probe", "Store: any", "Store: client-go", "Store: kubectl", "Process", "Leadership", "Network", "Time", "Configuration", "Credentials",
	"Many Services",
}

func TestTheCatalogueIsWhole(t *testing.T) {
	all := rows(t)
	if len(all) < 80 {
		t.Errorf("got %d faults, want at least 80", len(all))
	}
	said := map[string]int{}
	var found []string
	for _, r := range all {
		if !slices.Contains(found, r.group) {
			found = append(found, r.group)
		}
		if before, ok := said[r.group+r.fault]; ok {
			t.Errorf("%s:%d: line %d is about the same fault", catalogue, r.line, before)
		}
		said[r.group+r.fault] = r.line
		if r.fault == "" || r.does == "" || r.seen == "" {
			t.Errorf("%s:%d: a cell is empty", catalogue, r.line)
		}
	}
	if !slices.Equal(found, groups) {
		t.Errorf("groups with a row: got %q, want %q", found, groups)
	}
}

func TestEveryFaultFallsUnderPromisesThatThereAre(t *testing.T) {
	contract := read(t, "docs/design/contract.md")
	for _, r := range rows(t) {
		if !number.MatchString(r.promises) {
			t.Errorf("%s:%d: promises: got %q, want numbers of the contract", catalogue, r.line, r.promises)
			continue
		}
		for n := range strings.SplitSeq(r.promises, ", ") {
			if !strings.Contains(contract, "\n"+n+". ") {
				t.Errorf("%s:%d: the contract has no promise %s", catalogue, r.line, n)
			}
		}
	}
}

func TestEveryFaultHasATestThatThereIs(t *testing.T) {
	known := map[string][]string{}
	for _, r := range rows(t) {
		if len(r.tests) == 0 {
			t.Errorf("%s:%d: no test: %s", catalogue, r.line, r.fault)
		}
		for _, named := range r.tests {
			if _, ok := known[named.folder]; !ok {
				known[named.folder] = functions(t, named.folder)
			}
			if !slices.Contains(known[named.folder], named.function()) {
				t.Errorf("%s:%d: %s has no %s", catalogue, r.line, named.folder, named.function())
			}
		}
	}
}

// functions are the tests of a folder, with all build tags.
func functions(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

func TestEveryFaultHasBeenTried(t *testing.T) {
	if *logs == "" {
		t.Log("without -logs only the names are compared")
		return
	}
	passed := map[test]bool{}
	files, err := os.ReadDir(*logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := os.Open(filepath.Join(*logs, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range passes(bufio.NewScanner(f)) {
			passed[p] = true
		}
		_ = f.Close()
	}
	for _, r := range rows(t) {
		for _, named := range r.tests {
			if !passed[named] {
				t.Errorf("%s:%d: %s %s did not run and pass", catalogue, r.line, named.folder, named.name)
			}
		}
	}
}

var (
	// passing may follow what a test wrote without a line break.
	passing = regexp.MustCompile(`--- PASS: (\S+) \([0-9.]+s\)$`)
	// ending is the last line of a package: go test prints one after the other.
	ending = regexp.MustCompile(`^(?:ok|FAIL)\s+` + regexp.QuoteMeta(module) + `(\S+)`)
)

// passes are the tests that passed, also in a package of which others failed: .ci/run repeats
// those, or ends.
func passes(lines *bufio.Scanner) []test {
	lines.Buffer(nil, 16<<20)
	var all []test
	var names []string
	for lines.Scan() {
		if p := passing.FindStringSubmatch(lines.Text()); p != nil {
			names = append(names, p[1])
		}
		end := ending.FindStringSubmatch(lines.Text())
		if end == nil {
			continue
		}
		for _, name := range names {
			all = append(all, test{end[1], name})
		}
		names = nil
	}
	return all
}

func TestPassesTellsPackagesApart(t *testing.T) {
	const log = `=== RUN   TestA
--- PASS: TestA (0.00s)
    --- PASS: TestA/one_thing (1.25s)
--- SKIP: TestB (0.00s)
PASS
ok  	github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/a	0.1s
a test wrote this--- PASS: TestA (0.00s)
--- FAIL: TestC (0.00s)
FAIL	github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/b	0.1s
--- PASS: TestA/another (0.00s)
ok  	github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/c	0.1s
`
	want := []test{{"internal/a", "TestA"}, {"internal/a", "TestA/one_thing"}, {"internal/b", "TestA"}, {"internal/c", "TestA/another"}}
	if got := passes(bufio.NewScanner(strings.NewReader(log))); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
