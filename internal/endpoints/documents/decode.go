package documents

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// MaxFileBytes is how much one file may hold: as much as a ConfigMap.
const MaxFileBytes = 1 << 20

// Decode reads the documents of one file, YAML or JSON, in their order. file is what
// messages call it. A file that is not YAML at all is one document without a key.
func Decode(file string, data []byte) []Document { return Folder{}.decode(file, data) }

func (f Folder) decode(file string, data []byte) []Document {
	if len(data) > MaxFileBytes {
		return []Document{unreadable(file, 0, problem{"holds more than 1 MiB", "split it into several files"})}
	}
	var found []Document
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var root yaml.Node
		err := decoder.Decode(&root)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			line, p := notYAML(err)
			return append(found, unreadable(file, line, p))
		}
		if len(root.Content) == 0 || isNull(root.Content[0]) {
			continue
		}
		found = append(found, f.decodeDocument(file, root.Content[0]))
	}
}

func unreadable(file string, line int, p problem) Document {
	return Document{File: file, Line: line, Mistakes: []Mistake{{File: file, Line: line, Rule: p.rule, Remedy: p.remedy}}}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)

// notYAML takes the line out of the error of the library. The rest of its text may
// repeat an anchor, so it is shortened like every value.
func notYAML(err error) (int, problem) {
	parts := yamlLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	line, _ := strconv.Atoi(parts[1])
	return line, problem{"is not YAML or JSON (" + strings.Trim(settings.Quote(parts[2]), `"`) + ")", "correct the line or the one before it"}
}

// decodeDocument reads one document: first what it is, then its fields.
func (f Folder) decodeDocument(file string, node *yaml.Node) Document {
	w := &walk{file: file, loopback: f.Loopback, lines: map[string]int{"": node.Line}, budget: maxNodes}
	document := Document{File: file, Line: node.Line}
	document.Key = w.identity(node)
	w.document = ""
	if document.Key.Kind != "" && document.Key.Name != "" {
		w.document = document.Key.String()
	}
	switch document.Key.Kind {
	case v1alpha1.KindEndpointPool:
		document.Pool = decoded(w, node, new(v1alpha1.EndpointPool))
		w.checkPool(&document.Pool.Spec)
	case v1alpha1.KindEndpointBinding:
		document.Binding = decoded(w, node, new(v1alpha1.EndpointBinding))
		w.checkBinding(&document.Binding.Spec)
	}
	for i := range w.mistakes {
		w.mistakes[i].Document = w.document
	}
	if document.Mistakes = w.mistakes; len(document.Mistakes) > 0 {
		if document.Pool != nil {
			document.OnlyChecked = w.onlyChecked(document.Pool)
		}
		if document.Binding != nil && w.sound("spec.healthCheck") {
			document.OwnCheck = document.Binding.Spec.HealthCheck
		}
		document.Pool, document.Binding = nil, nil
	}
	if !w.identified {
		document.Key = Key{}
	}
	return document
}

// decoded fills a pool or a binding in, as far as its fields can be decoded.
func decoded[T interface{ SetDefaults() }](w *walk, node *yaml.Node, document T) T {
	w.value(node, reflect.ValueOf(document).Elem(), "")
	document.SetDefaults()
	return document
}
