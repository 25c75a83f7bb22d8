package documents

import (
	"fmt"
	"maps"
	"slices"
)

// Advance folds one look at a folder into the documents that are in effect.
//
//	the document is                          in effect afterwards
//	sound                                    the version of the file
//	invalid, forbidden or there twice        its last good version; of an invalid pool
//	                                         without one, how its endpoints are checked
//	in a file that cannot be read            its last good version
//	in no file, and every file is readable   none: it is gone
//	in no file, and a file is not readable   its last good version
//
// A document is gone only where every file could be read to its end: it may have moved
// into the one that could not. A folder without any file is taken for a volume that is
// not mounted: to remove the last document, leave an empty file.
func Advance(before Set, folder Folder) Set {
	l := &look{before: before, seen: map[Key][]Document{}, complete: true}
	l.read(folder)
	after := Set{Complete: l.complete, Generation: before.Generation}
	for _, key := range l.keys() {
		after.Entries = append(after.Entries, l.entry(key))
	}
	forbid(before, &after)
	after.Mistakes = l.mistakes
	after.finish(before)
	return after
}

// look is one look at a folder.
type look struct {
	before   Set
	seen     map[Key][]Document
	complete bool
	// mistakes are those of no document in particular.
	mistakes []Mistake
}

// read sorts the documents by key, and notes what cannot be known.
func (l *look) read(folder Folder) {
	if folder.Problem != "" {
		l.unknown(Mistake{Rule: folder.Problem, Remedy: folder.Remedy})
		return
	}
	if len(folder.Files) == 0 {
		l.unknown(Mistake{Rule: "the folder DOCUMENTS_DIR holds no file that ends in .yaml, .yml or .json", Remedy: "mount the documents; to remove the last one, leave an empty file"})
	}
	for _, file := range folder.Files {
		if file.Problem != "" {
			l.unknown(Mistake{File: file.Name, Rule: file.Problem, Remedy: file.Remedy})
			continue
		}
		for _, d := range folder.decode(file.Name, file.Data) {
			if d.Key == (Key{}) {
				l.unknown(d.Mistakes...)
				continue
			}
			l.seen[d.Key] = append(l.seen[d.Key], d)
		}
	}
}

// unknown notes that there may be documents that cannot be seen.
func (l *look) unknown(mistakes ...Mistake) {
	l.complete = false
	l.mistakes = append(l.mistakes, mistakes...)
}

// keys returns every document there is: those that were seen, and as long as not
// everything could be seen those that were there before.
func (l *look) keys() []Key {
	keys := slices.Collect(maps.Keys(l.seen))
	for _, e := range l.before.Entries {
		if _, seen := l.seen[e.Key]; !seen && !l.complete {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// reasons are the mistakes of a file, or those of all others where it has none: a
// document that is in no file may be in one of those.
func (l *look) reasons(file string) []Mistake {
	if of := slices.DeleteFunc(slices.Clone(l.mistakes), func(m Mistake) bool { return m.File != file }); len(of) > 0 {
		return of
	}
	return slices.Clone(l.mistakes)
}

// entry decides which version of a document is in effect.
func (l *look) entry(key Key) Entry {
	found := l.seen[key]
	old, _ := l.before.Entry(key)
	e := Entry{Key: key, File: old.File, Line: old.Line, Pool: old.Pool, Binding: old.Binding, OnlyChecked: old.OnlyChecked, OwnCheck: old.OwnCheck, Kept: true}
	switch len(found) {
	case 0:
		e.Mistakes = l.reasons(old.File)
	case 1:
		d := found[0]
		e.File, e.Line, e.Mistakes = d.File, d.Line, d.Mistakes
		e.OnlyChecked, e.OwnCheck = checkable(d.OnlyChecked), d.OwnCheck
		if len(d.Mistakes) == 0 {
			e.Pool, e.Binding, e.Kept = d.Pool, d.Binding, false
		}
	default:
		e.File, e.Line = found[0].File, found[0].Line
		for i, d := range found {
			other := found[(i+1)%len(found)]
			e.Mistakes = append(e.Mistakes, Mistake{
				File: d.File, Line: d.Line, Document: key.String(),
				Rule: fmt.Sprintf("is also in %s:%d", other.File, other.Line), Remedy: "remove one of them; until then neither counts",
			})
		}
	}
	if e.Usable() {
		e.OnlyChecked, e.OwnCheck = nil, nil
	}
	e.Kept = e.Kept && e.Usable()
	return e
}
