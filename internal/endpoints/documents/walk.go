package documents

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// maxNodes bounds how many values one document may have, aliases written out: a few
// lines of aliases of aliases are millions.
const maxNodes = 100_000

// maxMistakes bounds how many mistakes of one document are told, at the cost of those
// after them: then nothing of it is known to be sound.
const maxMistakes = 100

// problem is a rule that a field breaks, with the remedy.
type problem struct{ rule, remedy string }

// walk decodes one document and notes what is wrong with it.
type walk struct {
	file, document string
	// loopback accepts subnets of loopback addresses.
	loopback bool
	// lines has the line of each field that the document has, by path.
	lines map[string]int
	// broken has the paths of fields with a mistake. Rules leave them alone, so that one
	// slip is one mistake.
	broken map[string]bool
	// budget is how many values may still follow.
	budget     int
	identified bool
	mistakes   []Mistake
}

// has reports whether the document sets a field.
func (w *walk) has(path string) bool {
	_, ok := w.lines[path]
	return ok
}

// sound reports whether no field of a path, or below or above it, has a mistake.
func (w *walk) sound(path string) bool {
	if len(w.mistakes) == maxMistakes {
		return false
	}
	for broken := range w.broken {
		if within(path, broken) || within(broken, path) {
			return false
		}
	}
	return true
}

// within reports whether a path is another or a part of it.
func within(path, whole string) bool {
	rest, ok := strings.CutPrefix(path, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// note adds a mistake of a field, without its value.
func (w *walk) note(path string, p problem) { w.noteValue(path, "", p) }

// spelled puts fields in the place of variables. A mistake names its document itself.
var spelled = naming.Names{Spelling: naming.Fields}

// noteValue adds a mistake of a field with its value. The words are those of fields,
// where config's name variables.
func (w *walk) noteValue(path, value string, p problem) {
	if len(w.mistakes) == maxMistakes {
		return
	}
	if w.broken == nil {
		w.broken = map[string]bool{}
	}
	w.broken[path] = true
	w.mistakes = append(w.mistakes, Mistake{
		File: w.file, Line: w.line(path), Field: path, Value: value,
		Rule: spelled.Of(p.rule), Remedy: spelled.Of(p.remedy),
	})
}

// missing notes a field that the document has to set.
func (w *walk) missing(path, remedy string) {
	w.note(path, problem{"is required and not set", remedy})
}

// line returns the line of a field, or of the nearest one around it.
func (w *walk) line(path string) int {
	for {
		if line, ok := w.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// form holds a value against a form that variables have too.
func (w *walk) form(path, value string, form settings.Form) {
	for _, p := range settings.Problems(form, value) {
		w.noteValue(path, value, problem{p.Rule, p.Remedy})
	}
}

// forms holds each entry of a list against a form.
func (w *walk) forms(path string, values []string, form settings.Form) {
	for i, value := range values {
		if at := fmt.Sprintf("%s[%d]", path, i); w.sound(at) {
			w.form(at, value, form)
		}
	}
}

// child returns the value of a key, or nil.
func (w *walk) child(node *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return resolved(node.Content[i+1])
		}
	}
	return nil
}

// textAt returns the text of a key. What is no text is noted when the fields are
// decoded, or here for what decides which fields there are.
func (w *walk) textAt(node *yaml.Node, key string, parents ...string) string {
	path := strings.Join(append(parents, key), ".")
	value := w.child(node, key)
	if value == nil || isNull(value) {
		return ""
	}
	w.lines[path] = value.Line
	if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" {
		w.note(path, notText(value))
		return ""
	}
	return value.Value
}

// spend takes one from the budget, and reports whether there was one left.
func (w *walk) spend(path string) bool {
	if w.budget--; w.budget == -1 {
		w.note(path, problem{"has too many values", fmt.Sprintf("write at most %d in a document; aliases count as what they stand for", maxNodes)})
	}
	return w.budget >= 0
}

// value decodes one value and all that is in it.
func (w *walk) value(node *yaml.Node, target reflect.Value, path string) {
	if !w.spend(path) {
		return
	}
	node = resolved(node)
	if isNull(node) {
		delete(w.lines, path)
		return // as if the field were not there, as in the API
	}
	if path != "" {
		w.lines[path] = node.Line
	}
	if decode := scalarOf(target); decode != nil {
		w.scalar(node, target, path, decode)
		return
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		w.value(node, target.Elem(), path)
	case reflect.Struct:
		w.fields(node, target, path)
	case reflect.Slice:
		w.list(node, target, path)
	case reflect.Map:
		w.texts(node, target, path)
	default:
		// A field of another type is a defect that every test of Decode meets.
		panic("documents: no decoder for " + target.Type().String())
	}
}

// list decodes a sequence.
func (w *walk) list(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.SequenceNode {
		w.note(path, problem{"is " + nounOf(node) + ", not a list", "write [...], or one line with - for each entry"})
		return
	}
	if target.Type() == reflect.TypeFor[[]v1alpha1.BindingPool]() && w.onlyNames(node, path) {
		return
	}
	entries := reflect.MakeSlice(target.Type(), len(node.Content), len(node.Content))
	for i, entry := range node.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		if isNull(resolved(entry)) && w.spend(at) {
			w.lines[at] = entry.Line
			w.note(at, problem{"is an empty entry", "write its value, or remove it"})
			continue
		}
		w.value(entry, entries.Index(i), at)
	}
	target.Set(entries)
}

