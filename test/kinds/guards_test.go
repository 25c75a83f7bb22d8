package kinds_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A rule that reads a field which is not there fails, and refuses the object. A default does
// not help: defaults are not filled in when a default is validated. So a rule asks has()
// first.
func TestEveryRuleAsksForWhatMayBeMissing(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, path := range []string{folder + "/endpointpools.yaml", folder + "/endpointbindings.yaml", "../../deploy/fleet/fleet.ablmnzde.github.io_envoys.yaml"} {
		kind, whole := schemaOf(t, path)
		whole.each("", func(path string, s *schema) {
			for _, r := range s.Rules {
				tried++
				for _, field := range unguarded(s, r.Rule) {
					t.Errorf("%s %s: the rule does not ask has(%s):\n%s", kind, path, field, r.Rule)
				}
			}
		})
	}
	if tried < 70 {
		t.Fatalf("tried only %d rules: are they still recognised?", tried)
	}
}

func TestAMissingGuardIsFound(t *testing.T) {
	t.Parallel()
	entry := &schema{Properties: map[string]*schema{"must": {}, "may": {}}, Required: []string{"must"}}
	s := &schema{Properties: map[string]*schema{"must": entry, "may": entry, "list": {Items: entry}}, Required: []string{"must"}}
	for rule, want := range map[string][]string{
		"self.must.must == 1": nil,
		"!has(self.may)":      nil,
		"self.may.must == 1":  {"self.may"},
		"has(self.may.may)":   {"self.may"},
		"!has(self.must.may) || self.must.may.size() < 9":                                     nil,
		"self.must.may.size() < 9":                                                            {"self.must.may"},
		"!has(self.may) || self.may.may == 1":                                                 {"self.may.may"},
		"!has(self.may) || !has(self.list) || self.list.all(p, p.may == 'p')":                 {"p.may"},
		"self.list.all(p, !has(p.may) || p.may == p.must)":                                    {"self.list"},
		"!has(self.list) || self.list.all(p, has(p.may) && self.list.all(q, q.may == p.may))": {"q.may"},
		"has(self.list) && self.list.size() > 0 ? 'self.may' != r'self.may' : true":           nil,
	} {
		if got := unguarded(s, rule); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", rule, got, want)
		}
	}
}

var (
	literal = regexp.MustCompile(`r?'[^']*'`)
	macro   = regexp.MustCompile(`(\w+(?:\.\w+)*)\.(?:all|exists|exists_one|filter|map)\((\w+),`)
	chain   = regexp.MustCompile(`(has\()?\b(\w+(?:\.\w+)+)`)
)

// unguarded returns the optional fields that a rule reads without has(), each once.
func unguarded(self *schema, rule string) []string {
	rule = literal.ReplaceAllString(rule, "''")
	scope := map[string]*schema{"self": self}
	for _, m := range macro.FindAllStringSubmatch(rule, -1) {
		if _, list := along(scope, m[1]); list != nil && list.Items != nil {
			scope[m[2]] = list.Items
		}
	}
	var found []string
	for _, m := range chain.FindAllStringSubmatch(rule, -1) {
		optional, _ := along(scope, m[2])
		for _, field := range optional {
			asked := strings.Contains(rule, "has("+field+")") || m[1] != "" && field == m[2]
			if !asked && !slices.Contains(found, field) {
				found = append(found, field)
			}
		}
	}
	return found
}

// along follows a.b.c from a variable. It returns the fields on the way that may be missing,
// and the last one, nil where the last word is a function.
func along(scope map[string]*schema, path string) (optional []string, end *schema) {
	words := strings.Split(path, ".")
	at := scope[words[0]]
	for i, word := range words[1:] {
		if at == nil || at.Properties[word] == nil {
			return optional, nil
		}
		field := strings.Join(words[:i+2], ".")
		if !slices.Contains(at.Required, word) && field != "self.metadata" { // every object has that
			optional = append(optional, field)
		}
		at = at.Properties[word]
	}
	return optional, at
}
