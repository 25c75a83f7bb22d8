package documents

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

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
		Rule:   fmt.Sprintf("came back with generation %d after generation %d, as from a backup: what was in effect stays in effect", e.Object.Generation, e.Newest),
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
		Rule:   "is not in the API server any more, whose state is an older one, as from a backup: what was in effect stays in effect",
		Remedy: "apply it again; if it is meant to go, apply it and then delete it",
	})
}
