package documents

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// File is what was found under one name.
type File struct {
	Name string
	Data []byte
	// Problem says why the file could not be read, and Remedy what to do. Both are empty
	// where Data is the whole file.
	Problem, Remedy string
}

// Folder is what one look at a folder found: its files with names that documents have.
type Folder struct {
	Files []File
	// Problem says why the folder could not be read as a whole, and Remedy what to do.
	Problem, Remedy string
	// Loopback accepts subnets of loopback addresses, for a store that routes no traffic.
	Loopback bool
}

// Entry is one document that is in effect, or that exists and cannot be.
type Entry struct {
	Key Key
	// File and Line say where the document stands, or stood when it could last be read.
	File string
	Line int
	// Object says which object of the API server it is, and Reason is a reason of its
	// condition Accepted; nil and empty for a document of a file.
	Object *Object
	Reason string
	// Newest is the generation that the object had before it came back with a lower one, 0
	// where it did not.
	Newest int64
	// Pool or Binding is the last good version, with its defaults. Both are nil where this
	// process has seen none. Then only the existence of the document is known, and what
	// it published before must stay.
	Pool    *v1alpha1.EndpointPool
	Binding *v1alpha1.EndpointBinding
	// OnlyChecked is set for a pool without a good version, where its check is known: it
	// has no source.
	OnlyChecked *v1alpha1.EndpointPool
	// OwnCheck is the check of a binding without a good version, where that is known.
	OwnCheck *v1alpha1.BindingHealthCheck
	// Kept says that the version in effect is not the one in the file, or that the file
	// could not be read.
	Kept bool
	// Mistakes say why.
	Mistakes []Mistake
	// Note says what of a document within the bounds needs more than they give; empty where
	// nothing does.
	Note string
	// Forbidden are what the pools of the set forbid the binding, by their names alone.
	// Allowed decides at the time; this is for those who read reports.
	Forbidden []Mistake
}

// Usable reports whether there is a version to act on.
func (e Entry) Usable() bool { return e.Pool != nil || e.Binding != nil }

// Set is all documents that are in effect. It is a value: nothing changes it.
type Set struct {
	// Generation counts the changes: it is another one when anything of a set is.
	Generation uint64
	// Entries are sorted by kind, namespace and name.
	Entries []Entry
	// Complete says that every file could be read and every document in it could be
	// identified. Otherwise there may be documents that no entry tells of, so what slices
	// say of others must stay.
	Complete bool
	// Mistakes are those of all entries and files, in the order of the files.
	Mistakes []Mistake
	// Shadowed are documents of the API server that a file has too: the file counts.
	Shadowed []Entry
	// Missing are kinds that the API server never had while this process ran, and Lost
	// those that it had.
	Missing, Lost []string
	// Variables says that the environment is the only carrier, with one pool and one
	// binding. Whoever sets it runs the program, so no pool has to grant anything; a Service
	// that is not there, or not as it should be, is filled as soon as it is; and slices have
	// no label of a pool.
	Variables bool
}

// OfVariables returns the set of the environment.
func OfVariables(pool *v1alpha1.EndpointPool, binding *v1alpha1.EndpointBinding) Set {
	return Set{Generation: 1, Complete: true, Variables: true, Entries: []Entry{
		{Key: Key{Kind: v1alpha1.KindEndpointBinding, Namespace: binding.Namespace, Name: binding.Name}, Binding: binding},
		{Key: Key{Kind: v1alpha1.KindEndpointPool, Name: pool.Name}, Pool: pool},
	}}
}

// Entry returns the entry with a key.
func (s Set) Entry(key Key) (Entry, bool) {
	i, found := slices.BinarySearchFunc(s.Entries, key, func(e Entry, key Key) int { return e.Key.compare(key) })
	if !found {
		return Entry{}, false
	}
	return s.Entries[i], true
}

// Pools returns the usable pools, sorted by name.
func (s Set) Pools() []*v1alpha1.EndpointPool {
	return each(s, func(e Entry) *v1alpha1.EndpointPool { return e.Pool })
}

