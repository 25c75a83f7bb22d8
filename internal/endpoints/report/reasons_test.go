package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Contract 83: every reason that the kinds name is said on an object, by the condition that
// it is a reason of. No object says another one.
func TestContract83EveryReasonIsSaidOnAnObject(t *testing.T) {
	t.Parallel()
	said, words := map[string]bool{}, map[string]bool{}
	for _, c := range objectCases() {
		for _, found := range regexp.MustCompile(`(?m)^(\w+)=\w+ (\w+)$`).FindAllStringSubmatch(strings.Join(c.want, "\n"), -1) {
			said[found[1]+" "+found[2]], words[found[2]] = true, true
		}
	}
	named := reasons(t, "../../../api/v1alpha1/status.go")
	if len(named) < 30 {
		t.Fatalf("found only %d reasons: are the constants still recognised?", len(named))
	}
	for reason, condition := range named {
		if !said[condition+" "+reason] {
			t.Errorf("no object of the table says %s with the reason %s", condition, reason)
		}
		delete(words, reason)
	}
	for reason := range words {
		t.Errorf("an object says %s, which is no constant of the kinds", reason)
	}
}

// reasons are the constants of a file that are reasons, with the condition that the comment
// over them names.
func reasons(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, declaration := range file.Decls {
		group, is := declaration.(*ast.GenDecl)
		if !is || group.Tok != token.CONST {
			continue
		}
		of := regexp.MustCompile(`^The reasons of (\w+)`).FindStringSubmatch(group.Doc.Text())
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			if !strings.HasPrefix(constant.Names[0].Name, "Reason") {
				continue
			}
			if of == nil {
				t.Fatalf("%s: the comment over the constants does not say \"The reasons of\" which condition", constant.Names[0].Name)
			}
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found[value] = of[1]
		}
	}
	return found
}
