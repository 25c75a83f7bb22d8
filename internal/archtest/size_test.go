package archtest_test

import (
	"go/ast"
	"path"
	"testing"
)

// The budgets of the house style. A function or file that does not fit is
// usually two; one that is one thing stands in exceptions with the reason.
const (
	mainLines        = 60
	fileLines        = 300
	functionLines    = 50
	interfaceMethods = 2
)

// exceptions from the budgets: "dir/file.go" for a file, "dir.Name" for a
// function (methods as Type.Name) or an interface, with the reason. One that is
// not needed any more fails the test.
var exceptions = map[string]string{
	"api/v1alpha1/zz_generated.deepcopy.go": "it is generated, and grows with the types",

	"api/fleet/v1alpha1/zz_generated.deepcopy.go":      "it is generated, and grows with the types",
	"api/fleet/v1alpha1.EnvoyPodTemplate.DeepCopyInto": "it is generated, and grows with the types",
	"internal/endpoints/store/storetest.Hand":          "all that others can do to our objects, so that each store's test gives it whole",
	"internal/endpoints/controller.Hub":                "the local cluster, for which a simulation stands in",
	"internal/endpoints/controller.Store":              "target.Store, with what a hub's store has beside it",

	"internal/endpoints/source/ionos/resolve.go": "all that is pure: the whole way of an answer from JSON to nodes",
	"internal/endpoints/source/ionos/http.go":    "all that knows the SDK, with what is done about its mistakes",
	"internal/endpoints/source/ionos/pace.go":    "the source: when it asks depends on all that it remembers",
	"internal/views/xds.transported":             "the stream of gRPC's transport",
}

func TestSizesStayWithinTheirBudgets(t *testing.T) {
	used := map[string]bool{}
	for _, u := range load(t) {
		for subject, v := range oversized(u) {
			if _, ok := exceptions[subject]; ok {
				used[subject] = true
				continue
			}
			report(t, "size", "what fits on a page is understood in one reading; split it, or except "+subject+" with a reason", []violation{v})
		}
	}
	for subject := range exceptions {
		if !used[subject] {
			t.Errorf("the exception for %s is not needed any more", subject)
		}
	}
}

// oversized finds what is over a budget, by the name that an exception would have.
func oversized(u unit) map[string]violation {
	found := map[string]violation{}
	for _, p := range u.parts {
		limit := fileLines
		if path.Dir(u.dir) == "cmd" && p.name == "main.go" {
			limit = mainLines
		}
		if lines := u.files.File(p.Pos()).LineCount(); lines > limit {
			found[u.dir+"/"+p.name] = u.at(p.File, "has %d lines, at most %d", lines, limit)
		}
	}
	u.inspect(func(node ast.Node) {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if lines := u.lines(node); lines > functionLines {
				found[u.dir+"."+receiver(node)+node.Name.Name] = u.at(node, "%s has %d lines, at most %d", node.Name.Name, lines, functionLines)
			}
		case *ast.TypeSpec:
			if i, ok := node.Type.(*ast.InterfaceType); ok && methods(i) > interfaceMethods {
				found[u.dir+"."+node.Name.Name] = u.at(node, "%s has %d methods, at most %d", node.Name.Name, methods(i), interfaceMethods)
			}
		}
	})
	return found
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
