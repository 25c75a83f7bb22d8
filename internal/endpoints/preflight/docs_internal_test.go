package preflight

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheReferenceOfChecksIsUpToDate -update

func TestTheReferenceOfChecksIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "check.md")
	want := reference()
	golden.CheckPart(t, path, "", "## Exit status", want, "go generate ./internal/endpoints/preflight")
}

const referenceHead = "<!-- Generated from internal/endpoints/preflight by \"go generate ./internal/endpoints/preflight\", and from internal/endpoints/cli. Do not edit. -->\n" + `
# The command check, and the exit status of all commands

` + "`check`" + ` checks everything that has to be right before the daemon can work, in the order of this page, whether variables, files or objects of the API server say what that is:

- each pool: its source, its credentials, its nodes, and one health check of each endpoint in each way that a Service asks for;
- each namespace: the rights;
- each Service: the Service, its slices, and what keeps its clients from the endpoints.

It changes nothing, and needs no right that the daemon does not need. It makes at most 10 requests in each namespace. What it does not look at, because of that bound, a missing right or the kind of the store, is a line that says so. ` + "`--namespace` and `--service`" + ` choose what is looked at. ` + "`--timeout`" + ` limits the whole run.

| result | meaning |
|---|---|
| ` + "`ok`" + ` | as it should be |
| ` + "`warn`" + ` | allowed, and seldom intended |
| ` + "`fail`" + ` | the daemon would not work as intended |
| ` + "`skip`" + ` | not checked, or not meant to be published; the message says why |

Exit status: 0 nothing failed; 1 something failed; 2 the configuration is wrong; 124 time-out.

` + "`--only AREA`" + ` checks one area only. For several, separate them with commas or repeat ` + "`--only`" + `. The exit status counts only what was checked. A wrong configuration is always reported.

| area | needs |
|---|---|
%s
What an area needs is checked as well, and shown if it failed.

` + "`--short`" + ` prints only what is ` + "`warn` or `fail`" + `, and the counts of all checks.

` + "`-o json`" + ` and ` + "`-o yaml`" + ` print one document:

| field | holds |
|---|---|
| ` + "`apiVersion`" + ` | ` + "`v1`" + `: fields may be added, and keep their meaning |
| ` + "`ok`" + ` | whether nothing failed |
| ` + "`summary`" + ` | the sentence at the end of the text |
| ` + "`counts`" + ` | how many checks have each result: ` + "`ok`, `warn`, `fail`, `skip`" + ` |
| ` + "`checks[].id`" + ` | the kind of the check: a heading of this page |
| ` + "`checks[].area`" + ` | the area |
| ` + "`checks[].result`" + ` | see above |
| ` + "`checks[].subject`" + ` | what was checked: a variable, a node and its address, a right, an object |
| ` + "`checks[].message`" + ` | what was found, with the actual values |
| ` + "`checks[].reason`" + ` | the [reason](reasons.md) of a node or address, or that of the [Event](reasons.md#events) on the Service, where there is one |
| ` + "`checks[].remedy`, `checks[].link`" + ` | what to do, and the heading of this page; for ` + "`warn` and `fail`" + ` |
`

// reference returns docs/reference/check.md before the exit status, which package cli makes.
func reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, referenceHead, areaTable())
	for _, area := range Areas() {
		fmt.Fprintf(&b, "\n## %s\n", area)
		for _, doc := range Docs() {
			if doc.ID.area() == area {
				fmt.Fprintf(&b, "\n### %s\n\n%s\n\nWhat to do: %s.\n", doc.ID, doc.Meaning, doc.Remedy)
			}
		}
	}
	return b.String() + "\n"
}

// areaTable lists the areas and what they need.
func areaTable() string {
	var b strings.Builder
	for _, area := range Areas() {
		var ids []string
		for _, id := range needs(area) {
			ids = append(ids, "`"+string(id)+"`")
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", area, strings.Join(ids, ", "))
	}
	return b.String()
}
