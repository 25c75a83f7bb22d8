package assign

import (
	"cmp"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// InputOf returns the documents in effect, and what one that has none takes the certainty
// from.
func InputOf(set documents.Set) Input {
	in := Input{Complete: set.Complete, Variables: set.Variables, Unread: make(map[string]bool)}
	for _, e := range set.Entries {
		if e.Usable() {
			continue
		}
		if e.Object != nil && e.Key.Namespace != "" { // a team's, and of its Service alone
			in.Unread[e.Key.Namespace] = true
		} else {
			in.Complete = false // one that was never sound may be anybody's
		}
		if e.Key.Kind == v1alpha1.KindEndpointBinding && e.Reason != v1alpha1.ReasonOutsideBounds && e.Key.Name != documents.Rest {
			in.Broken = append(in.Broken, brokenOf(e))
		}
	}
	for _, p := range set.Pools() {
		in.Pools = append(in.Pools, *p)
	}
	for _, p := range set.OnlyChecked() {
		in.OnlyChecked = append(in.OnlyChecked, *p)
	}
	for _, b := range set.Bindings() {
		in.Bindings = append(in.Bindings, *b)
	}
	return in
}

// brokenOf is a binding that cannot be used, with what is wrong.
func brokenOf(e documents.Entry) BrokenBinding {
	texts := make([]string, 0, len(e.Mistakes))
	for _, m := range e.Mistakes {
		texts = append(texts, m.Error())
	}
	return BrokenBinding{
		Key: Key{Namespace: e.Key.Namespace, Service: e.Key.Name}, HealthCheck: e.OwnCheck,
		Mistakes: cmp.Or(strings.Join(texts, ". "), e.Key.String()+" cannot be used"),
	}
}
