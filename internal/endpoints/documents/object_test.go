package documents_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// applied is a document as the API server has it.
func applied(t *testing.T, text string, generation int) documents.Document {
	t.Helper()
	text = strings.Replace(text, "metadata: {", fmt.Sprintf(
		"metadata: {uid: u1, generation: %d, resourceVersion: '7', finalizers: [a/b], labels: {a: b}, ownerReferences: [{name: x}], managedFields: [{}], ", generation), 1)
	data, err := yaml.YAMLToJSON([]byte(text + "\nstatus: {nodes: 3, newer: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := documents.DecodeObject(data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wide are bounds that the documents of these tests are within.
func wide() documents.Bounds {
	return documents.Bounds{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Namespaces: []string{"shop"}, Ports: settings.Ranges{{First: 30000, Last: 32767}}}
}

// listed is what the API server tells of both kinds.
func listed(all ...documents.Document) []documents.Listing {
	pools, bindings := documents.Listing{Kind: v1alpha1.KindEndpointPool, Known: true, Had: true}, documents.Listing{Kind: v1alpha1.KindEndpointBinding, Known: true, Had: true}
	for _, d := range all {
		if d.Key.Kind == pools.Kind {
			pools.Documents = append(pools.Documents, d)
		} else {
			bindings.Documents = append(bindings.Documents, d)
		}
	}
	return []documents.Listing{pools, bindings}
}

// reasons are the reasons of all entries, and whether an old version is in effect.
func reasons(s documents.Set) []string {
	lines := []string{}
	for _, e := range slices.Concat(s.Entries, s.Shadowed) {
		line := e.Key.String() + " " + e.Reason
		if e.Kept {
			line += " kept"
		} else if !e.Usable() {
			line += " unusable"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestContract81AnObjectWithAMistakeKeepsItsLastGoodVersion(t *testing.T) {
	t.Parallel()
	web := applied(t, bindingOf(30080), 1)
	good := documents.AdvanceObjects(documents.Set{}, wide(), listed(applied(t, allowing(`"30080"`), 1), web)...)
	if len(good.Mistakes) > 0 || len(good.Pools()) != 1 || len(good.Bindings()) != 1 || !good.Complete {
		t.Fatalf("got %+v", good)
	}
	for name, test := range map[string]struct{ pool, want, mistake string }{
		"the same":          {allowing(`"30080"`), "EndpointPool blue Accepted", ""},
		"an unknown field":  {strings.Replace(allowing(`"30080"`), "subnets:", "newer: 1\n  subnets:", 1), "EndpointPool blue Invalid kept", "API server: EndpointPool blue spec.newer: is not a field"},
		"a mistake":         {allowing(`"80-70"`), "EndpointPool blue Invalid kept", "API server: EndpointPool blue spec.allow[0].ports[0]=\"80-70\""},
		"a port beyond":     {allowing(`"22"`), "EndpointPool blue OutsideBounds kept", `spec.allow[0].ports[0]="22": is outside of BOUNDS_PORTS=30000-32767`},
		"a program":         {strings.Replace(allowing(`"30080"`), "{static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}", "{command: {path: /bin/sh}}", 1), "EndpointPool blue Invalid kept", "spec.source.command: is for mounted documents only"},
		"a path":            {strings.Replace(allowing(`"30080"`), "{static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}", "{file: {path: /etc/passwd}}", 1), "EndpointPool blue Invalid kept", "spec.source.file: is for mounted documents only"},
		"a foreign subnet":  {strings.Replace(allowing(`"30080"`), "10.7.0.0/24", "10.7.0.0/24, 172.16.0.0/24", 1), "EndpointPool blue OutsideBounds kept", `spec.subnets[1]="172.16.0.0/24": is outside of BOUNDS_SUBNETS=10.0.0.0/8`},
		"another namespace": {strings.Replace(allowing(`"30080"`), "[shop]", "[shop, blog]", 1), "EndpointPool blue OutsideBounds kept", `spec.allow[0].namespaces[1]="blog": is outside of BOUNDS_NAMESPACES=shop`},
		"any namespace":     {strings.Replace(allowing(`"30080"`), "namespaces: [shop]", "namespaceSelector: {matchLabels: {a: b}}", 1), "EndpointPool blue OutsideBounds kept", "spec.allow[0].namespaceSelector: may select namespaces outside of BOUNDS_NAMESPACES=shop"},
	} {
		after := documents.AdvanceObjects(good, wide(), listed(applied(t, test.pool, 2), web)...)
		got := reasons(after)
		if diff := cmp.Diff([]string{"EndpointBinding shop/web Accepted", test.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if text := documents.Mistakes(after.Mistakes).Error(); !strings.Contains(text, test.mistake) || test.mistake == "" && len(after.Mistakes) > 0 {
			t.Errorf("%s: got %s, want %s", name, text, test.mistake)
		}
		if len(after.Pools()) != 1 || !cmp.Equal(after.Pools()[0].Spec, good.Pools()[0].Spec) || !after.Complete {
			t.Errorf("%s: the version that was in effect is not in effect any more", name)
		}
	}
}

// Contract 81: an object that was deleted and made anew has no last good version of the
// one before.
func TestContract81ANewObjectOfTheNameIsAnotherOne(t *testing.T) {
	t.Parallel()
	good := documents.AdvanceObjects(documents.Set{}, wide(), listed(applied(t, allowing(`"30080"`), 1))...)
	other := applied(t, allowing(`"22"`), 1)
	other.Object = &documents.Object{UID: "u2", Generation: 1}
	after := documents.AdvanceObjects(good, wide(), listed(other)...)
	if diff := cmp.Diff([]string{"EndpointPool blue OutsideBounds unusable"}, reasons(after)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Contract 81: a binding outside of the bounds does not count, so its namespace is not
// even watched.
func TestContract81BindingsOutsideOfTheBoundsDoNotCount(t *testing.T) {
	t.Parallel()
	d := applied(t, strings.Replace(bindingOf(30080), "namespace: shop", "namespace: blog", 1), 1)
	after := documents.AdvanceObjects(documents.Set{}, wide(), listed(d)...)
	if len(after.Bindings()) > 0 || !strings.Contains(fmt.Sprint(reasons(after)), "OutsideBounds unusable") {
		t.Errorf("got %v", reasons(after))
	}
}

// Contract 82: a kind that is missing, refused or silent takes no document away.
func TestContract82AKindThatCannotBeListedKeepsItsDocuments(t *testing.T) {
	t.Parallel()
	all := listed(applied(t, allowing(`"30080"`), 1), applied(t, bindingOf(30080), 1))
	good := documents.AdvanceObjects(documents.Set{}, wide(), all...)
	tests := map[string]struct {
		change                  func(*documents.Listing)
		complete, missing, lost bool
	}{
		"lost":                {func(l *documents.Listing) { *l = documents.Listing{Kind: l.Kind, Missing: true, Had: true} }, false, false, true},
		"never installed":     {func(l *documents.Listing) { *l = documents.Listing{Kind: l.Kind, Missing: true} }, true, true, false},
		"refused":             {func(l *documents.Listing) { *l = documents.Listing{Kind: l.Kind, Problem: "cannot be listed"} }, false, false, false},
		"silent for too long": {func(l *documents.Listing) { l.Problem = "the watch has told nothing" }, false, false, false},
	}
	for name, test := range tests {
		for i := range all {
			now := slices.Clone(all)
			test.change(&now[i])
			after := documents.AdvanceObjects(good, wide(), now...)
			if diff := cmp.Diff(reasons(good), reasons(after)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", all[i].Kind, name, diff)
			}
			if after.Complete != test.complete || (len(after.Missing) > 0) != test.missing || (len(after.Lost) > 0) != test.lost || (len(after.Mistakes) == 0) != test.complete {
				t.Errorf("%s: %s: got %+v", all[i].Kind, name, after)
			}
		}
	}
}

// Contract 81: a file wins over an object of the same name while it can be used, and the
// object takes over, unchanged, when the file is gone.
func TestContract81AFileWinsOverAnObject(t *testing.T) {
	t.Parallel()
	objects := documents.AdvanceObjects(documents.Set{}, wide(), listed(applied(t, allowing(`"30081"`), 1), applied(t, bindingOf(30080), 1))...)
	files := documents.Advance(documents.Set{}, folder(allowing(`"30080"`)))
	both := documents.Join(documents.Set{}, files, objects)
	if diff := cmp.Diff([]string{"EndpointBinding shop/web Accepted", "EndpointPool blue ", "EndpointPool blue Shadowed"}, reasons(both)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if ports := both.Pools()[0].Spec.Allow[0].Ports; ports[0] != "30080" {
		t.Errorf("got ports %v, want those of the file", ports)
	}
	for name, broken := range map[string]documents.Folder{"gone": folder("# nothing\n"), "wrong from the start": folder(allowing(`80-70`))} {
		before := documents.Set{}
		after := documents.Join(both, documents.Advance(before, broken), objects)
		if diff := cmp.Diff([]string{"EndpointBinding shop/web Accepted", "EndpointPool blue Accepted"}, reasons(after)); diff != "" {
			t.Errorf("file %s (-want +got):\n%s", name, diff)
		}
		if !after.Complete || after.Generation == both.Generation {
			t.Errorf("file %s: got %+v", name, after)
		}
	}
	if again := documents.Join(both, files, objects); again.Generation != both.Generation {
		t.Error("the same documents are another set")
	}
	if unknown := documents.Join(documents.Set{}, files, documents.Set{}); unknown.Generation != 0 {
		t.Error("something is known before both carriers were read")
	}
}

// Contract 209: a port that is checked for all Services and that the bounds do not have is no
// mistake, and the note says what it needs.
func TestContract209APortOfChecksOutsideOfTheBoundsIsTold(t *testing.T) {
	t.Parallel()
	of := func(check string) string {
		return strings.Replace(allowing(`"30080"`), "allow:", "healthCheck: "+check+"\n  allow:", 1)
	}
	for name, test := range map[string]struct{ pool, want string }{
		"each target's own": {allowing(`"30080"`), ""},
		"within":            {of("{port: 30081}"), ""},
		"none":              {of("{mode: None, port: 10256}"), ""},
		"outside":           {of("{port: 10256}"), "spec.healthCheck.port=10256 is outside of BOUNDS_PORTS=30000-32767"},
	} {
		set := documents.AdvanceObjects(documents.Set{}, wide(), listed(applied(t, test.pool, 1))...)
		if diff := cmp.Diff([]string{"EndpointPool blue Accepted"}, reasons(set)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", name, diff)
		}
		if got := set.Entries[0].Note; !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
