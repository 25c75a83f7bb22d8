package kinds_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is a part of a definition: what it says of one field.
type schema struct {
	Type                                                    string
	Properties                                              map[string]*schema
	AdditionalProperties, Items                             *schema
	Required                                                []string
	Enum                                                    []any
	Minimum, Maximum                                        *int64
	MinLength, MaxLength, MinItems, MaxItems, MaxProperties *int64
	Rules                                                   []struct{ Rule, Message string } `json:"x-kubernetes-validations"`
}

// schemaOf reads a definition, and returns its kind.
func schemaOf(t *testing.T, path string) (kind string, whole *schema) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Names    struct{ Kind string }
			Versions []struct {
				Schema struct{ OpenAPIV3Schema *schema }
			}
		}
	}
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(definition.Spec.Versions) != 1 {
		t.Fatalf("%s: got %d versions, want one", path, len(definition.Spec.Versions))
	}
	return definition.Spec.Names.Kind, definition.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// each visits a field and all below it. In a path [] is the entry of a list and {} the value
// of a map.
func (s *schema) each(path string, visit func(path string, s *schema)) {
	visit(path, s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		s.Properties[name].each(strings.TrimPrefix(path+"."+name, "."), visit)
	}
	if s.Items != nil {
		s.Items.each(path+"[]", visit)
	}
	if s.AdditionalProperties != nil {
		s.AdditionalProperties.each(path+".{}", visit)
	}
}
