package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// promise is a numbered line of docs/design/contract.md.
	promise = regexp.MustCompile(`(?m)^(\d+)\. (.*)$`)
	// naming is how the name of a test cites promises: Contract13,
	// Contract02And13, Contract17To20.
	naming = regexp.MustCompile(`Contract(\d+)((?:And\d+|To\d+)*)`)
	// further is one more number of such a name.
	further = regexp.MustCompile(`(And|To)(\d+)`)
)

func TestEveryPromiseOfTheContractHasATestThatNamesIt(t *testing.T) {
	root := filepath.Join("..", "..")
	contract, err := os.ReadFile(filepath.Join(root, "docs", "design", "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	cited := make(map[int]bool)
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range naming.FindAllStringSubmatch(string(text), -1) {
			cite(cited, match[1], match[2])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	promises := promise.FindAllStringSubmatch(string(contract), -1)
	if len(promises) < 45 {
		t.Errorf("docs/design/contract.md: got %d promises, want at least 45", len(promises))
	}
	for _, p := range promises {
		number, _ := strconv.Atoi(p[1])
		if planned := strings.Contains(p[2], "Not in this version yet"); cited[number] == planned {
			t.Errorf("promise %d: got tested %t and planned %t, want one of the two: %.80s", number, cited[number], planned, p[2])
		}
	}
}

// cite notes the numbers that a test's name cites.
func cite(cited map[int]bool, first, rest string) {
	last, _ := strconv.Atoi(first)
	cited[last] = true
	for _, more := range further.FindAllStringSubmatch(rest, -1) {
		number, _ := strconv.Atoi(more[2])
		if more[1] == "To" {
			for n := last; n < number; n++ {
				cited[n] = true
			}
		}
		cited[number] = true
		last = number
	}
}
