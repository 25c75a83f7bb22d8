package inventory

import (
	"fmt"
	"strings"
)

//go:generate go test . -run TestTheReferenceOfReasonsIsUpToDate -update

// ReasonsReference returns docs/reference/reasons.md.
func ReasonsReference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/inventory by "go generate ./internal/inventory". Do not edit. -->

# Reasons

Every node and address that the daemon has seen has one of these reasons. The list is closed and the same on every surface. ` + "`explain NODE|IP`" + ` shows the whole trail of a node with the actual values.

| reason | meaning | what to do |
|---|---|---|
`)
	for _, doc := range Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", doc.Reason, doc.Meaning, doc.Remedy)
	}
	return b.String()
}
