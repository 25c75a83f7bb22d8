package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// What may be wrong with a target, apart from the reasons of the conditions of a binding.
const (
	storeUnavailable = "StoreUnavailable"
	storeStale       = "StoreStale"
	defect           = "Defect"
	notFilled        = "NotFilled"
	waiting          = "Waiting"
)

// problemDoc explains what may be wrong with a target.
type problemDoc struct{ problem, means string }

// problemDocs explain everything that may be wrong with a target. The first ones are the
// kinds of a plan.Problem.
func problemDocs() []problemDoc {
	return []problemDoc{
		{string(plan.ServiceMissing), "there is no such Service; its slices stay as they are"},
		{string(plan.ServiceDeleting), "the Service is being deleted"},
		{string(plan.ServiceHasSelector), "the Service has a selector, so Kubernetes manages its endpoints itself"},
		{string(plan.ServiceExternalName), "the Service is of type ExternalName, which has no endpoints"},
		{string(plan.PortMismatch), "the Service has no port that fits"},
		{v1alpha1.ReasonInvalid, "its annotations, its binding or the document of its pool are not valid; what was published before stays"},
		{v1alpha1.ReasonPoolNotAllowed, "its namespace may not use a pool of that name, or there is none"},
		{v1alpha1.ReasonPortNotAllowed, "the pool does not allow its namespace a port"},
		{v1alpha1.ReasonLimitReached, "its namespace, or the controller, has as many Services or checks as there may be"},
		{v1alpha1.ReasonHealthCheckPortAmbiguous, "it is not clear which port to check"},
		{v1alpha1.ReasonSliceOwnedByOther, "a slice has a name that the daemon would use, and belongs to another program or Service"},
		{storeUnavailable, "the Service and its slices cannot be read, or what is known of them may be out of date"},
		{storeStale, "the same, because their watch is refused or silent and not because a single read failed"},
		{v1alpha1.ReasonWriteFailed, "the last write of a slice failed; it is tried again"},
		{v1alpha1.ReasonPending, "slices have differed for a minute from what was decided"},
		{v1alpha1.ReasonNoEndpointReady, "no endpoint in its slices is ready"},
		{v1alpha1.ReasonFailOpen, "no endpoint passes its health check, and all that stay are published ready"},
		{defect, "a defect of the program stopped the Service; its slices stay as they are until it is tried again"},
		{notFilled, "the Service cannot be filled at all, for example because another one has the names of its slices"},
		{waiting, "a new port, health check or pool is not ready, so the old endpoints stay"},
		{resolve.TakesOverWithLess, "of the new endpoints too few pass, so the old ones stay"},
		{v1alpha1.ReasonReleasing, "its binding, its annotation or its pool is gone, or replaced: its slices are emptied later"},
		{v1alpha1.ReasonManyReleased, "the same, but too many Services vanished at once or not everything could be read: its endpoints stay"},
	}
}

// problems are all that may be wrong with a target.
func problems() []string {
	docs := problemDocs()
	names := make([]string, len(docs))
	for i, doc := range docs {
		names[i] = doc.problem
	}
	return names
}

// documentStates are what documents are in: the one in the file counts, an older one
// does, or none.
func documentStates() []string { return []string{"current", "kept", "unusable"} }

// useStates are what targets are in.
func useStates() []resolve.State {
	return []resolve.State{resolve.Active, resolve.Leaving, resolve.Draining, resolve.Kept, resolve.Emptied}
}

// documentFamilies tell of the documents.
func documentFamilies() []Family {
	return []Family{
		{
			Name: prefix + "assignments_total", Type: Counter,
			Help: "How often documents and Services were compared with what runs.",
			Use:  `ionos_endpointslice_assignments_total == 0 and ionos_endpointslice_leader == 1`, Advice: "the documents, or the Services and slices of a namespace, were not read yet",
			sample: func(m snapshot, emit emit) { emit(float64(m.plans)) },
		},
		{
			Name: prefix + "documents", Type: Gauge,
			Labels: []Label{{Name: "kind", Values: []string{v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding}}, {Name: "state", Values: documentStates()}},
			Help:   "Documents, by state: their newest version is in effect (current), the last good one is because the newest is wrong or cannot be read (kept), or none is (unusable).",
			Use:    `ionos_endpointslice_documents{state!="current"} > 0`, Advice: "correct the file; `check --only documents` says what is wrong",
			sample: sampleDocuments,
		},
		{
			Name: prefix + "document_mistakes", Type: Gauge,
			Help: "Mistakes in documents and their files.",
			Use:  `ionos_endpointslice_document_mistakes > 0`, Advice: "the log and `check --only documents` name each, with file, line, field, rule and remedy",
			sample: func(m snapshot, emit emit) { emit(float64(len(m.documents.Mistakes))) },
		},
		{
			Name: prefix + "documents_generation", Type: Gauge,
			Help: "Counts the changes of the documents that this process has seen.",
			Use:  `changes(ionos_endpointslice_documents_generation[1h])`, Advice: "when documents changed",
			sample: func(m snapshot, emit emit) { emit(float64(m.documents.Generation)) },
		},
		{
			Name: prefix + "documents_last_good_timestamp_seconds", Type: Gauge,
			Help: "Unix time at which all documents were last read without a mistake; 0 if they never were.",
			Use:  `time() - ionos_endpointslice_documents_last_good_timestamp_seconds`, Advice: "for how long documents have been wrong, or could not be read",
			sample: func(m snapshot, emit emit) { emit(unix(m.sound)) },
		},
		{
			Name: prefix + "statuses_refused", Type: Gauge,
			Help: "Objects in the API server whose status is refused, so that it says what was true before; 0 at a standby.",
			Use:  `ionos_endpointslice_statuses_refused > 0`, Advice: "`status` names one of them, with the words of the API server; everything else goes on",
			sample: func(m snapshot, emit emit) { emit(float64(m.UnwrittenStatuses())) },
		},
	}
}

