package kinds_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// fullest are documents that have every field of the kinds together.
func fullest() []string {
	return []string{pool(fullPool), selecting("a=b"), nodes("{name: a, addresses: [10.0.0.1], zone: z}"), binding("pools: [{name: a}]"), binding(fullBinding)}
}

// Contract 78: every limit of the definitions is one of the program. Both accept what is at
// the limit. Both refuse what is just beyond, and name the field.
func (w *world) haveTheSameLimits(t *testing.T) {
	tried := 0
	for _, file := range []string{"endpointpools", "endpointbindings"} {
		kind, whole := schemaOf(t, folder+"/"+file+".yaml")
		whole.each("", func(path string, s *schema) {
			if !strings.HasPrefix(path, "spec.") {
				return
			}
			if s.Type == "string" && s.MaxLength == nil && s.Enum == nil || s.Type == "array" && s.MaxItems == nil {
				t.Errorf("%s: %s has no limit, so rules about it cost the API server too much", kind, path)
			}
			object, at := documentWith(t, kind, path)
			for _, e := range s.edges(t, path, at.value) {
				tried++
				at.put(e.within)
				w.bothAccept(t, fmt.Sprintf("%s %s at %s", kind, at.path, e.limit), object)
				at.put(e.beyond)
				w.bothRefuse(t, fmt.Sprintf("%s %s beyond %s", kind, at.path, e.limit), object, at.path)
			}
		})
	}
	if tried < 70 {
		t.Fatalf("tried only %d limits: are they still recognised?", tried)
	}
}

func (w *world) bothAccept(t *testing.T, name string, object *unstructured.Unstructured) {
	t.Helper()
	text := textOf(t, object)
	if mistakes := documents.Decode("f", text)[0].Mistakes; len(mistakes) > 0 {
		t.Errorf("%s: the program refuses: %v", name, mistakes[0])
		return
	}
	stored, err := w.create(t.Context(), object, metav1.DryRunAll)
	if err != nil {
		t.Errorf("%s: the API server refuses: %v", name, err)
	} else if diff := differs(t, string(text), stored); diff != "" {
		t.Errorf("%s: what is stored means something else (-file +API server):\n%s", name, diff)
	}
}

func (w *world) bothRefuse(t *testing.T, name string, object *unstructured.Unstructured, path string) {
	t.Helper()
	mistakes := documents.Decode("f", textOf(t, object))[0].Mistakes
	if !slices.ContainsFunc(mistakes, func(m documents.Mistake) bool { return about(m.Field, path) }) {
		t.Errorf("%s: the program says %v", name, mistakes)
	}
	_, err := w.create(t.Context(), object, metav1.DryRunAll)
	status := new(apierrors.StatusError)
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || !slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool { return about(c.Field, path) }) {
		t.Errorf("%s: the API server says %v", name, err)
	}
}

// about reports whether what a mistake names is a field, or in it, or the selector around it.
func about(named, field string) bool {
	selector, _, _ := strings.Cut(field, ".match")
	return strings.HasPrefix(named, field) || named == selector
}

func textOf(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// spot is a field of a document.
type spot struct {
	path  string
	value any
	put   func(any)
}

// documentWith returns a document that has a field.
func documentWith(t *testing.T, kind, path string) (*unstructured.Unstructured, *spot) {
	t.Helper()
	for _, text := range fullest() {
		object := objectOf(t, text)
		if at := find(object.Object, strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".")); object.GetKind() == kind && at != nil {
			at.path = strings.TrimPrefix(at.path, ".")
			return object, at
		}
	}
	t.Fatalf("no document of fullest has %s of %s: write the field into one", path, kind)
	return nil, nil
}

// find follows a path, in the first entry of a list that has the rest; nil if none has it.
func find(in any, path []string) *spot {
	step := func(name string, value any, put func(any)) *spot {
		if len(path) == 1 {
			return &spot{name, value, put}
		}
		at := find(value, path[1:])
		if at != nil {
			at.path = name + at.path
		}
		return at
	}
	switch all := in.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if key == path[0] || path[0] == "{}" {
				return step("."+key, all[key], func(value any) { all[key] = value })
			}
		}
	case []any:
		for i, entry := range all {
			if at := step(fmt.Sprintf("[%d]", i), entry, func(value any) { all[i] = value }); path[0] == "[]" && at != nil {
				return at
			}
		}
	}
	return nil
}

