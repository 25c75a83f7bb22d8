package filter_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
)

// The API server knows the ranges by a list of its own.
func TestContract78TheSchemaOfAPoolForbidsTheSameRanges(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../deploy/crds/endpointpools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := yaml.YAMLToJSON(text) // without the line breaks of YAML
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range filter.Forbidden() {
		if !strings.Contains(string(schema), "'"+prefix.String()+"'") {
			t.Errorf("the schema lacks %s: add it to tools/controller-gen/formats.go, then run \"go generate ./api/v1alpha1\"", prefix)
		}
	}
}
