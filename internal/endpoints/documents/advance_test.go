package documents_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// allowing is a pool that lets the namespace shop use port 30080.
func allowing(ports string) string {
	return pool(sound + "allow: [{namespaces: [shop], ports: [" + ports + "]}]")
}

func bindingOf(port int) string {
	return binding(fmt.Sprintf("pools: [{name: blue}]\nports: [{port: %d}]", port))
}

func folder(texts ...string) documents.Folder {
	var f documents.Folder
	for i, text := range texts {
		f.Files = append(f.Files, documents.File{Name: string(rune('a'+i)) + ".yaml", Data: []byte(text)})
	}
	return f
}

// told returns changes as lines.
func told(before, after documents.Set) []string {
	lines := []string{}
	for _, c := range documents.Changes(before, after) {
		lines = append(lines, string(c.What)+" "+c.Entry.Key.String())
	}
	return lines
}

func TestContract45AnInvalidDocumentKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	good := documents.Advance(documents.Set{}, folder(allowing(`"30080"`), bindingOf(30080)))
	unreadable := documents.Folder{Files: []documents.File{{Name: "a.yaml", Problem: "cannot be read", Remedy: "correct it"}, {Name: "b.yaml", Data: []byte(bindingOf(30080))}}}
	tests := []struct {
		name   string
		folder documents.Folder
		want   []string
	}{
		{"the same", folder(allowing(`"30080"`), bindingOf(30080)), []string{}},
		{"other files", folder(bindingOf(30080), allowing(`"30080"`)), []string{}},
		{"invalid", folder(allowing(`80-70`), bindingOf(30080)), []string{"Kept EndpointPool blue"}},
		{"the form of the first documents", folder(allowing(`"30080"`), strings.Replace(bindingOf(30080), "{name: blue}", "blue", 1)), []string{"Kept EndpointBinding shop/web"}},
		{"another version of the API", folder(strings.Replace(allowing(`"30080"`), "v1alpha1", "v2", 1), bindingOf(30080)), []string{"Kept EndpointPool blue"}},
		{"no YAML", folder("a: [", bindingOf(30080)), []string{"Kept EndpointPool blue"}},
		{"cut off", folder(allowing(`"30080"`)[:60], bindingOf(30080)), []string{"Kept EndpointPool blue"}},
		{"unreadable", unreadable, []string{"Kept EndpointPool blue"}},
		{"moved into a broken file", folder("# nothing\n", "a: [", bindingOf(30080)), []string{"Kept EndpointPool blue"}},
		{"twice", folder(allowing(`"30080"`), bindingOf(30080), allowing(`"1"`)), []string{"Kept EndpointPool blue"}},
		{"folder unreadable", documents.Folder{Problem: "is not there", Remedy: "mount it"}, []string{"Kept EndpointBinding shop/web", "Kept EndpointPool blue"}},
		{"folder empty", folder(), []string{"Kept EndpointBinding shop/web", "Kept EndpointPool blue"}},
		{"forbidden", folder(allowing(`"30080"`), bindingOf(22)), []string{"Kept EndpointBinding shop/web"}},
		{"changed", folder(allowing(`"30080", "80"`), bindingOf(80)), []string{"Changed EndpointBinding shop/web", "Changed EndpointPool blue"}},
		{"gone", folder("# nothing", bindingOf(30080)), []string{"Gone EndpointPool blue"}},
		{"file gone", folder(allowing(`"30080"`)), []string{"Gone EndpointBinding shop/web"}},
		{"all gone", folder("# nothing"), []string{"Gone EndpointBinding shop/web", "Gone EndpointPool blue"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			after := documents.Advance(good, test.folder)
			if diff := cmp.Diff(test.want, told(good, after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, e := range after.Entries {
				if !e.Usable() {
					t.Errorf("%v has no version in effect", e.Key)
				}
				old, _ := good.Entry(e.Key)
				if e.Kept && (cmp.Diff(old.Pool, e.Pool) != "" || cmp.Diff(old.Binding, e.Binding) != "") {
					t.Errorf("%v: kept another version than the last good one", e.Key)
				}
				if e.Kept && len(e.Mistakes)+len(e.Forbidden) == 0 {
					t.Errorf("%v is kept without a reason", e.Key)
				}
			}
			back := documents.Advance(after, folder(allowing(`"30080"`), bindingOf(30080)))
			if len(back.Mistakes) > 0 || !back.Complete || len(back.Entries) != 2 || back.Entries[0].Kept || back.Entries[1].Kept {
				t.Errorf("after it is corrected: got %+v", back)
			}
		})
	}
}

func TestContract45ADocumentWithoutAGoodVersionExists(t *testing.T) {
	t.Parallel()
	set := documents.Advance(documents.Set{}, folder(allowing("80-70"), bindingOf(30080)))
	if len(set.Entries) != 2 || set.Entries[1].Usable() || !set.Complete || len(set.Mistakes) != 1 {
		t.Errorf("got %+v", set)
	}
	if diff := cmp.Diff([]string{"Added EndpointBinding shop/web", "Unusable EndpointPool blue"}, told(documents.Set{}, set)); diff != "" {
		t.Error(diff)
	}
	if set := documents.Advance(documents.Set{}, folder("a: [", bindingOf(30080))); set.Complete {
		t.Error("a set with an unreadable file is called complete")
	}
}

// Contract 237: what a pool does not let a namespace follow is told with the document, and a
// new version that asks for it does not take effect.
func TestContract237ARemoteNamespaceThatIsNotAllowedIsTold(t *testing.T) {
	t.Parallel()
	allowed := func(remote string) string {
		return pool("source: {kubernetes: {}}\ncredentials: a\nsubnets: [10.0.0.0/24]\nallow: [{namespaces: [shop], ports: [\"30080\"], remoteNamespaces: [" + remote + "]}]")
	}
	follows := func(namespace string) string {
		return binding("pools: [{name: blue, remoteService: {namespace: " + namespace + ", name: web}}]")
	}
	before := documents.Advance(documents.Set{}, folder(allowed("far, near"), follows("near")))
	key := documents.Key{Kind: "EndpointBinding", Namespace: "shop", Name: "web"}
	if e, _ := before.Entry(key); len(e.Forbidden) != 0 {
		t.Fatalf("got %v, want nothing forbidden", e.Forbidden)
	}
	after := documents.Advance(before, folder(allowed("far, near"), follows("other")))
	e, _ := after.Entry(key)
	const want = "spec.pools[0].remoteService: the pool blue does not allow the namespace shop to follow Services of the remote namespace other; remove it, or ask the platform to name the remote namespace in spec.allow[].remoteNamespaces of the pool"
	if len(e.Forbidden) != 1 || !strings.Contains(e.Forbidden[0].Error(), want) || !e.Kept || e.Binding.Spec.Pools[0].RemoteService.Namespace != "near" {
		t.Errorf("got %v and %+v, want the version before and %q", e.Forbidden, e.Binding.Spec, want)
	}
}

func TestARevocationIsNotKept(t *testing.T) {
	t.Parallel()
	good := documents.Advance(documents.Set{}, folder(allowing(`"30080"`), bindingOf(30080)))
	after := documents.Advance(good, folder(allowing(`"443"`), bindingOf(30080)))
	e, _ := after.Entry(documents.Key{Kind: "EndpointBinding", Namespace: "shop", Name: "web"})
	if e.Kept || len(e.Forbidden) != 1 || !strings.Contains(e.Forbidden[0].Error(), "spec.ports[0].port: the pool blue does not allow the namespace shop to use port 30080; use one of the ports 443") {
		t.Errorf("got %+v", e)
	}
	allowed := documents.Allowed(&after.Pools()[0].Spec, "shop", nil)
	if allowed.Ports.Contains(30080) || !allowed.Ports.Contains(443) {
		t.Errorf("got %v", allowed.Ports)
	}
}

func TestContract47APoolAllowsNothingThatItDoesNotName(t *testing.T) {
	t.Parallel()
	spec := &documents.Decode("f", []byte(full))[0].Pool.Spec
	tests := []struct {
		namespace string
		labels    map[string]string
		want      string
		targets   int
	}{
		{"shop", nil, "30080,31000-31999", 5},
		{"other", nil, "", 0},
		{"other", map[string]string{"platform.example.org/tier": "gold"}, "30443", 100},
		{"blog", map[string]string{"platform.example.org/tier": "gold"}, "30080,31000-31999,30443", 100},
		{"", nil, "", 0},
	}
	for _, test := range tests {
		got := documents.Allowed(spec, test.namespace, test.labels)
		if got.Ports.String() != test.want || got.MaxServices != test.targets {
			t.Errorf("%s %v: got %q and %d targets, want %q and %d", test.namespace, test.labels, got.Ports, got.MaxServices, test.want, test.targets)
		}
	}
	// Decode refuses an empty selector. Another carrier that lets one through allows nothing.
	all := v1alpha1.EndpointPoolSpec{Allow: []v1alpha1.PoolAllowance{{NamespaceSelector: &metav1.LabelSelector{}, Ports: []string{"1-65535"}}}}
	if got := documents.Allowed(&all, "shop", map[string]string{"a": "b"}); len(got.Ports) > 0 {
		t.Errorf("an empty selector allows %v", got.Ports)
	}
	// A selector that excludes selects no namespace whose labels are not known.
	others := v1alpha1.EndpointPoolSpec{Allow: []v1alpha1.PoolAllowance{{
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}}},
		Ports:             []string{"30080"},
	}}}
	if known, unknown := documents.Allowed(&others, "shop", map[string]string{"a": "b"}), documents.Allowed(&others, "shop", nil); len(known.Ports) != 1 || len(unknown.Ports) > 0 {
		t.Errorf("got %v with labels and %v without, want the port and none", known.Ports, unknown.Ports)
	}
	empty := documents.Decode("f", []byte(pool(sound)))[0].Pool.Spec
	if got := documents.Allowed(&empty, "shop", nil); len(got.Ports) > 0 {
		t.Errorf("a pool without an entry allows %v", got.Ports)
	}
}

