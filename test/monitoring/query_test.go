package monitoring_test

import (
	"regexp"
	"slices"
	"strings"
)

// query is what a PromQL expression asks for. That it is well-formed is
// promtool's to say; here only names are picked out of it.
type query struct {
	selectors []selector
	// grouped are the labels of by, on and the like, made the labels that
	// label_replace makes.
	grouped, made []string
	// groupings are the lists of by as they stand there.
	groupings []string
}

// selector is a metric with its matchers.
type selector struct {
	metric   string
	matchers []matcher
}

// matcher is one condition of a selector.
type matcher struct{ label, operator, value string }

var (
	// token is a word, a number or duration, a string, or one sign.
	token   = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9][0-9a-zA-Z_.]*|"(?:[^"\\]|\\.)*"|=~|!~|!=|[^\s]`)
	word    = regexp.MustCompile(`^[a-zA-Z_:]`)
	keyword = []string{"and", "or", "unless", "offset", "bool", "inf", "nan"}
	clause  = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
)

// dissect picks the names out of an expression.
func dissect(expr string) query {
	var q query
	tokens := token.FindAllString(expr, -1)
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	for i := 0; i < len(tokens); i++ {
		switch {
		case !word.MatchString(tokens[i]):
		case slices.Contains(clause, tokens[i]):
			end := i + slices.Index(tokens[i:], ")")
			q.addClause(tokens[i], tokens[i+2:end])
			i = end
		case tokens[i] == "label_replace":
			q.made = append(q.made, madeBy(tokens[i:]))
		case at(i+1) == "(", slices.Contains(clause, at(i+1)), slices.Contains(keyword, tokens[i]):
		case at(i+1) == "{":
			end := i + slices.Index(tokens[i:], "}")
			q.selectors = append(q.selectors, selector{tokens[i], matchersOf(tokens[i+2 : end])})
			i = end
		default:
			q.selectors = append(q.selectors, selector{metric: tokens[i]})
		}
	}
	return q
}

// addClause notes the labels of a clause.
func (q *query) addClause(name string, list []string) {
	labels := slices.DeleteFunc(slices.Clone(list), func(t string) bool { return t == "," })
	q.grouped = append(q.grouped, labels...)
	if name == "by" {
		q.groupings = append(q.groupings, strings.Join(labels, " "))
	}
}

// madeBy returns the label that a call of label_replace makes: its second
// argument.
func madeBy(tokens []string) string {
	depth := 0
	for i, t := range tokens {
		switch t {
		case "(", "{":
			depth++
		case ")", "}":
			depth--
		case ",":
			if depth == 1 {
				return strings.Trim(tokens[i+1], `"`)
			}
		}
	}
	return ""
}

// matchersOf reads what stands in braces.
func matchersOf(tokens []string) []matcher {
	var all []matcher
	for i := 0; i+2 < len(tokens); i += 4 {
		all = append(all, matcher{tokens[i], tokens[i+1], strings.Trim(tokens[i+2], `"`)})
	}
	return all
}
