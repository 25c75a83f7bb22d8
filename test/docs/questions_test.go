package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// maxAnswer is how many words, and maxAnswerPages how many pages, a reader of README.md may need
// for an answer.
const maxAnswer, maxAnswerPages = 900, 2

// answer is a part of a page, the whole page where the heading is empty, and a word that the answer
// cannot do without.
type answer struct{ page, heading, word string }

// questions are those of operators, and where the answers are.
var questions = map[string][]answer{
	"How do I take one node out of the traffic?":           {{"docs/how-to/maintain.md", "Take one node out", "exclude-from-external-load-balancers"}},
	"How do I replace a whole node pool?":                  {{"docs/how-to/maintain.md", "Replace a pool", "MAX_REMOVAL_PERCENT"}},
	"Files, annotations or objects: which one?":            {{"docs/how-to/second-service.md", "", "annotation"}},
	"How do I add a second Service?":                       {{"docs/how-to/second-service.md", "", "helm install"}},
	"How many writes and requests does it send a minute?":  {{"docs/results.md", "Writes and requests a minute", "lease"}},
	"Which secrets are there, and who renews them?":        {{"docs/how-to/security.md", "All secrets", "ionos-token"}},
	"Which rights does it need?":                           {{"docs/how-to/security.md", "Rights", "endpointslices"}},
	"How do I get from a Service to a fleet of Envoys?":    {{"docs/how-to/fleets.md", "Install the operator", "helm"}, {"docs/how-to/fleets.md", "Make a fleet", "kind: Envoy"}},
	"Why is my node in no slice?":                          {{"docs/first-run-checklist.md", "If nothing is published", "explain"}},
	"Why does it keep nodes that are gone?":                {{"docs/explanation/concepts.md", "Hold and fail open", "Hold"}, {"docs/explanation/concepts.md", "A rejected inventory", "EMPTY_RESULT_THRESHOLD"}},
	"Which port and traffic policy of the remote Service?": {{"docs/how-to/kubernetes-source.md", "Open a port on the nodes", "externalTrafficPolicy"}},
	"How do I upgrade, and go back?":                       {{"docs/how-to/upgrade.md", "With Helm", "helm upgrade"}, {"docs/how-to/upgrade.md", "Go back", "helm rollback"}},
	"How do I remove it?":                                  {{"docs/how-to/upgrade.md", "Remove", "helm uninstall"}},
}

// TestAnAnswerIsShort: what an operator asks is answered on two pages at most, in few words, and the
// index leads there.
func TestAnAnswerIsShort(t *testing.T) {
	index := read(t, "docs/README.md")
	for question, parts := range questions {
		words := 0
		var pages []string
		for _, a := range parts {
			text := section(t, a)
			if !strings.Contains(text, a.word) {
				t.Errorf("%s: %s, %q: got no word %s", question, a.page, a.heading, a.word)
			}
			words += len(legible.FindAllString(text, -1))
			if pages = append(pages, a.page); !strings.Contains(index, "]("+strings.TrimPrefix(a.page, "docs/")) {
				t.Errorf("%s: docs/README.md does not lead to %s", question, a.page)
			}
		}
		slices.Sort(pages)
		if n := len(slices.Compact(pages)); n > maxAnswerPages || words > maxAnswer {
			t.Errorf("%s: the answer takes %d pages and %d words, want %d and %d at most", question, n, words, maxAnswerPages, maxAnswer)
		}
	}
}

// section is a part of a page, with the headings below its own.
func section(t *testing.T, a answer) string {
	t.Helper()
	text := read(t, a.page)
	if a.heading == "" {
		return text
	}
	for level := 2; level < 4; level++ {
		mark := "\n" + strings.Repeat("#", level) + " "
		_, rest, found := strings.Cut(text, mark+a.heading+"\n")
		if !found {
			continue
		}
		for above := 2; above <= level; above++ {
			rest, _, _ = strings.Cut(rest, "\n"+strings.Repeat("#", above)+" ")
		}
		return rest
	}
	t.Fatalf("%s has no heading %q", a.page, a.heading)
	return ""
}
