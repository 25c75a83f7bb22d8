package documents

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ignored are fields that the API server sets. They are in what kubectl prints, and mean
// nothing in a file.
var ignored = sets.New("status",
	"metadata.uid", "metadata.resourceVersion", "metadata.generation", "metadata.creationTimestamp", "metadata.managedFields", "metadata.selfLink")

// used are the fields of metadata that mean something in a file.
var used = sets.New("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations")

// fields decodes a mapping into a struct. Each name is a field, or a mistake.
func (w *walk) fields(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		w.note(path, problem{"is " + nounOf(node) + ", not a group of fields", "write {...}, or one line for each field"})
		return
	}
	known := fieldsOf(target, path)
	for name, value := range w.pairs(node, path) {
		at := strings.TrimPrefix(path+"."+name, ".")
		if ignored.Has(at) {
			continue
		}
		field, ok := known[name]
		if !ok {
			w.unknown(name, at, path, known)
			continue
		}
		w.value(value, field, at)
	}
}

// unknown notes a name that is no field, which counts as a value, too.
func (w *walk) unknown(name, at, path string, known map[string]reflect.Value) {
	if !w.spend(at) || len(w.mistakes) == maxMistakes {
		return
	}
	names := slices.Sorted(maps.Keys(known))
	p := problem{"is not a field", remedyFor(name, names, "remove it; the fields here are "+strings.Join(names, ", "))}
	if path == "spec" || strings.HasPrefix(path, "spec.") {
		p = special(at, p)
	}
	w.note(at, p)
}

// special explains names that people look for, and that a document has on purpose not.
func special(at string, p problem) problem {
	switch name := at[strings.LastIndex(at, ".")+1:]; strings.ToLower(name) {
	case "kubeconfig", "token", "tokenfile", "password", "username", "secret", "secretref", "secretname", "cafile":
		return problem{"is not a field: a document holds no credential and no path to one", "name a folder in spec.credentials of the pool, and put the file into it"}
	case "apiurl", "url", "server":
		return problem{"is not a field: a document cannot say where a credential is sent", "remove it; IONOS_API_URL is a variable"}
	}
	return p
}

// fieldsOf returns the fields of a struct by their names in documents.
func fieldsOf(target reflect.Value, path string) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range target.NumField() {
		name, options, _ := strings.Cut(target.Type().Field(i).Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		switch {
		case strings.Contains(options, "inline"):
			maps.Copy(fields, fieldsOf(target.Field(i), path))
		case name != "" && name != "-" && (used.Has(at) || path != "metadata"):
			fields[name] = target.Field(i)
		}
	}
	return fields
}
