package controller

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// change tells what became of one document.
func (t *teller) change(change documents.Change) {
	e := change.Entry
	args := []any{"document", e.Key.String(), "file", e.File, "line", e.Line}
	switch change.What {
	case documents.Added, documents.Changed, documents.Corrected:
		t.log.Info("a document is in effect", append(args, "change", string(change.What))...)
	case documents.Gone:
		t.log.Warn("a document is gone", args...)
	case documents.Kept:
		if e.Reason == v1alpha1.ReasonOutdated {
			t.log.Error("a document went back in time, what was in effect stays in effect", args...)
			return
		}
		t.log.Error("a document is wrong, its last good version stays in effect", args...)
	case documents.Unusable:
		if e.OnlyChecked != nil {
			t.log.Error("a document is wrong and has no good version, what it published before stays and is checked", args...)
			return
		}
		t.log.Error("a document is wrong and has no good version, what it published before stays", args...)
	}
}
