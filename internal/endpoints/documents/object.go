package documents

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// APIServer is what messages call the place of a document that the API server has.
const APIServer = "API server"

// Object tells one object of the API server from another of the same name, and one
// version of its spec from the next.
type Object struct {
	UID        string
	Generation int64
}

// DecodeObject reads one object of the API server, as JSON, by the rules for files. Of
// its metadata only name and namespace count: the API server checks the rest. A document
// in the API server may have no path and no program.
func DecodeObject(data []byte) (Document, error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name       string `json:"name"`
			Namespace  string `json:"namespace,omitempty"`
			UID        string `json:"uid,omitempty"`
			Generation int64  `json:"generation,omitempty"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec,omitempty"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return Document{}, fmt.Errorf("read an object of the API server: %w", err)
	}
	key := Key{Kind: object.Kind, Namespace: object.Metadata.Namespace, Name: object.Metadata.Name}
	of := &Object{UID: object.Metadata.UID, Generation: object.Metadata.Generation}
	object.Metadata.UID, object.Metadata.Generation = "", 0
	text, err := json.Marshal(object)
	if err != nil {
		return Document{}, fmt.Errorf("read %s of the API server: %w", key, err)
	}
	document := Decode(APIServer, text)[0] // an object of JSON is one document
	document.Key, document.Line, document.Object = key, 0, of
	if document.Binding != nil {
		document.Binding.UID = types.UID(of.UID)
	}
	if document.Pool != nil {
		document.Pool.UID = types.UID(of.UID)
		document.Mistakes = append(document.Mistakes, mountedOnly(&document.Pool.Spec.Source)...)
	}
	for i := range document.Mistakes {
		document.Mistakes[i].Line, document.Mistakes[i].Document = 0, key.String()
	}
	if len(document.Mistakes) > 0 {
		if document.Pool != nil {
			document.OnlyChecked = withoutSource(document.Pool)
		}
		document.Pool, document.Binding = nil, nil
	}
	if document.OnlyChecked != nil {
		document.OnlyChecked.UID = types.UID(of.UID)
	}
	return document, nil
}

// mountedOnly notes a source that only a mounted document may have: whoever may write
// into the API server may not read files or run programs of this machine by that.
func mountedOnly(source *v1alpha1.PoolSource) []Mistake {
	var found []Mistake
	note := func(field string) {
		found = append(found, Mistake{
			File: APIServer, Field: field, Rule: "is for mounted documents only: it names a path or a program of the controller's machine",
			Remedy: "use the source kubernetes, ionos or static, or put the pool into DOCUMENTS_DIR",
		})
	}
	if source.File != nil {
		note("spec.source.file")
	}
	if source.Command != nil {
		note("spec.source.command")
	}
	return found
}

// Listing is what one look at the API server found of one kind.
type Listing struct {
	// Kind is v1alpha1.KindEndpointPool or KindEndpointBinding.
	Kind string
	// Documents are those of the newest list and of what the watch told since.
	Documents []Document
	// Known says that there was a complete list. Otherwise Documents say nothing.
	Known bool
	// Missing says that the API server does not have the kind, and Had that this process
	// has seen it there before.
	Missing, Had bool
	// Problem says why the list is not current, and Remedy what to do; empty where it is.
	Problem, Remedy string
}

// AdvanceObjects folds one look at the API server into the documents that are in effect.
//
//	the document is                            in effect afterwards
//	sound and within the bounds                the version of the API server
//	invalid, or beyond the bounds              its last good version; of a pool without one,
//	                                           how its endpoints are checked
//	of a lower generation than before, or      what was in effect
//	gone, both as from a backup
//	of a kind that cannot be listed, or that   its last good version
//	was there and is missing
//	not in the newest list                     none: it is gone
//
// A kind that was never there has no documents, and says nothing of those of others.
func AdvanceObjects(before Set, bounds Bounds, kinds ...Listing) Set {
	after := Set{Complete: true, Generation: before.Generation}
	for _, k := range kinds {
		switch {
		case k.Missing && k.Had:
			after.lost(k.Kind)
		case k.Missing:
			after.Missing = append(after.Missing, k.Kind)
		case !k.Known || k.Problem != "":
			after.unknown(k)
		}
		if k.Missing || !k.Known {
			kept := slices.DeleteFunc(slices.Clone(before.Entries), func(e Entry) bool { return e.Key.Kind != k.Kind })
			after.Entries = append(after.Entries, kept...)
			continue
		}
		for _, d := range k.Documents {
			old, _ := before.Entry(d.Key)
			e := bounds.entry(old, d)
			if d.Undone {
				e.undone()
			}
			after.Entries = append(after.Entries, e)
		}
	}
	after.finish(before)
	return after
}

// unknown notes that there may be documents of a kind that cannot be seen.
func (s *Set) unknown(k Listing) {
	s.Complete = false
	if k.Problem != "" {
		s.Mistakes = append(s.Mistakes, Mistake{File: APIServer, Document: k.Kind, Rule: k.Problem, Remedy: k.Remedy})
	}
}

// lost notes that a kind was there and is not any more.
func (s *Set) lost(kind string) {
	s.Complete = false
	s.Lost = append(s.Lost, kind)
	s.Mistakes = append(s.Mistakes, LostKind(kind))
}

// LostKind says that a kind is missing although there are slices of it.
func LostKind(kind string) Mistake {
	return Mistake{
		File: APIServer, Document: kind, Rule: "is lost: the API server does not have the kind any more; the published endpoints of its objects stay",
		Remedy: "apply the CustomResourceDefinition and the objects again; if that is meant, set DOCUMENTS_API=false",
	}
}

// entry decides which version of a document is in effect.
func (b Bounds) entry(old Entry, d Document) Entry {
	e := Entry{Key: d.Key, File: APIServer, Object: d.Object, Mistakes: d.Mistakes, Reason: v1alpha1.ReasonAccepted, Newest: newest(old, d.Object)}
	if len(d.Mistakes) > 0 {
		e.Reason = v1alpha1.ReasonInvalid
	} else if e.Mistakes = b.outside(d); len(e.Mistakes) > 0 {
		e.Reason = v1alpha1.ReasonOutsideBounds
	} else {
		if !e.outdated(old, d) {
			e.Pool, e.Binding, e.Newest, e.Note = d.Pool, d.Binding, 0, b.unopened(d.Pool)
		}
		return e
	}
	if old.Object != nil && old.Object.UID == d.Object.UID {
		e.Pool, e.Binding = old.Pool, old.Binding
	}
	if e.Kept = e.Usable(); !e.Kept {
		e.OnlyChecked, e.OwnCheck = b.onlyChecked(d), d.OwnCheck
	}
	return e
}
