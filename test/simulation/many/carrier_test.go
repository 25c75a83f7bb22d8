package many_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// carrier is the API server as what has the documents, where that is not a folder.
type carrier struct {
	// objects are those of the API server by the name of the file that they are in
	// otherwise: a text that is no document is refused and changes none.
	objects map[string]appliedObject
	made    int
	// absent is until when the API server lacks a kind, refused until when it refuses to
	// list it.
	absent, refused map[string]time.Time
	// had are the kinds that this process has seen.
	had map[string]bool
}

// appliedObject is one object: each text is a generation.
type appliedObject struct {
	text     string
	document documents.Document
}

func newCarrier() *carrier {
	return &carrier{objects: make(map[string]appliedObject), absent: make(map[string]time.Time), refused: make(map[string]time.Time), had: make(map[string]bool)}
}

// bounds are what the documents of this world are within.
func bounds() documents.Bounds {
	return documents.Bounds{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Namespaces: []string{"*"}, Ports: settings.Ranges{{First: 30000, Last: 32767}}}
}

// apply takes a text in. One that is not YAML, or names no object, is refused.
func (c *carrier) apply(name, text string) {
	before, existed := c.objects[name]
	if existed && before.text == text {
		return
	}
	var object map[string]any
	if yaml.Unmarshal([]byte(text), &object) != nil {
		return
	}
	metadata, ok := object["metadata"].(map[string]any)
	kind, known := object["kind"].(string)
	if !ok || !known || metadata["name"] == nil || kind == v1alpha1.KindEndpointBinding && metadata["namespace"] == nil {
		return
	}
	c.made++
	metadata["uid"], metadata["generation"] = "uid-"+name, c.made
	data, err := json.Marshal(object)
	if err != nil {
		return
	}
	if document, err := documents.DecodeObject(data); err == nil {
		c.objects[name] = appliedObject{text, document}
	}
}

// listings is what the watches tell now.
func (c *carrier) listings(files map[string]string) []documents.Listing {
	for name := range c.objects {
		if files[name] == "" {
			delete(c.objects, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c.apply(name, files[name])
	}
	var all []documents.Listing
	for _, kind := range []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding} {
		l := documents.Listing{Kind: kind, Had: c.had[kind]}
		switch {
		case time.Now().Before(c.absent[kind]):
			l.Missing = true
		case time.Now().Before(c.refused[kind]):
			l.Problem, l.Remedy = "cannot be listed", "give the right"
		default:
			l.Known, c.had[kind] = true, true
			for _, name := range slices.Sorted(maps.Keys(c.objects)) {
				if c.objects[name].document.Key.Kind == kind {
					l.Documents = append(l.Documents, c.objects[name].document)
				}
			}
		}
		all = append(all, l)
	}
	return all
}

// readObjects folds what the API server tells into the documents in effect. The lock is
// held.
func (w *world) readObjects() {
	none := documents.Set{Generation: 1, Complete: true}
	w.inAPI = documents.AdvanceObjects(w.inAPI, bounds(), w.carrier.listings(w.files)...)
	w.inAPI.Generation = max(1, w.inAPI.Generation)
	w.set = documents.Join(w.set, none, w.inAPI)
	leave(w.edited)
}

// forget is what a restart does: the process knows no last good version, and no kind.
func (w *world) forget() {
	if w.carrier == nil {
		return
	}
	w.inAPI, w.set = documents.Set{}, documents.Set{}
	clear(w.carrier.had)
	w.readObjects()
}

// troubleKinds lets a kind be missing, or be refused, for a while: with its objects, as
// after its definition was deleted, or without a trace of them, as a proxy would.
func (w *world) troubleKinds(r *rand.Rand) {
	if w.carrier == nil {
		return
	}
	kind := []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding}[r.IntN(2)]
	of, what := w.carrier.absent, "is missing"
	if r.IntN(3) == 0 {
		of, what = w.carrier.refused, "is refused"
	}
	until := time.Duration(5+r.IntN(60)) * time.Second
	if of[kind] = time.Now().Add(until); r.IntN(2) == 0 {
		for name := range w.files {
			if w.carrier.objects[name].document.Key.Kind == kind {
				delete(w.files, name)
			}
		}
		w.readObjects() // the watch tells of the deletions first
		what += " with its objects"
	}
	w.note("the kind %s %s for %s", kind, what, until)
	w.readObjects()
	time.AfterFunc(until+w.dice("kinds").odd(), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.readObjects()
	})
}

// kindsAreThere reports whether the API server has both kinds, and lists them.
func (w *world) kindsAreThere() bool {
	if w.carrier == nil {
		return true
	}
	for _, of := range []map[string]time.Time{w.carrier.absent, w.carrier.refused} {
		for _, until := range of {
			if time.Now().Before(until) {
				return false
			}
		}
	}
	return true
}

// rewrite changes how a pool is read or judged: what it has stays.
func rewrite(r *rand.Rand, text string) string {
	return text + []string{
		"  healthCheck: {interval: 3s}\n", "  guard: {drainPeriod: 11s}\n", fmt.Sprintf("  releaseAfter: %dm\n", 11+r.IntN(5)), "  credentials: other\n",
	}[r.IntN(4)]
}
