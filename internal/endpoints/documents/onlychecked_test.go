package documents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// checkedPool has a check of its own and a source.
const checkedPool = `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}
  subnets: [10.7.0.0/24]
  allow: [{namespaces: [shop, pay], ports: ["30080"]}]
  healthCheck: {mode: HTTP, path: /ready, interval: 3s, fall: 5}
  guard: {failOpen: false}
`

// Contract 116: what is sound in a pool with a mistake says how its endpoints are checked
// where no earlier version is known. Where the check itself has the mistake, nothing is
// checked: an easier one would bring back what fails the right one.
func TestContract116APoolWithAMistakeIsStillChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change []string
		want   string
	}{
		"a source":        {[]string{"{static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}", "{static: {nodes: []}}"}, "[10.7.0.0/24] HTTP /ready 3s fall 5, fails open: false, allows 1"},
		"a newer field":   {[]string{"  guard:", "  newer: 1\n  guard:"}, "[10.7.0.0/24] HTTP /ready 3s fall 5, fails open: false, allows 1"},
		"an allowance":    {[]string{`"30080"`, `"80-70"`}, "[10.7.0.0/24] HTTP /ready 3s fall 5, fails open: false, allows 0"},
		"a guard":         {[]string{"failOpen: false", "failOpen: 7"}, "[10.7.0.0/24] HTTP /ready 3s fall 5, fails open: true, allows 1"},
		"a count":         {[]string{"fall: 5", "fall: 0"}, "[10.7.0.0/24] HTTP /ready 3s fall 3, fails open: false, allows 1"},
		"an interval":     {[]string{"interval: 3s", "interval: soon"}, "[10.7.0.0/24] HTTP /ready 2s fall 5, fails open: false, allows 1"},
		"the path":        {[]string{"path: /ready", "path: ready"}, ""},
		"the mode":        {[]string{"mode: HTTP", "mode: off"}, ""},
		"a newer check":   {[]string{"fall: 5", "newer: 5"}, ""},
		"no check at all": {[]string{"mode: HTTP", "mode: None", `"30080"`, `"x"`}, ""},
		"authorities":     {[]string{"mode: HTTP", "mode: HTTPS", "  guard:", "  credentials: ../x\n  guard:"}, ""},
		"the subnets":     {[]string{"10.7.0.0/24", "10.7.0.1/24"}, ""},
		"no mapping":      {[]string{"spec:\n", "spec: 7\nstatus:\n"}, ""},
	} {
		text := strings.NewReplacer(c.change...).Replace(checkedPool)
		set := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "a.yaml", Data: []byte(text)}}})
		if got := onlyChecked(t, set); got != c.want || len(set.Mistakes) == 0 || len(set.Pools()) > 0 {
			t.Errorf("%s: got %q with %v, want %q", name, got, set.Mistakes, c.want)
		}
	}
}

// onlyChecked says what of the only pool is checked.
func onlyChecked(t *testing.T, set documents.Set) string {
	t.Helper()
	pools := set.OnlyChecked()
	if len(pools) == 0 {
		return ""
	}
	if pools[0].Spec.Source != (v1alpha1.PoolSource{}) || pools[0].Name != "blue" {
		t.Errorf("got %+v, want the pool blue without a source", pools[0])
	}
	s := &pools[0].Spec
	c := s.HealthCheck
	return fmt.Sprintf("%v %s %s %s fall %d, fails open: %t, allows %d", s.Subnets, c.Mode, c.Path, c.Interval.Duration, *c.Fall, *s.Guard.FailOpen, len(s.Allow))
}