// world is a random folder, with what is really in it.
type world struct {
	folder documents.Folder
	// sound has the documents that are valid and in one readable file only; there has
	// those that are in any readable file.
	sound map[string]*v1alpha1.EndpointPool
	there map[string]bool
	// readable says that nothing is hidden.
	readable bool
}

func drawWorld(t *rapid.T) world {
	if rapid.IntRange(0, 9).Draw(t, "folder") == 0 {
		return world{folder: documents.Folder{Problem: "cannot be read", Remedy: "correct it"}}
	}
	files := rapid.IntRange(0, 3).Draw(t, "files")
	w := world{sound: map[string]*v1alpha1.EndpointPool{}, there: map[string]bool{}, readable: files > 0}
	for i := range files {
		file := documents.File{Name: fmt.Sprintf("%d.yaml", i)}
		if rapid.IntRange(0, 7).Draw(t, "broken") == 0 {
			file.Problem, file.Remedy, w.readable = "cannot be read", "correct it", false
		} else {
			file.Data = w.drawFile(t, file.Name)
		}
		w.folder.Files = append(w.folder.Files, file)
	}
	maps.DeleteFunc(w.sound, func(_ string, pool *v1alpha1.EndpointPool) bool { return pool == nil })
	return w
}

// drawFile makes a file of documents that are valid, invalid, or cannot be told apart.
func (w *world) drawFile(t *rapid.T, file string) []byte {
	var text strings.Builder
	for range rapid.IntRange(0, 3).Draw(t, "documents") {
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		one := fmt.Sprintf("---\n%skind: EndpointPool\nmetadata: {name: %s}\nspec:\n%s", version, name, indent(sound))
		switch rapid.IntRange(0, 5).Draw(t, "state") {
		case 0:
			text.WriteString(one + "  guard: 7\n")
			w.sound[name], w.there[name] = nil, true
		case 1:
			text.WriteString(strings.Replace(one, "kind: ", "kind: X", 1))
			w.readable = false
		default:
			one += fmt.Sprintf("  releaseAfter: %dm\n", rapid.IntRange(1, 3).Draw(t, "version"))
			text.WriteString(one)
			w.sound[name] = documents.Decode(file, []byte(one))[0].Pool
			if w.there[name] {
				w.sound[name] = nil
			}
			w.there[name] = true
		}
	}
	return []byte(text.String())
}

