package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logCalls are the functions that take keys and values, by how many arguments come first.
var logCalls = map[string]int{"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "say": 2, "With": 0, "append": 1}

// word is what a key may be; other calls of these names have sentences or flags.
var word = regexp.MustCompile(`^\w+$`)

// Contract 219: the page lists the keys of the log, all of them and no others.
func TestContract219ThePageListsEachKeyOfTheLog(t *testing.T) {
	t.Parallel()
	found := make(map[string]bool)
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "report" {
			return err // what report appends to is no log line
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			ast.Inspect(file, func(n ast.Node) bool { keysOf(n, found); return true })
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := logKeys(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(found)), listed); diff != "" {
		t.Errorf("%s (-the sources +the page):\n%s", monitoringPage, diff)
	}
	for _, key := range listed {
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(key) {
			t.Errorf("%s is not in snake_case", key)
		}
	}
}

// monitoringPage has the keys below the heading Logs: in the first cells of a table, and in the
// line below it.
const monitoringPage = "docs/runbooks/README.md"

// logKeys are the keys of the page, sorted; one that stands there twice is there twice.
func logKeys(t *testing.T) []string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, monitoringPage), "\n## Logs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var keys []string
	for line := range strings.Lines(section) {
		if cell, is := strings.CutPrefix(line, "| "); is {
			line, _, _ = strings.Cut(cell, " |")
		} else if !strings.HasPrefix(line, "These are what their names say: ") {
			continue
		}
		for _, key := range span.FindAllStringSubmatch(line, -1) {
			keys = append(keys, key[1])
		}
	}
	slices.Sort(keys)
	return keys
}

// keysOf adds the keys that a call or a list of keys and values has.
func keysOf(n ast.Node, found map[string]bool) {
	var args []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = f.Sel.Name
		case *ast.Ident:
			name = f.Name
		}
		before, is := logCalls[name]
		if !is || len(n.Args) < before {
			return
		}
		args = n.Args[before:]
	case *ast.CompositeLit:
		if list, is := n.Type.(*ast.ArrayType); is {
			if of, is := list.Elt.(*ast.Ident); is && of.Name == "any" {
				args = n.Elts
			}
		}
	}
	for i := 0; i+1 < len(args); i += 2 {
		if key, is := args[i].(*ast.BasicLit); is && key.Kind == token.STRING {
			if text, err := strconv.Unquote(key.Value); err == nil && word.MatchString(text) {
				found[text] = true
			}
		}
	}
}