// Bindings returns the usable bindings, sorted by namespace and name.
func (s Set) Bindings() []*v1alpha1.EndpointBinding {
	return each(s, func(e Entry) *v1alpha1.EndpointBinding { return e.Binding })
}

// each returns what the entries have, in their order.
func each[T any](s Set, of func(Entry) *T) (all []*T) {
	for _, e := range s.Entries {
		if one := of(e); one != nil {
			all = append(all, one)
		}
	}
	return all
}

// Namespaces are those that a pool allows, by name or by labels, and those of the bindings.
func (s Set) Namespaces(labels map[string]map[string]string) map[string]bool {
	found := make(map[string]bool)
	for _, b := range s.Bindings() {
		found[b.Namespace] = true
	}
	for _, p := range slices.Concat(s.Pools(), s.OnlyChecked()) {
		for _, allow := range p.Spec.Allow {
			for _, name := range allow.Namespaces {
				found[name] = true
			}
		}
		for name, of := range labels {
			if len(Allowed(&p.Spec, name, of).Ports) > 0 {
				found[name] = true
			}
		}
	}
	return found
}

// ChangeKind is what became of a document.
type ChangeKind string

// What becomes of documents.
const (
	// Added is a document that was not there, or could not be used.
	Added ChangeKind = "Added"
	// Changed is one with another version in effect.
	Changed ChangeKind = "Changed"
	// Kept is one whose last good version stays in effect.
	Kept ChangeKind = "Kept"
	// Corrected is one whose version in effect is that of the file again.
	Corrected ChangeKind = "Corrected"
	// Unusable is one that exists and never had a good version.
	Unusable ChangeKind = "Unusable"
	// Gone is one that no file holds any more.
	Gone ChangeKind = "Gone"
)

// Change is what became of one document.
type Change struct {
	What  ChangeKind
	Entry Entry
}

// Changes compares two sets, in the order of keys.
func Changes(before, after Set) []Change {
	var changes []Change
	for _, e := range after.Entries {
		old, existed := before.Entry(e.Key)
		if what := changeOf(old, e, existed); what != "" {
			changes = append(changes, Change{What: what, Entry: e})
		}
	}
	for _, old := range before.Entries {
		if _, exists := after.Entry(old.Key); !exists {
			changes = append(changes, Change{What: Gone, Entry: old})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Entry.Key.compare(b.Entry.Key) })
	return changes
}

func changeOf(old, e Entry, existed bool) ChangeKind {
	switch {
	case !e.Usable():
		if existed && reflect.DeepEqual(old.Mistakes, e.Mistakes) {
			return ""
		}
		return Unusable
	case !existed || !old.Usable():
		return Added
	case !sameVersion(old, e):
		return Changed
	case e.Kept && !old.Kept:
		return Kept
	case !e.Kept && old.Kept:
		return Corrected
	}
	return ""
}

// sameVersion reports whether two entries have the same version in effect.
func sameVersion(a, b Entry) bool {
	return reflect.DeepEqual(a.Pool, b.Pool) && reflect.DeepEqual(a.Binding, b.Binding)
}

// Join puts the documents of files and those of the API server together. Where both have
// a document, that of the files counts, as long as it can be used. Nothing is known before
// both were read.
func Join(before, files, objects Set) Set {
	if files.Generation == 0 || objects.Generation == 0 {
		return before
	}
	after := Set{Complete: files.Complete && objects.Complete, Missing: objects.Missing, Lost: objects.Lost, Generation: before.Generation}
	after.Mistakes = slices.Concat(files.Mistakes, objects.Mistakes)
	for _, e := range files.Entries {
		if _, both := objects.Entry(e.Key); !both || e.Usable() {
			after.Entries = append(after.Entries, e)
		}
	}
	for _, e := range objects.Entries {
		if of, both := files.Entry(e.Key); both && of.Usable() {
			e.Reason = v1alpha1.ReasonShadowed
			after.Shadowed = append(after.Shadowed, e)
			continue
		}
		after.Entries = append(after.Entries, e)
	}
	after.finish(before)
	return after
}

