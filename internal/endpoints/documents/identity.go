package documents

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// maxPoolName leaves room in the names of slices.
const maxPoolName = 40

// identity says what a document is, by apiVersion, kind, name and namespace. It notes
// what is wrong with them, and sets identified where the key is certain. A document of
// another version is one that has a key and cannot be used.
func (w *walk) identity(node *yaml.Node) Key {
	if node.Kind != yaml.MappingNode {
		w.note("", problem{"is not a document: it is " + nounOf(node), "write apiVersion, kind, metadata and spec"})
		return Key{}
	}
	version, kind := w.textAt(node, "apiVersion"), w.textAt(node, "kind")
	kinds := []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding}
	switch {
	case strings.HasSuffix(kind, "List"): // as kubectl get -o yaml prints several
		w.noteValue("kind", kind, problem{"is not one of " + settings.Listed(kinds, "or"), "put each item of the list into a document of its own, with --- between them"})
		return Key{}
	case !w.has("kind"):
		w.missing("kind", "write "+settings.Listed(kinds, "or"))
	default:
		w.oneOf("kind", kind, kinds)
	}
	switch {
	case !w.has("apiVersion"):
		w.missing("apiVersion", "write "+v1alpha1.APIVersion)
	case version != v1alpha1.APIVersion && w.sound("apiVersion"):
		w.noteValue("apiVersion", version, problem{"is not " + v1alpha1.APIVersion, "write " + v1alpha1.APIVersion})
	}
	if !w.sound("kind") {
		return Key{}
	}
	key := Key{Kind: kind}
	metadata := w.child(node, "metadata")
	if metadata == nil || metadata.Kind != yaml.MappingNode {
		w.missing("metadata.name", "give the document a name")
		return key
	}
	w.lines["metadata"] = metadata.Line
	w.name(metadata, &key)
	return key
}

// name reads name and namespace.
func (w *walk) name(metadata *yaml.Node, key *Key) {
	before := len(w.mistakes)
	key.Name = w.textAt(metadata, "name", "metadata")
	namespace := w.textAt(metadata, "namespace", "metadata")
	pool := key.Kind == v1alpha1.KindEndpointPool
	switch {
	case key.Name == "" && len(w.mistakes) == before:
		remedy := "write the name of the Service"
		if pool {
			remedy = "give the pool a name"
		}
		w.missing("metadata.name", remedy)
	case key.Name != "":
		if pool {
			w.poolName("metadata.name", key.Name, "choose a shorter name: the names of slices contain it")
		} else {
			w.form("metadata.name", key.Name, settings.FormLabel)
		}
	}
	switch {
	case pool && namespace != "":
		w.noteValue("metadata.namespace", namespace, problem{"is set, and a pool belongs to no namespace", "remove it; spec.allow says which namespaces may use the pool"})
	case !pool && namespace == "":
		w.missing("metadata.namespace", "write the namespace of the Service")
	case !pool:
		key.Namespace = namespace
		w.form("metadata.namespace", namespace, settings.FormLabel)
	}
	w.identified = len(w.mistakes) == before
}

// poolName holds the name of a pool against its form.
func (w *walk) poolName(path, name, shorter string) {
	w.form(path, name, settings.FormLabel)
	if len(name) > maxPoolName {
		w.noteValue(path, name, problem{"has more than 40 characters", shorter})
	}
}

// label demands a DNS label.
func (w *walk) label(path, value string) {
	if w.required(path) && w.sound(path) {
		w.form(path, value, settings.FormLabel)
	}
}

// remedyFor proposes the word of a list that was probably meant, or what to do otherwise.
func remedyFor(word string, words []string, otherwise string) string {
	for _, candidate := range words {
		if strings.EqualFold(candidate, word) {
			return "write " + candidate
		}
	}
	if near := settings.Nearest(word, words); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}
