package assign

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// fields are the fields of a binding by the annotations that stand for them.
var fields = map[string]string{
	v1alpha1.AnnotationHealthCheckMode:           "mode",
	v1alpha1.AnnotationHealthCheckPath:           "path",
	v1alpha1.AnnotationHealthCheckHost:           "host",
	v1alpha1.AnnotationHealthCheckPort:           "port",
	v1alpha1.AnnotationHealthCheckExpectedStatus: "expectedStatus",
}

// fromAnnotations makes the binding that the annotations of a Service stand for, by the
// same rules as for a binding in a file.
func fromAnnotations(s Service) request {
	check := map[string]any{}
	for annotation, field := range fields {
		text, set := s.Annotations[annotation]
		if !set {
			continue
		}
		check[field] = text
		if number, err := strconv.Atoi(text); err == nil && field == "port" {
			check[field] = number
		}
	}
	spec := map[string]any{"pools": []map[string]string{{"name": s.Annotations[v1alpha1.AnnotationPool]}}}
	if len(check) > 0 {
		spec["healthCheck"] = check
	}
	binding := map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.KindEndpointBinding,
		"metadata": map[string]string{"namespace": s.Namespace, "name": s.Key.Service}, "spec": spec,
	}
	data, err := json.Marshal(binding)
	if err != nil {
		return request{annotated: true, mistakes: fmt.Sprintf("the annotations of Service %s cannot be read: %v", s.Key, err)}
	}
	document := documents.Decode("annotations", data)[0]
	if document.Binding != nil {
		return request{annotated: true, spec: document.Binding.Spec}
	}
	return request{annotated: true, mistakes: mistakesOf(s.Key, document.Mistakes)}
}

// mistakesOf says what is wrong with annotations, all at once.
func mistakesOf(key Key, mistakes []documents.Mistake) string {
	var texts []string
	for _, m := range mistakes {
		name := annotationOf(m.Field)
		if m.Value != "" {
			name += "=" + settings.Quote(m.Value)
		}
		texts = append(texts, fmt.Sprintf("%s: %s; %s", name, m.Rule, m.Remedy))
	}
	return fmt.Sprintf("the annotations of Service %s have mistakes, so what they say does not take effect: %s", key, strings.Join(texts, ". "))
}

// annotationOf names the annotation that stands for a field of a binding.
func annotationOf(field string) string {
	for annotation, name := range fields {
		if field == "spec.healthCheck."+name {
			return annotation
		}
	}
	if strings.HasPrefix(field, "spec.pools") {
		return v1alpha1.AnnotationPool
	}
	return field
}

// unknownAnnotations tells of annotations with our prefix that have no effect. Those of
// other programs of this project are none of them.
func unknownAnnotations(s Service) []Notice {
	known := append(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations()...)
	var notices []Notice
	for _, name := range slices.Sorted(maps.Keys(s.Annotations)) {
		if !strings.HasPrefix(name, v1alpha1.GroupName+"/") || slices.Contains(known, name) {
			continue
		}
		remedy := "remove it; the annotations are " + settings.Listed(v1alpha1.BindingAnnotations(), "and")
		if near := settings.Nearest(name, known); near != "" {
			remedy = "did you mean " + near + "?"
		}
		notices = append(notices, Notice{s.Key, UnknownAnnotation, fmt.Sprintf("annotation %s of Service %s is not known and has no effect; %s", name, s.Key, remedy)})
	}
	return notices
}