// Contract 116: of an object beyond the bounds, what is within them is checked. A version
// that was in effect counts more.
func TestContract116APoolBeyondTheBoundsIsStillChecked(t *testing.T) {
	t.Parallel()
	text := strings.Replace(checkedPool, "10.7.0.0/24", "10.7.0.0/24, 172.16.0.0/16, 10.8.0.0/16", 1)
	bounds := wide()
	set := documents.AdvanceObjects(documents.Set{}, bounds, listed(applied(t, text, 1))...)
	if got, want := onlyChecked(t, set), "[10.7.0.0/24 10.8.0.0/16] HTTP /ready 3s fall 5, fails open: false, allows 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"shop"}, set.OnlyChecked()[0].Spec.Allow[0].Namespaces); diff != "" {
		t.Errorf("namespaces within the bounds (-want +got):\n%s", diff)
	}
	broken := strings.Replace(checkedPool, "10.7.0.0/24", "10.7.0.1/24", 1)
	if got, want := onlyChecked(t, documents.AdvanceObjects(documents.Set{}, bounds, listed(applied(t, broken, 1))...)), "[10.0.0.0/8] HTTP"; !strings.HasPrefix(got, want) {
		t.Errorf("with subnets that are not known: got %q, want those of the bounds: %q", got, want)
	}
	program := strings.Replace(checkedPool, "{static: {nodes: [{name: w1, addresses: [10.7.0.11]}]}}", "{command: {path: /bin/sh}}", 1)
	program = strings.Replace(program, "shop, pay", "shop", 1)
	if got := onlyChecked(t, documents.AdvanceObjects(documents.Set{}, bounds, listed(applied(t, program, 1))...)); got == "" {
		t.Error("with a source for files only: got nothing that is checked")
	}
	good := documents.AdvanceObjects(documents.Set{}, bounds, listed(applied(t, strings.Replace(checkedPool, "shop, pay", "shop", 1), 1))...)
	if kept := documents.AdvanceObjects(good, bounds, listed(applied(t, text, 2))...); len(kept.Pools()) != 1 || len(kept.OnlyChecked()) != 0 {
		t.Errorf("got %+v, want the last good version", kept.Entries)
	}
	bounds.Subnets = nil
	if got := onlyChecked(t, documents.AdvanceObjects(documents.Set{}, bounds, listed(applied(t, text, 1))...)); got != "" {
		t.Errorf("without a subnet in common: got %q, want nothing that is checked", got)
	}
}

// Contract 116: the check of a binding with a mistake counts where it is sound.
func TestContract116ABindingWithAMistakeIsCheckedAsItSays(t *testing.T) {
	t.Parallel()
	const text = "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: web, namespace: shop}\nspec: {pools: [{name: blue}, {name: blue}], healthCheck: {mode: HTTP, path: /ready}}\n"
	for text, want := range map[string]string{text: "/ready", strings.Replace(text, "/ready", "ready", 1): ""} {
		e := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "a.yaml", Data: []byte(text)}}}).Entries[0]
		got := ""
		if e.OwnCheck != nil {
			got = e.OwnCheck.Path
		}
		if got != want || e.Usable() {
			t.Errorf("got the path %q, want %q: %+v", got, want, e)
		}
	}
}

// Contract 116: of a document with more mistakes than are told it is not known whether its check
// is sound.
func TestContract116ADocumentWithTooManyMistakesIsNotCheckedByDefaults(t *testing.T) {
	t.Parallel()
	pool := strings.NewReplacer(`"30080"`, strings.Repeat("30080, ", 200), "mode: HTTP", "mode: 1").Replace(checkedPool)
	ports := strings.Repeat("{port: x}, ", 200)
	binding := "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: web, namespace: shop}\nspec: {pools: [{name: blue}], ports: [" + ports + "], healthCheck: {mode: 1, path: /ready}}\n"
	set := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "a.yaml", Data: []byte(pool + "---\n" + binding)}}})
	if len(set.Entries) != 2 {
		t.Fatalf("got %+v", set.Entries)
	}
	for _, e := range set.Entries {
		if e.OnlyChecked != nil || e.OwnCheck != nil || len(e.Mistakes) != 100 {
			t.Errorf("%s: got the checks %+v, %+v with %d mistakes, want none", e.Key, e.OnlyChecked, e.OwnCheck, len(e.Mistakes))
		}
	}
}
