package archtest_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// changingGlobals finds package-level variables that are written after their
// declaration. It sees assignments, increments, delete, clear and copy into
// them, their address being taken, methods with a pointer receiver of our own
// types, and variables of types that exist to be changed (sync, atomic,
// channels). It does not see a change through an alias: errors, tables and
// regular expressions never have one.
func changingGlobals(u unit) []violation {
	c := checker{unit: u, globals: map[types.Object]bool{}}
	for _, spec := range packageVariables(u) {
		for _, name := range spec.Names {
			c.globals[c.info.Defs[name]] = true
		}
		if what := madeToChange(spec); what != "" {
			c.violations = append(c.violations, u.at(spec, "%s is made to change, a %s", spec.Names[0].Name, what))
		}
	}
	u.inspect(c.visit)
	return c.violations
}

// madeToChange names the kind of a variable whose only use is to be changed.
func madeToChange(spec *ast.ValueSpec) string {
	var found string
	look := func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ChanType:
			found = "channel"
		case *ast.SelectorExpr:
			x, ok := node.X.(*ast.Ident)
			// sync.OnceValue and its kin compute a constant late; they are fine.
			lazy := strings.HasPrefix(node.Sel.Name, "Once") && node.Sel.Name != "Once"
			if ok && (x.Name == "atomic" || x.Name == "sync" && !lazy) {
				found = x.Name + "." + node.Sel.Name
			}
		}
		return true
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, look)
	}
	for _, value := range spec.Values {
		ast.Inspect(value, look)
	}
	return found
}

type checker struct {
	unit
	globals    map[types.Object]bool
	violations []violation
}

func (c *checker) visit(node ast.Node) {
	switch node := node.(type) {
	case *ast.AssignStmt:
		if node.Tok != token.DEFINE {
			c.written(node.Lhs...)
		}
	case *ast.IncDecStmt:
		c.written(node.X)
	case *ast.RangeStmt:
		if node.Tok == token.ASSIGN {
			c.written(node.Key, node.Value)
		}
	case *ast.UnaryExpr:
		if node.Op == token.AND {
			c.written(node.X)
		}
	case *ast.CallExpr:
		c.call(node)
	}
}

func (c *checker) call(call *ast.CallExpr) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		if _, builtin := c.info.Uses[f].(*types.Builtin); builtin && len(call.Args) > 0 {
			if f.Name == "delete" || f.Name == "clear" || f.Name == "copy" {
				c.written(call.Args[0])
			}
		}
	case *ast.SelectorExpr:
		selection := c.info.Selections[f]
		if selection == nil || selection.Kind() != types.MethodVal {
			return
		}
		receiver := selection.Obj().(*types.Func).Signature().Recv().Type()
		if _, pointer := receiver.(*types.Pointer); pointer {
			c.written(f.X)
		}
	}
}

// written records the expressions that change a package-level variable or a
// part of one, ours or another package's.
func (c *checker) written(targets ...ast.Expr) {
	for _, target := range targets {
		root := rootOf(target)
		if root == nil {
			continue
		}
		switch used := c.info.Uses[root].(type) {
		case *types.Var:
			if c.globals[used] {
				c.violations = append(c.violations, c.at(target, "changes the package-level variable %s", used.Name()))
			}
		case *types.PkgName:
			c.violations = append(c.violations, c.at(target, "changes a variable of package %s", used.Imported().Path()))
		}
	}
}

// rootOf is the identifier that an expression starts from: x of x.f[i].
func rootOf(expression ast.Expr) *ast.Ident {
	for {
		switch e := expression.(type) {
		case *ast.Ident:
			return e
		case *ast.ParenExpr:
			expression = e.X
		case *ast.SelectorExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.StarExpr:
			expression = e.X
		case *ast.SliceExpr:
			expression = e.X
		default:
			return nil
		}
	}
}

// packageVariables collects the variables that a package declares outside of functions.
func packageVariables(u unit) []*ast.ValueSpec {
	var specs []*ast.ValueSpec
	for _, p := range u.parts {
		for _, declaration := range p.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok || general.Tok != token.VAR {
				continue
			}
			for _, spec := range general.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}
