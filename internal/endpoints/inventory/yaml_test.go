package inventory_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func TestADocumentInYAMLIsCalledThat(t *testing.T) {
	t.Parallel()
	for doc, yaml := range map[string]bool{
		"- name: w1\n  private_ip: 10.0.0.1\n": true, "---\n- name: w1\n": true, "# nodes\n- name: w1\n": true, "nodes:\n- name: w1\n": true,
		"%YAML 1.2\n---\n- name: w1\n": true, "[{name: w1, private_ip: 10.0.0.1}]": true, "-\n  name: w1\n": true,
		"-5x": false, "error: no such host": false, "no nodes": false, "[{\"name\": w1}]": false, "<html>": false,
	} {
		_, err := inventory.Decode([]byte(doc))
		if err == nil {
			t.Fatalf("%q is decoded", doc)
		}
		if got := strings.Contains(err.Error(), "is YAML; write JSON"); got != yaml {
			t.Errorf("%q: got %v, want that it is YAML: %t", doc, err, yaml)
		}
	}
}