// edge is a limit, a value that is just within, and the nearest one beyond.
type edge struct {
	limit          string
	within, beyond any
}

var durations = regexp.MustCompile(`^is outside (\S+) to (\S+);`)

// edges are the limits of one field, which has a value.
func (s *schema) edges(t *testing.T, path string, value any) []edge {
	t.Helper()
	var all []edge
	for _, limit := range []struct {
		name  string
		value *int64
		step  int64
		of    func(int64) any
	}{
		{"minimum", s.Minimum, -1, func(n int64) any { return n }},
		{"maximum", s.Maximum, 1, func(n int64) any { return n }},
		{"minItems", s.MinItems, -1, func(n int64) any { return entries(path, value, n) }},
		{"maxItems", s.MaxItems, 1, func(n int64) any { return entries(path, value, n) }},
		{"maxProperties", s.MaxProperties, 1, labels},
		{"minLength", s.MinLength, -1, func(n int64) any { return textOfLength(path, n) }},
		{"maxLength", s.MaxLength, 1, func(n int64) any { return textOfLength(path, n) }},
	} {
		if limit.value != nil && len(s.Enum) == 0 {
			all = append(all, edge{fmt.Sprint(limit.name, " ", *limit.value), limit.of(*limit.value), limit.of(*limit.value + limit.step)})
		}
	}
	if len(s.Enum) > 0 {
		all = append(all, edge{"enum", value, "Other"})
	}
	for _, r := range s.Rules {
		for i, words := 1, durations.FindStringSubmatch(r.Message); i < len(words); i++ {
			limit, err := time.ParseDuration(words[i])
			if err != nil {
				t.Fatal(err)
			}
			step := time.Duration(2*i-3) * time.Millisecond // down from the first, up from the second
			all = append(all, edge{words[i], limit.String(), (limit + step).String()})
		}
	}
	return all
}

// entries are so many entries of a list, made of its first one. Those of some lists differ.
func entries(path string, list any, count int64) any {
	all := []any{}
	for n := range count {
		switch entry := list.([]any)[0].(type) {
		case map[string]any:
			entry = maps.Clone(entry)
			if path == "spec.pools" || path == "spec.ports" || path == "spec.source.static.nodes" {
				entry["name"] = fmt.Sprintf("n%d", n)
			}
			if path == "spec.ports" {
				entry["port"] = 1000 + n
			}
			all = append(all, entry)
		case string:
			if path == "spec.subnets" {
				entry = fmt.Sprintf("10.0.%d.0/24", n)
			}
			all = append(all, entry)
		}
	}
	return all
}

func labels(count int64) any {
	all := map[string]any{}
	for n := range count {
		all[fmt.Sprintf("l%d", n)] = "a"
	}
	return all
}

// forms are texts that have to have a form: what is before and after the letter that makes
// them longer.
var forms = map[string][3]string{
	"addresses[]":    {"fd00:0000:0000:0000:0000:0000:25", "5", ".255.255.255"},
	"clusterID":      {uuid[:24], "e", ""},
	"datacenterID":   {uuid[:24], "e", ""},
	"expectedStatus": {"", "0", "200"},
	"key":            {strings.Repeat("a", 253) + "/", "a", ""},
	"nodeSelector":   {"a", " ", ""},
	"path":           {"/", "a", ""},
	"ports[]":        {"10000-6553", "5", ""},
	"subnets[]":      {"fd00:0000:0000:0000:0000:0000:25", "5", ".255.255.255/128"},
}

// textOfLength is a text of a field with so many characters.
func textOfLength(path string, length int64) any {
	form, has := forms[path[strings.LastIndex(path, ".")+1:]]
	switch {
	case has:
	case slices.Contains([]string{"drainPeriod", "interval", "pollInterval", "releaseAfter", "timeout"}, path[strings.LastIndex(path, ".")+1:]):
		form = [3]string{"1.", "0", "s"}
	default:
		form[1] = "a"
	}
	return form[0] + strings.Repeat(form[1], int(length)-len(form[0]+form[2])) + form[2]
}
