package metrics

import (
	"runtime"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// processFamilies tell of the process itself, and of its Events.
func processFamilies() []Family {
	return []Family{
		{
			Name: prefix + "build_info", Type: Gauge,
			Labels: []Label{{Name: "version", Note: "that of the program"}, {Name: "goversion", Note: "that of Go"}},
			Help:   "Always 1; the labels say what runs.",
			sample: func(m snapshot, emit emit) { emit(1, m.Version, runtime.Version()) },
		},
		one("leader", Gauge, "1 if this process reads, checks and writes, also without an election; 0 on a standby.",
			func(m snapshot) float64 { return boolValue(m.Leading()) }),
		one("loop_age_seconds", Gauge, "Seconds since the loop last ran; 0 on a standby.",
			func(m snapshot) float64 { return m.LoopAge().Seconds() }),
		each("events_total", Counter, label[string]{"result", []string{"delivered", "dropped", failure}},
			"Events on the Service: accepted (delivered), not sent because too many waited (dropped), refused or lost (error).",
			func(m snapshot, result string) uint64 {
				events := m.Events()
				return map[string]uint64{"delivered": events.Delivered, "dropped": events.Dropped, failure: events.Failed}[result]
			}),
	}
}

// credentialFamilies tell of the access to the local cluster.
func credentialFamilies() []Family {
	local := func(name, help string, value func(Credential) float64) Family {
		return Family{Name: prefix + name, Type: Gauge, Help: help, sample: func(m snapshot, emit emit) {
			if c := m.LocalCredential(); !c.Expires.IsZero() {
				emit(value(c))
			}
		}}
	}
	return []Family{
		local("local_credential_expiry_timestamp_seconds",
			"Unix time at which the token or client certificate of KUBECONFIG or of the ServiceAccount expires, the sooner one; absent if unknown.",
			Credential.expiry),
		local("local_credential_lifetime_seconds",
			"Seconds for which that token or client certificate is valid in all; +Inf if it does not say, absent if unknown.",
			Credential.lifetime),
	}
}

// unix is a time as Prometheus writes it, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

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
			Help: "Documents by state: newest version in effect (current), last good version in effect (kept), no version in effect (unusable).",
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
		one("statuses_refused", Gauge, "Objects in the API server whose new status the API server refuses; 0 at a standby.",
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
