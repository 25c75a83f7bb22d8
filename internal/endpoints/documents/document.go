package documents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Key identifies a document, wherever it stands.
type Key struct {
	// Kind is v1alpha1.KindEndpointPool or KindEndpointBinding.
	Kind string `json:"kind"`
	// Namespace is empty for a pool.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Rest is the name of what stands for documents of a namespace that are too many to be known by name.
const Rest = "*"

// String returns "EndpointPool blue" or "EndpointBinding shop/web".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// compare orders keys by kind, namespace and name.
func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// Document is one document of a file.
type Document struct {
	// Key is empty where kind, name or namespace is missing or wrong.
	Key Key
	// File and Line say where the document begins.
	File string
	Line int
	// Object is nil for a document of a file.
	Object *Object
	// Pool or Binding is the document with its defaults; both are nil where Mistakes has
	// entries.
	Pool     *v1alpha1.EndpointPool
	Binding  *v1alpha1.EndpointBinding
	Mistakes []Mistake
	// OnlyChecked is what of a pool with mistakes is enough to check what its slices
	// publish; nil where that is not enough.
	OnlyChecked *v1alpha1.EndpointPool
	// OwnCheck is the check of a binding with mistakes, where it is sound.
	OwnCheck *v1alpha1.BindingHealthCheck
	// Undone says that the API server lost the object when it came back from a backup.
	Undone bool
}

// YAML writes a pool or a binding as a file has it.
func YAML(document any) ([]byte, error) {
	data, err := JSON(document)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(data)
}

// JSON writes a document without its status, which is no part of what is asked for.
func JSON(document any) ([]byte, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	return json.Marshal(fields)
}

// Mistake is one thing that is wrong with one document.
type Mistake struct {
	File string `json:"file"`
	// Line counts from 1. It is 0 where the whole file is meant.
	Line int `json:"line,omitempty"`
	// Document is the key in words. It is empty where the document has none.
	Document string `json:"document,omitempty"`
	// Field is the path of the field: spec.subnets[0]. It is empty where the whole
	// document is meant.
	Field string `json:"field,omitempty"`
	// Value is what the field holds. It is empty where nothing is set, and for every
	// field that is unknown, because it may hold a secret.
	Value string `json:"value,omitempty"`
	// Rule is what the value breaks.
	Rule string `json:"rule"`
	// Remedy is what to do.
	Remedy string `json:"remedy"`
}

// Place returns file and line as a compiler writes them.
func (m Mistake) Place() string {
	if m.Line == 0 {
		return m.File
	}
	return fmt.Sprintf("%s:%d", m.File, m.Line)
}

// Subject returns the document and its field.
func (m Mistake) Subject() string {
	subject := strings.TrimSpace(m.Document + " " + m.Field)
	if m.Value != "" {
		subject += "=" + settings.Quote(m.Value)
	}
	return subject
}

// Error returns the mistake as one line.
func (m Mistake) Error() string {
	text := m.Rule + "; " + m.Remedy
	for _, part := range []string{m.Subject(), m.Place()} {
		if part != "" {
			text = part + ": " + text
		}
	}
	return text
}

// compare orders mistakes as one reads files.
func (m Mistake) compare(other Mistake) int {
	return cmp.Or(cmp.Compare(m.File, other.File), cmp.Compare(m.Line, other.Line), cmp.Compare(m.Document, other.Document), cmp.Compare(m.Field, other.Field), cmp.Compare(m.Rule, other.Rule))
}

// Mistakes are all that is wrong with the documents of a folder.
type Mistakes []Mistake

// Error returns one line for each mistake, after a line that counts them.
func (m Mistakes) Error() string { return settings.Counted(m, "the documents") }
