package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// function can be broken by each of its edits.
type function struct {
	file, name string
	text       string // the file's
	edits      []edit
}

// edit puts something else in the place of text[from:to].
type edit struct {
	line, from, to int
	by             string
}

// change is a function with one of its edits.
type change struct {
	function
	edit
}

// source is the changed file.
func (c change) source() string { return c.text[:c.from] + c.by + c.text[c.to:] }

// diff shows the change with the lines around it, in one line.
func (c change) diff() string {
	begin := strings.LastIndexByte(c.text[:c.from], '\n') + 1
	end := c.to + strings.IndexByte(c.text[c.to:], '\n')
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	diff := "-" + words(c.text[begin:end])
	if after := words(c.text[begin:c.from] + c.by + c.text[c.to:end]); after != "" {
		diff += " +" + after
	}
	return diff
}

// wording are the functions that only word what is told, and those that tell it.
var wording = regexp.MustCompile(`internal/endpoints/(guard/(explain|message)|controller/(announce|tell))\.go |` +
	` (String|Error|describe|endpointsOf|keptMessage|lost|max1|message|mistakesOf|noteOf|subject)$`)

// unpromised are calls that no promise is about: texts, log lines and sizes of memory.
var unpromised = regexp.MustCompile(`^(fmt|errors)\.|[lL]og\.\w+$|^make$|^slices\.Grow$`)

// functionsOf finds the functions of a file that can be broken.
func functionsOf(file, text string) ([]function, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []function
	for _, declared := range parsed.Decls {
		f, ok := declared.(*ast.FuncDecl)
		if !ok || f.Body == nil || wording.MatchString(filepath.ToSlash(file)+" "+f.Name.Name) {
			continue
		}
		b := breaker{files: files, function: function{file: file, name: f.Name.Name, text: text}}
		ast.Inspect(f.Body, b.visit)
		if len(b.edits) > 0 {
			found = append(found, b.function)
		}
	}
	return found, nil
}

// breaker collects the edits of one function.
type breaker struct {
	files *token.FileSet
	function
}

// swaps are the operators and words that take each other's place.
var swaps = map[string]string{
	"&&": "||", "||": "&&", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "true": "false", "false": "true",
}

// visit adds the edits of one node; it goes no deeper into what no promise is about.
func (b *breaker) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.CallExpr:
		return !unpromised.MatchString(b.of(n.Fun))
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); !ok || !unpromised.MatchString(b.of(call.Fun)) {
			b.replace(n, "")
		}
	case *ast.IfStmt:
		b.replace(n.Cond, "!("+b.of(n.Cond)+")")
		if last := n.Body.List; len(last) > 0 && leaves(last[len(last)-1]) {
			b.replace(n, "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			b.replace(n, "")
		}
	case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.BranchStmt:
		b.replace(n, "")
	case *ast.BinaryExpr:
		b.swap(n.OpPos, n.Op.String())
	case *ast.Ident:
		b.swap(n.Pos(), n.Name)
	case *ast.BasicLit:
		if value, err := strconv.Atoi(n.Value); err == nil {
			b.replace(n, strconv.Itoa(value+1))
		}
	}
	return true
}

// leaves reports whether a statement ends the function or the round of a loop.
func leaves(last ast.Stmt) bool {
	switch last.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

func (b *breaker) of(node ast.Node) string {
	return b.text[b.files.Position(node.Pos()).Offset:b.files.Position(node.End()).Offset]
}

func (b *breaker) replace(node ast.Node, by string) {
	from, to := b.files.Position(node.Pos()), b.files.Position(node.End())
	b.edits = append(b.edits, edit{from.Line, from.Offset, to.Offset, by})
}

func (b *breaker) swap(at token.Pos, old string) {
	if by, ok := swaps[old]; ok {
		from := b.files.Position(at)
		b.edits = append(b.edits, edit{from.Line, from.Offset, from.Offset + len(old), by})
	}
}
