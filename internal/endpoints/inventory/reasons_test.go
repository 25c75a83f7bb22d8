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
	golden.Check(t, path, want, "go generate ./internal/endpoints/inventory")
}

// reasonsReference returns docs/reference/reasons.md.
func reasonsReference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/endpoints/inventory by "go generate ./internal/endpoints/inventory". Do not edit. -->

# Reasons

Every node and address that the daemon has seen has one of these reasons. The list is closed and the same on every surface. ` + "`explain NODE|IP`" + ` shows the whole trail of a node with the actual values.

| reason | meaning | what to do |
|---|---|---|
`)
	for _, doc := range inventory.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", doc.Reason, doc.Meaning, doc.Remedy)
	}
	return b.String()
}
