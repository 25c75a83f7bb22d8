package faults_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// catalogue is the page, relative to the repository.
const catalogue = "test/faults/README.md"

var (
	heading = regexp.MustCompile(`^## (.+)$`)
	// naming is a test as the page names it: its folder and what go test calls it.
	naming = regexp.MustCompile("`([a-z0-9][a-z0-9/]*) (Test[^` ]+)`")
	number = regexp.MustCompile(`^[0-9]+(?:, [0-9]+)*$`)
)

// row is one fault.
type row struct {
	line  int
	group string
	// fault, does, promises and seen are the cells: what happens, what the daemon
	// does, the numbers of the contract and what the operator sees.
	fault, does, promises, seen string
	tests                       []test
}

// test is a test that a row names.
type test struct{ folder, name string }

// function is the name of the function; the rest is the subtest.
func (t test) function() string {
	name, _, _ := strings.Cut(t.name, "/")
	return name
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// rows returns the faults of the page. What has another form than a row of five
// cells is a failure.
func rows(t *testing.T) []row {
	t.Helper()
	var found []row
	group, lines := "", strings.Split(read(t, catalogue), "\n")
	for i, line := range lines {
		if h := heading.FindStringSubmatch(line); h != nil {
			group = h[1]
		}
		if group == "" || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| fault |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if len(cells) != 5 {
			t.Errorf("%s:%d: got %d cells, want 5: %s", catalogue, i+1, len(cells), line)
			continue
		}
		for c := range cells {
			cells[c] = strings.TrimSpace(cells[c])
		}
		r := row{line: i + 1, group: group, fault: cells[0], does: cells[1], promises: cells[2], seen: cells[3]}
		for _, n := range naming.FindAllStringSubmatch(cells[4], -1) {
			r.tests = append(r.tests, test{n[1], n[2]})
		}
		if rest := strings.TrimSpace(naming.ReplaceAllString(cells[4], "")); strings.Trim(rest, ", ") != "" {
			t.Errorf("%s:%d: %q is no test: want `folder TestName`", catalogue, i+1, rest)
		}
		found = append(found, r)
	}
	return found
}
