package many_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// part is what a pool has of a cluster: each so many-th of its machines, from the number on.
type part struct {
	cluster    *cluster
	each, from int
}

// Halves and With are controllertest.Divisible.
func (p part) Halves() (one, other part) {
	return part{p.cluster, 2 * p.each, p.from}, part{p.cluster, 2 * p.each, p.from + p.each}
}

func (p part) With(part) part { return part{p.cluster, p.each / 2, p.from % (p.each / 2)} }

func (p part) machines() []*machine {
	return slices.DeleteFunc(slices.Clone(p.cluster.machines), func(m *machine) bool { return m.number%p.each != p.from })
}

// uses are the pools that a Service wants: an annotation names one.
func (w *world) uses(of wish) []string {
	pools := w.Bindings[of.key().String()].Pools
	if of.annotated {
		return pools[:min(1, len(pools))]
	}
	return pools
}

// write puts what is meant now into the files and annotations, where that is something else. A file
// that is broken stays so where it is meant as before.
func (w *world) write() {
	before := w.should
	w.should = make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(w.Pools)) {
		w.should[name+".yaml"] = poolText(name, w.Pools[name])
		if _, known := w.pools[name]; !known {
			w.pools[name] = source{w, name, w.Pools[name], make(chan struct{}, 1)}
		}
	}
	for _, of := range w.wishes {
		b, bound := w.Bindings[of.key().String()]
		switch {
		case of.annotated:
			w.local.annotate(of, strings.Join(w.uses(of), ""))
		case bound:
			w.should[of.namespace+"-"+of.service+".yaml"] = bindingText(of, b)
		}
	}
	for name := range before {
		if w.should[name] == "" {
			delete(w.files, name)
		}
	}
	for name, text := range w.should {
		if before[name] != text {
			w.files[name] = text
		}
	}
	w.read()
}

func poolText(name string, of part) string {
	text := fmt.Sprintf("apiVersion: %s\nkind: EndpointPool\nmetadata: {name: %s}\nspec:\n  source: {static: {nodes: [{name: none, addresses: [10.1.0.1]}]}}\n  subnets: [%s]\n  pollInterval: %s\n  allow:\n",
		v1alpha1.GroupVersion(), name, of.cluster.subnet, pollInterval)
	for _, namespace := range slices.Sorted(maps.Keys(of.cluster.allow)) {
		text += fmt.Sprintf("  - {namespaces: [%s], ports: [%q]}\n", namespace, of.cluster.allow[namespace])
	}
	return text
}

func bindingText(of wish, b controllertest.Binding) string {
	adopt := ""
	if b.Adopt != "" {
		adopt = "  adopt: " + b.Adopt + "\n"
	}
	return fmt.Sprintf("apiVersion: %s\nkind: EndpointBinding\nmetadata: {name: %s, namespace: %s}\nspec:\n%s  pools: [{name: %s}]\n  ports: [{port: %d}]\n",
		v1alpha1.GroupVersion(), of.service, of.namespace, adopt, strings.Join(b.Pools, "}, {name: "), of.port)
}

// read folds the files into the documents in effect. The lock is held.
func (w *world) read() {
	if w.carrier != nil {
		w.readObjects()
		return
	}
	var folder documents.Folder
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		folder.Files = append(folder.Files, documents.File{Name: name, Data: []byte(w.files[name])})
	}
	w.set = documents.Advance(w.set, folder)
	leave(w.edited)
}
