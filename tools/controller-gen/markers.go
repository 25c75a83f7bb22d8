package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Markers of fields, beside those of controller-gen. What they say is said in the words
// that the program has for the same rule.
//
//	+format=NAME     the form of a text, or of each entry of a list: see formats.go
//	+limits=A to B   the limits of a duration
//	+modes=HTTP;...  the field needs one of these values of the field mode, or None
//	+filesOnly       the field is in mounted documents only
type (
	format    string
	limits    string
	modes     []string
	filesOnly struct{}
)

func register(registry *markers.Registry) error {
	for name, marker := range map[string]any{"format": format(""), "limits": limits(""), "modes": modes(nil), "filesOnly": filesOnly{}} {
		if err := registry.Define(name, markers.DescribesField, marker); err != nil {
			return err
		}
	}
	return nil
}

// ParseMarker takes the text as it stands.
func (f *format) ParseMarker(_, _, text string) error {
	*f = format(text)
	return nil
}

// ParseMarker takes the text as it stands.
func (l *limits) ParseMarker(_, _, text string) error {
	*l = limits(text)
	return nil
}

// after is the priority of markers that look at what others set.
const after = crdmarkers.ApplyPriorityDefault + 1

// ApplyPriority lets the marker find the lengths that others set.
func (format) ApplyPriority() crdmarkers.ApplyPriority { return after }

// ApplyPriority lets the marker find the lengths that others set.
func (limits) ApplyPriority() crdmarkers.ApplyPriority { return after }

// ApplyToSchema adds the rules of a form. A text that may be left out may be empty too.
func (f format) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	form, known := formats[string(f)]
	if !known {
		return fmt.Errorf("there is no format %q", string(f))
	}
	unless := "self == '' || "
	if schema.Type == "array" {
		schema, unless = schema.Items.Schema, ""
	}
	if schema.MaxLength == nil {
		schema.MaxLength = &form.longest
	}
	for _, r := range form.rules {
		r.Rule = unless + r.Rule
		schema.XValidations = append(schema.XValidations, r)
	}
	return nil
}

// ApplyToSchema adds the form and the limits of a duration.
func (l limits) ApplyToSchema(_ *crdmarkers.SchemaContext, schema *apiextensionsv1.JSONSchemaProps) error {
	least, most, ok := strings.Cut(string(l), " to ")
	if !ok {
		return fmt.Errorf("limits %q are not of the form 1s to 1h", string(l))
	}
	isDuration := fmt.Sprintf("self.matches('%s')", durationForm)
	schema.MaxLength = new(int64(32))
	schema.XValidations = append(schema.XValidations,
		rule(isDuration, "is not a duration; write a number with a unit, such as 500ms, 30s, 2m or 1h30m"),
		rule(fmt.Sprintf("!%s || duration(self) >= duration('%s') && duration(self) <= duration('%s')", isDuration, least, most),
			"is outside "+string(l)+"; write a duration within"))
	return nil
}

func rule(expression, message string) apiextensionsv1.ValidationRule {
	return apiextensionsv1.ValidationRule{Rule: expression, Message: message}
}

// apply takes out the fields of files, and turns +modes into rules of the struct.
func apply(types map[crd.TypeIdent]*markers.TypeInfo) error {
	const name = "kubebuilder:validation:XValidation"
	for _, info := range types {
		info.Fields = slices.DeleteFunc(info.Fields, func(f markers.FieldInfo) bool { return f.Markers.Get("filesOnly") != nil })
		for _, field := range info.Fields {
			words, ok := field.Markers.Get("modes").(modes)
			if !ok {
				continue
			}
			rule := modeRule(field, words)
			info.Markers[name] = append(info.Markers[name], rule)
		}
	}
	return nil
}

// modeRule refuses a field that the mode does not use: it looks as if something were
// checked that is not.
func modeRule(field markers.FieldInfo, words modes) crdmarkers.XValidation {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	unset := "!has(self." + name + ")"
	if pointer, ok := field.RawField.Type.(*ast.StarExpr); ok && fmt.Sprint(pointer.X) == "bool" {
		unset += " || !self." + name
	}
	return crdmarkers.XValidation{
		Rule:      fmt.Sprintf("%s || has(self.mode) && self.mode in ['None', '%s']", unset, strings.Join(words, "', '")),
		Message:   fmt.Sprintf("has no effect with this mode; set mode to %s, or remove it", strings.Join(words, " or ")),
		FieldPath: "." + name,
	}
}

// boundSelectors replaces the schema of label selectors, which knows no limits and hence
// allows no rules: their cost would be without limit.
func boundSelectors(parser *crd.Parser) {
	const path = "k8s.io/apimachinery/pkg/apis/meta/v1"
	known := parser.PackageOverrides[path]
	parser.PackageOverrides[path] = func(p *crd.Parser, pkg *loader.Package) {
		known(p, pkg)
		p.Schemata[crd.TypeIdent{Package: pkg, Name: "LabelSelector"}] = selectorSchema()
	}
}