// finish sorts what was gathered, each mistake once, and counts the change.
func (s *Set) finish(before Set) {
	slices.SortFunc(s.Entries, func(a, b Entry) int { return a.Key.compare(b.Key) })
	for _, e := range s.Entries {
		s.Mistakes = append(append(s.Mistakes, e.Mistakes...), e.Forbidden...)
	}
	slices.SortFunc(s.Mistakes, Mistake.compare)
	s.Mistakes = slices.Compact(s.Mistakes)
	if !reflect.DeepEqual(before, *s) {
		s.Generation++
	}
}

// newest returns the generation that an object had before it came back with a lower one, 0
// for one that did not. A generation only grows while an object lives, so a lower one is no
// decision of a person. A higher one is, also where it is lower than one before.
func newest(old Entry, is *Object) int64 {
	was := old.Object
	switch {
	case was == nil || was.UID != is.UID:
		return 0
	case is.Generation < was.Generation:
		return max(old.Newest, was.Generation)
	case is.Generation == was.Generation:
		return old.Newest
	}
	return 0
}

// outdated keeps what was in effect, where the object came back from a backup and says
// something else.
func (e *Entry) outdated(old Entry, d Document) bool {
	if e.Newest == 0 || sameVersion(old, Entry{Pool: d.Pool, Binding: d.Binding}) {
		return false
	}
	e.Reason, e.Kept = v1alpha1.ReasonOutdated, old.Usable()
	e.Pool, e.Binding, e.OnlyChecked, e.OwnCheck = old.Pool, old.Binding, old.OnlyChecked, old.OwnCheck
	e.Mistakes = []Mistake{{
		File: APIServer, Document: e.Key.String(),
		Rule:   fmt.Sprintf("came back with generation %d after generation %d, as from a backup: the last version in effect stays", e.Object.Generation, e.Newest),
		Remedy: "apply it as it should be; any change of its spec takes effect",
	}}
	return true
}

// undone keeps an object that is not there any more because the API server came back from
// a backup.
func (e *Entry) undone() {
	e.Reason, e.Kept = v1alpha1.ReasonOutdated, e.Usable()
	e.Mistakes = append(e.Mistakes[:len(e.Mistakes):len(e.Mistakes)], Mistake{
		File: APIServer, Document: e.Key.String(),
		Rule:   "is not in the API server any more, whose state is an older one, as from a backup: the last version in effect stays",
		Remedy: "apply it again; if it is meant to go, apply it and then delete it",
	})
}

// KeepFile is the remedy for a document that cannot move from a file to the API server.
const KeepFile = "keep it in a file of DOCUMENTS_DIR"

// Immovable says why a document of a file cannot be an object of the API server, in one
// mistake; ok is false where it can.
func (b Bounds) Immovable(e Entry) (m Mistake, ok bool) {
	var found []Mistake
	remedy := KeepFile
	if e.Pool != nil {
		found = mountedOnly(&e.Pool.Spec.Source)
	}
	beyond := b.outside(Document{Key: e.Key, Pool: e.Pool, Binding: e.Binding})
	if len(found) == 0 { // then other bounds are enough
		remedy += ", or widen the bounds of this installation"
	}
	var reasons []string
	for _, one := range append(found, beyond...) {
		one.Document = ""
		reasons = append(reasons, "with "+one.Subject()+", which "+one.Rule)
	}
	return e.CannotMove(strings.Join(reasons, ", and "), remedy), len(reasons) > 0
}

// CannotMove is the mistake of a document that cannot move to the API server.
func (e Entry) CannotMove(reason, remedy string) Mistake {
	return Mistake{File: e.File, Line: e.Line, Document: e.Key.String(), Rule: "cannot move to the API server " + reason, Remedy: remedy}
}
