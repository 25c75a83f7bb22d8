package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// What may be wrong with a target, apart from the reasons of the conditions of a binding.
const (
	storeUnavailable = "StoreUnavailable"
	storeStale       = "StoreStale"
	defect           = "Defect"
	notFilled        = "NotFilled"
	waiting          = "Waiting"
)

// problems are all that may be wrong with a target. The first ones are the kinds of a
// publish.Problem.
func problems() []string {
	return []string{
		string(publish.ServiceMissing), string(publish.ServiceDeleting), string(publish.ServiceHasSelector), string(publish.ServiceExternalName),
		string(publish.PortMismatch), v1alpha1.ReasonInvalid, v1alpha1.ReasonPoolNotAllowed, v1alpha1.ReasonPortNotAllowed, v1alpha1.ReasonLimitReached,
		v1alpha1.ReasonHealthCheckPortAmbiguous, v1alpha1.ReasonSliceOwnedByOther, storeUnavailable, storeStale, v1alpha1.ReasonWriteFailed,
		v1alpha1.ReasonPending, v1alpha1.ReasonNoEndpointReady, v1alpha1.ReasonFailOpen, defect, notFilled, waiting, assign.TakesOverWithLess,
		v1alpha1.ReasonReleasing, v1alpha1.ReasonManyReleased,
	}
}

// documentStates are what documents are in: the one in the file counts, an older one
// does, or none.
func documentStates() []string { return []string{"current", "kept", "unusable"} }

// useStates are what targets are in.
func useStates() []assign.State {
	return []assign.State{assign.Active, assign.Leaving, assign.Draining, assign.Kept, assign.Emptied}
}

// documentFamilies tell of the documents.
func documentFamilies() []Family {
	return []Family{
		{
			Name: prefix + "assignments_total", Type: Counter,
			Help:   "How often documents and Services were compared with what runs.",
			sample: func(m snapshot, emit emit) { emit(float64(m.plans)) },
		},
		{
			Name: prefix + "documents", Type: Gauge,
			Labels: []Label{{Name: "kind", Values: []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding}}, {Name: "state", Values: documentStates()}},
			Help:   "Documents, by state: their newest version is in effect (current), the last good one is because the newest is wrong or cannot be read (kept), or none is (unusable).",
			sample: sampleDocuments,
		},
		{
			Name: prefix + "document_mistakes", Type: Gauge,
			Help:   "Mistakes in documents and their files.",
			sample: func(m snapshot, emit emit) { emit(float64(len(m.Documents.Mistakes))) },
		},
		{
			Name: prefix + "documents_generation", Type: Gauge,
			Help:   "Counts the changes of the documents that this process has seen.",
			sample: func(m snapshot, emit emit) { emit(float64(m.Documents.Generation)) },
		},
		{
			Name: prefix + "documents_last_good_timestamp_seconds", Type: Gauge,
			Help:   "Unix time at which all documents were last read without a mistake; 0 if they never were.",
			sample: func(m snapshot, emit emit) { emit(unix(m.sound)) },
		},
		{
			Name: prefix + "statuses_refused", Type: Gauge,
			Help:   "Objects in the API server whose status is refused, so that it says what was true before; 0 at a standby.",
			sample: func(m snapshot, emit emit) { emit(float64(m.UnwrittenStatuses())) },
		},
	}
}

// serviceFamilies tell how many Services are filled, and how.
func serviceFamilies() []Family {
	return []Family{
		{
			Name: prefix + "services", Type: Gauge, Labels: label("state", texts(useStates())...),
			Help:   "Services that are filled, by state: as its document or annotation says (active), until `spec.releaseAfter` is over or others take over (leaving), while they drain because others did (draining), because too many vanished at once or not everything could be read (kept), or with slices that are being emptied (emptied).",
			sample: sampleTargets,
		},
		{
			Name: prefix + "services_with_problem", Type: Gauge, Labels: label("kind", problems()...),
			Help: "Services with a problem, by problem, whatever their number.",
			sample: func(m snapshot, emit emit) {
				for _, kind := range problems() {
					emit(float64(m.problems[kind]), kind)
				}
			},
		},
		{
			Name: prefix + "services_unlisted", Type: Gauge,
			Help:   "Services without series of their own. Up to 1,000 Services each has some; where there are more, those with a problem have, at most 1,000.",
			sample: func(m snapshot, emit emit) { emit(float64(m.unlisted)) },
		},
		{
			Name: prefix + "services_without_pool", Type: Gauge,
			Help:   "Services with slices of a pool that no document describes; the slices stay as they are, and nothing checks their endpoints.",
			sample: func(m snapshot, emit emit) { emit(float64(len(m.Plan.Lost))) },
		},
	}
}

// sampleDocuments counts the documents by kind and state.
func sampleDocuments(m snapshot, emit emit) {
	type of struct{ kind, state string }
	count := make(map[of]int)
	states := documentStates()
	for i := range m.Documents.Entries {
		e := &m.Documents.Entries[i]
		state := states[0]
		switch {
		case !e.Usable():
			state = states[2]
		case e.Kept:
			state = states[1]
		}
		count[of{e.Key.Kind, state}]++
	}
	for _, kind := range []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding} {
		for _, state := range states {
			emit(float64(count[of{kind, state}]), kind, state)
		}
	}
}

// sampleTargets counts the targets by the state that is furthest from Active.
func sampleTargets(m snapshot, emit emit) {
	count := make(map[assign.State]int)
	order := []assign.State{assign.Kept, assign.Leaving, assign.Draining, assign.Active, assign.Emptied}
	for i := range m.Plan.Targets {
		uses := m.Plan.Targets[i].Uses
		for _, state := range order {
			if slices.ContainsFunc(uses, func(u assign.PoolUse) bool { return u.State == state }) {
				count[state]++
				break
			}
		}
	}
	for _, state := range useStates() {
		emit(float64(count[state]), string(state))
	}
}

// targetFamilies tell of single Services.
func targetFamilies() []Family {
	// Prometheus gives each series a label namespace, and often one service: those of the
	// program itself.
	labels := []Label{{Name: "target_namespace", Note: "the namespace of the Service"}, {Name: "target_service", Note: "its name"}}
	each := func(value func(t *targetView) int) func(snapshot, emit) {
		return func(m snapshot, emit emit) {
			for i := range m.shown {
				if t := &m.shown[i]; t.filled {
					emit(float64(value(t)), t.Namespace, t.Service)
				}
			}
		}
	}
	return []Family{
		{
			Name: prefix + "service_endpoints", Type: Gauge, Labels: labels,
			Help:   "Endpoints in the slices of the Service, in every state.",
			sample: each(func(t *targetView) int { return t.published }),
		},
		{
			Name: prefix + "service_ready_endpoints", Type: Gauge, Labels: labels,
			Help:   "Those of them that are ready.",
			sample: each(func(t *targetView) int { return t.ready }),
		},
		{
			Name: prefix + "service_pending_slices", Type: Gauge, Labels: labels,
			Help:   "Slices of the Service that still differ from what was decided; in a dry run, those that it does not write.",
			sample: each(func(t *targetView) int { return t.pending }),
		},
		{
			Name: prefix + "service_problem", Type: Gauge,
			Labels: append(slices.Clone(labels), Label{Name: "kind", Values: problems(), Note: "one of the [problems](#problems-of-a-service)"}),
			Help:   "1 for each problem that the Service has; absent where it has none.",
			sample: func(m snapshot, emit emit) {
				for i := range m.shown {
					t := &m.shown[i]
					for _, kind := range t.problems {
						emit(1, t.Namespace, t.Service, kind)
					}
				}
			},
		},
	}
}
