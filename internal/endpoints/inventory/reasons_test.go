package inventory_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheReferenceOfReasonsIsUpToDate -update

func TestTheReferenceOfReasonsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "reasons.md")
	want := reasonsReference()
	golden.CheckPart(t, path, "", "## Events", want, "go generate ./internal/endpoints/inventory")
}

// reasonsReference returns docs/reference/reasons.md before the Events, which package explain makes.
func reasonsReference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/endpoints/inventory by "go generate ./internal/endpoints/inventory", and from internal/endpoints/explain. Do not edit. -->

# Reasons and Events

## Reasons

Every node and address that the daemon has seen has one of these reasons. The list is closed and the same on every surface. ` + "`explain NODE|IP`" + ` shows the whole trail of a node with the actual values.

| reason | meaning | what to do |
|---|---|---|
`)
	for _, doc := range inventory.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", doc.Reason, doc.Meaning, doc.Remedy)
	}
	return b.String() + "\n"
}