// serviceFamilies tell how many Services are filled, and how.
func serviceFamilies() []Family {
	return []Family{
		{
			Name: prefix + "services", Type: Gauge, Labels: label("state", texts(useStates())...),
			Help: "Services that are filled, by state: as its document or annotation says (active), until `spec.releaseAfter` is over or others take over (leaving), while they drain because others did (draining), because too many vanished at once or not everything could be read (kept), or with slices that are being emptied (emptied).",
			Use:  `ionos_endpointslice_services{state="kept"} > 0`, Advice: "bring the documents back, or do what the log says",
			sample: sampleTargets,
		},
		{
			Name: prefix + "services_with_problem", Type: Gauge, Labels: label("kind", problems()...),
			Help: "Services with a problem, by problem, whatever their number.",
			Use:  `ionos_endpointslice_services_with_problem > 0`, Advice: "`ionos_endpointslice_service_problem` names them",
			sample: func(m snapshot, emit emit) {
				for _, kind := range problems() {
					emit(float64(m.problems[kind]), kind)
				}
			},
		},
		{
			Name: prefix + "services_unlisted", Type: Gauge,
			Help: "Services without series of their own. Up to 1,000 Services each has some; where there are more, those with a problem have, at most 1,000.",
			Use:  `ionos_endpointslice_services_unlisted`, Advice: "`ionos_endpointslice_services` and `ionos_endpointslice_services_with_problem` count these too",
			sample: func(m snapshot, emit emit) { emit(float64(m.unlisted)) },
		},
		{
			Name: prefix + "services_without_pool", Type: Gauge,
			Help: "Services with slices of a pool that no document describes; the slices stay as they are, and nothing checks their endpoints.",
			Use:  `ionos_endpointslice_services_without_pool > 0`, Advice: "the log names them: bring the document of the pool back, or delete the slices",
			sample: func(m snapshot, emit emit) { emit(float64(len(m.plan.Lost))) },
		},
	}
}

// sampleDocuments counts the documents by kind and state.
func sampleDocuments(m snapshot, emit emit) {
	type of struct{ kind, state string }
	count := make(map[of]int)
	states := documentStates()
	for i := range m.documents.Entries {
		e := &m.documents.Entries[i]
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
	count := make(map[resolve.State]int)
	order := []resolve.State{resolve.Kept, resolve.Leaving, resolve.Draining, resolve.Active, resolve.Emptied}
	for i := range m.plan.Targets {
		uses := m.plan.Targets[i].Uses
		for _, state := range order {
			if slices.ContainsFunc(uses, func(u resolve.PoolUse) bool { return u.State == state }) {
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
			Help: "Endpoints in the slices of the Service, in every state.",
			Use:  `ionos_endpointslice_service_endpoints == 0`, Advice: "`ionos_endpointslice_service_problem` says why",
			sample: each(func(t *targetView) int { return t.published }),
		},
		{
			Name: prefix + "service_ready_endpoints", Type: Gauge, Labels: labels,
			Help: "Those of them that are ready.",
			Use:  `ionos_endpointslice_service_ready_endpoints / ionos_endpointslice_service_endpoints < 0.5`, Advice: "most of the endpoints get no traffic",
			sample: each(func(t *targetView) int { return t.ready }),
		},
		{
			Name: prefix + "service_pending_slices", Type: Gauge, Labels: labels,
			Help: "Slices of the Service that still differ from what was decided; in a dry run, those that it does not write.",
			Use:  `min_over_time(ionos_endpointslice_service_pending_slices[2m]) > 0`, Advice: "writes do not get through",
			sample: each(func(t *targetView) int { return t.pending }),
		},
		{
			Name: prefix + "service_problem", Type: Gauge,
			Labels: append(slices.Clone(labels), Label{Name: "kind", Values: problems(), Note: "one of the [problems](#problems-of-a-service)"}),
			Help:   "1 for each problem that the Service has; absent where it has none.",
			Use:    `ionos_endpointslice_service_problem == 1`, Advice: "the Event on the Service and the log say what to do",
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