// onlyNames refuses a list of the names of pools, as the first documents had it, and shows the
// form that it has now.
func (w *walk) onlyNames(node *yaml.Node, path string) bool {
	var now []string
	for _, entry := range node.Content {
		entry = resolved(entry)
		if entry.Kind != yaml.ScalarNode || isNull(entry) {
			return false
		}
		name := settings.Quote(entry.Value)
		if plain := (&yaml.Node{Kind: yaml.ScalarNode, Value: entry.Value}); plain.ShortTag() == "!!str" && len(settings.Problems(settings.FormLabel, entry.Value)) == 0 {
			name = entry.Value
		}
		now = append(now, "{name: "+name+"}")
	}
	if len(now) == 0 || len(now) > maxPools {
		return false
	}
	w.note(path, problem{"is a list of names, and each pool is a group of fields", "write pools: [" + strings.Join(now, ", ") + "]"})
	return true
}

// texts decodes a map of texts, such as labels.
func (w *walk) texts(node *yaml.Node, target reflect.Value, path string) {
	if node.Kind != yaml.MappingNode {
		w.note(path, problem{"is " + nounOf(node) + ", not a map", "write name: value"})
		return
	}
	entries := reflect.MakeMap(target.Type())
	for key, value := range w.pairs(node, path) {
		entry := reflect.New(target.Type().Elem()).Elem()
		w.value(value, entry, path+"."+key)
		entries.SetMapIndex(reflect.ValueOf(key), entry)
	}
	target.Set(entries)
}

// pairs yields the keys and values of a mapping, each key once. Those that are not yielded count
// as values, too.
func (w *walk) pairs(node *yaml.Node, path string) func(func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(node.Content) && w.budget >= 0; i += 2 {
			key := node.Content[i]
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			w.lines[at] = key.Line
			switch {
			case key.ShortTag() == "!!merge":
				w.note(at, problem{"is a merge key", "write the fields themselves"})
			case key.Kind != yaml.ScalarNode:
				w.note(path, problem{"has a name that is " + nounOf(key), "write a word before the colon"})
			case seen[key.Value]:
				w.note(at, problem{"is set twice", "remove one of them"})
			default:
				seen[key.Value] = true
				if !yield(key.Value, node.Content[i+1]) {
					return
				}
				continue
			}
			w.spend(at)
		}
	}
}
