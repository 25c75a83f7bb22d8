package metrics

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// What documents are in: the newest version counts, an older one does, or none.
const (
	current  = "current"
	kept     = "kept"
	unusable = "unusable"
)

// documentFamilies tell of the documents.
func documentFamilies() []Family {
	kinds := []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding}
	states := []string{current, kept, unusable}
	return []Family{
		one("assignments_total", Counter, "How often documents and Services were compared with what runs.",
			func(m snapshot) uint64 { return m.plans }),
		{
			Name: prefix + "documents", Type: Gauge, Labels: []Label{{Name: "kind", Values: kinds}, {Name: "state", Values: states}},
			Help: "Documents, by state: their newest version is in effect (current), the last good one is because the newest is wrong or cannot be read (kept), or none is (unusable).",
			sample: func(m snapshot, emit emit) {
				for _, kind := range kinds {
					for _, state := range states {
						emit(float64(count(m.Documents.Entries, func(e *documents.Entry) bool { return e.Key.Kind == kind && versionOf(e) == state })), kind, state)
					}
				}
			},
		},
		one("document_mistakes", Gauge, "Mistakes in documents and their files.",
			func(m snapshot) int { return len(m.Documents.Mistakes) }),
		one("documents_generation", Gauge, "Counts the changes of the documents that this process has seen.",
			func(m snapshot) uint64 { return m.Documents.Generation }),
		one("documents_last_good_timestamp_seconds", Gauge, "Unix time at which all documents were last read without a mistake; 0 if they never were.",
			func(m snapshot) float64 { return unix(m.sound) }),
		one("statuses_refused", Gauge, "Objects in the API server whose status is refused, so that it says what was true before; 0 at a standby.",
			func(m snapshot) int { return m.UnwrittenStatuses() }),
	}
}

// versionOf says which version of a document counts.
func versionOf(e *documents.Entry) string {
	switch {
	case !e.Usable():
		return unusable
	case e.Kept:
		return kept
	}
	return current
}
