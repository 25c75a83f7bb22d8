package documents

import "strings"

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
