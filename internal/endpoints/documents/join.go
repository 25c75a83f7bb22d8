package documents

import (
	"reflect"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

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
	slices.SortFunc(after.Entries, func(a, b Entry) int { return a.Key.compare(b.Key) })
	if !reflect.DeepEqual(before, after) {
		after.Generation++
	}
	return after
}

// finish sorts what was gathered, and counts the change.
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
