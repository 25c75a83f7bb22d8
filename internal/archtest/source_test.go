package archtest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// unit is the product's part of one folder: its files without the tests.
type unit struct {
	dir   string // relative to the module, with slashes: internal/endpoints/guard
	files *token.FileSet
	parts []part
	info  *types.Info // which identifier means what
}

// part is one file.
type part struct {
	name string // base name
	*ast.File
}

// violation is a breach of a rule at a place.
type violation struct {
	at   string // dir/file.go:line, or a folder
	what string
}

func (v violation) String() string { return v.at + ": " + v.what }

func (u unit) at(node ast.Node, format string, args ...any) violation {
	position := u.files.Position(node.Pos())
	return violation{at: fmt.Sprintf("%s:%d", position.Filename, position.Line), what: fmt.Sprintf(format, args...)}
}

// lines counts the lines that a node covers, its first and last included.
func (u unit) lines(node ast.Node) int {
	return u.files.Position(node.End()).Line - u.files.Position(node.Pos()).Line + 1
}

// inspect calls visit for every node of every file.
func (u unit) inspect(visit func(ast.Node)) {
	for _, p := range u.parts {
		ast.Inspect(p.File, func(node ast.Node) bool {
			if node != nil {
				visit(node)
			}
			return true
		})
	}
}

// mentions finds the functions of an imported package, such as os.Getenv, also
// where they are handed on without being called.
func (u unit) mentions(importPath string, names ...string) []violation {
	var violations []violation
	u.inspect(func(node ast.Node) {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || !slices.Contains(names, selector.Sel.Name) {
			return
		}
		x, ok := selector.X.(*ast.Ident)
		if !ok {
			return
		}
		if imported, ok := u.info.Uses[x].(*types.PkgName); ok && imported.Imported().Path() == importPath {
			violations = append(violations, u.at(selector, "uses %s.%s", importPath, selector.Sel.Name))
		}
	})
	return violations
}

func unquoted(spec *ast.ImportSpec) string {
	importPath, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser has accepted it
	}
	return importPath
}

// load parses the product: everything of the module but tests, test data and
// the folders that belong to tools. bench is a module of its own.
func load(t *testing.T) []unit {
	t.Helper()
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	byDir := map[string]*unit{}
	var units []*unit
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(relative)
		if entry.IsDir() {
			return skipFolder(slash)
		}
		if !strings.HasSuffix(slash, ".go") || strings.HasSuffix(slash, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		dir := path.Dir(slash)
		u := byDir[dir]
		if u == nil {
			u = &unit{dir: dir, files: token.NewFileSet()}
			byDir[dir] = u
			units = append(units, u)
		}
		return u.add(slash, source)
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded := make([]unit, len(units))
	for i, u := range units {
		u.resolve()
		loaded[i] = *u
	}
	return loaded
}

func skipFolder(slash string) error {
	base := path.Base(slash)
	if slash != "." && (strings.HasPrefix(base, ".") || base == "testdata" || slash == "tools" || slash == "bench" || slash == "bin") {
		return fs.SkipDir
	}
	return nil
}

// newUnit is a unit of one file, for the tests of the rules themselves.
func newUnit(dir, source string) (unit, error) {
	u := unit{dir: dir, files: token.NewFileSet()}
	if err := u.add(dir+"/x.go", []byte(source)); err != nil {
		return unit{}, err
	}
	u.resolve()
	return u, nil
}

func (u *unit) add(name string, source []byte) error {
	file, err := parser.ParseFile(u.files, name, source, parser.ParseComments)
	if err != nil {
		return err
	}
	u.parts = append(u.parts, part{name: path.Base(name), File: file})
	return nil
}

// resolve finds out which identifier means what. What other packages export
// stays unknown: learning it would take their whole source, and no rule asks.
func (u *unit) resolve() {
	u.info = &types.Info{
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	files := make([]*ast.File, len(u.parts))
	for i, p := range u.parts {
		files[i] = p.File
	}
	config := types.Config{Importer: unknown{}, Error: func(error) {}}
	_, _ = config.Check(u.dir, u.files, files, u.info) // its errors are about the unknown packages
}

// unknown imports an empty package for every path.
type unknown struct{}

func (unknown) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	return p, nil
}

// in reports whether a folder is one of the places or below one of them.
func in(dir string, places ...string) bool {
	for _, place := range places {
		if dir == place || strings.HasPrefix(dir, place+"/") {
			return true
		}
	}
	return false
}