func TestContract45NoHistoryOfMistakesMakesADocumentVanish(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var set documents.Set
		effect := map[string]*v1alpha1.EndpointPool{} // the newest sound version, while the document is not gone
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			w := drawWorld(t)
			before := set
			set = documents.Advance(before, w.folder)
			maps.Copy(effect, w.sound)
			for _, c := range documents.Changes(before, set) {
				if name := c.Entry.Key.Name; c.What == documents.Gone {
					if !w.readable || w.there[name] {
						t.Fatalf("%s is called gone, readable %t, there %t", name, w.readable, w.there[name])
					}
					delete(effect, name)
				}
			}
			if w.readable {
				maps.DeleteFunc(effect, func(name string, _ *v1alpha1.EndpointPool) bool { return !w.there[name] })
			}
			if set.Complete != w.readable {
				t.Fatalf("got complete %t, want %t", set.Complete, w.readable)
			}
			for name, want := range effect {
				e, found := set.Entry(documents.Key{Kind: "EndpointPool", Name: name})
				if !found || e.Pool == nil {
					t.Fatalf("%s has no version in effect", name)
				}
				if diff := cmp.Diff(want, e.Pool); diff != "" {
					t.Fatalf("%s: another version is in effect (-want +got):\n%s", name, diff)
				}
			}
			if again := documents.Advance(set, w.folder); !cmp.Equal(again, set) {
				t.Fatalf("the same folder again changes the set:\n%s", cmp.Diff(set, again))
			}
			keys := make([]string, 0, len(set.Entries))
			for _, e := range set.Entries {
				keys = append(keys, e.Key.String())
			}
			if !slices.IsSorted(keys) {
				t.Fatalf("got %v, want sorted entries", keys)
			}
		}
	})
}
