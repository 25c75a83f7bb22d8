package archtest_test

import (
	"go/ast"
	"testing"
)

// functionLines is the budget of a function: what fits on a page is understood in one reading.
// That of a file or an interface is only shown, because code that was cut to keep it got names
// that say nothing.
const (
	functionLines    = 50
	fileLines        = 300
	interfaceMethods = 2
)

// long are functions over their budget, with the reason.
var long = map[string]string{
	"api/fleet/v1alpha1.EnvoyPodTemplate.DeepCopyInto": "it is generated, and grows with the types",
}

func TestFunctionsFitOnAPage(t *testing.T) {
	for _, u := range load(t) {
		report(t, "size", "what fits on a page is understood in one reading", longFunctions(u))
	}
}

// longFunctions finds the functions that are over their budget.
func longFunctions(u unit) (found []violation) {
	u.inspect(func(node ast.Node) {
		f, ok := node.(*ast.FuncDecl)
		if ok && u.lines(f) > functionLines && long[u.dir+"."+receiver(f)+f.Name.Name] == "" {
			found = append(found, u.at(f, "%s has %d lines, at most %d", f.Name.Name, u.lines(f), functionLines))
		}
	})
	return found
}

// TestLargeFilesAndInterfacesAreShown with go test -v: each may be two things.
func TestLargeFilesAndInterfacesAreShown(t *testing.T) {
	for _, u := range load(t) {
		for _, p := range u.parts {
			if lines := u.files.File(p.Pos()).LineCount(); lines > fileLines {
				t.Logf("%s/%s has %d lines", u.dir, p.name, lines)
			}
		}
		u.inspect(func(node ast.Node) {
			if s, ok := node.(*ast.TypeSpec); ok {
				if i, ok := s.Type.(*ast.InterfaceType); ok && methods(i) > interfaceMethods {
					t.Logf("%s.%s has %d methods", u.dir, s.Name.Name, methods(i))
				}
			}
		})
	}
}

// receiver is "Type." for a method, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	if name := rootOf(f.Recv.List[0].Type); name != nil {
		return name.Name + "."
	}
	return ""
}

// methods counts an embedded interface as one; a constraint of types has none.
func methods(i *ast.InterfaceType) int {
	count := 0
	for _, field := range i.Methods.List {
		switch field.Type.(type) {
		case *ast.FuncType, *ast.Ident, *ast.SelectorExpr:
			count += max(1, len(field.Names))
		}
	}
	return count
}
