package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// What may be wrong with a Service, apart from the reasons of the conditions of a binding.
const (
	storeUnavailable = "StoreUnavailable"
	storeStale       = "StoreStale"
	defect           = "Defect"
	notFilled        = "NotFilled"
	waiting          = "Waiting"
)

// problems are all that may be wrong with a Service. The first ones are the kinds of a
// publish.Problem.
func problems() []string {
	return []string{
		string(publish.ServiceMissing), string(publish.ServiceDeleting), string(publish.ServiceHasSelector), string(publish.ServiceExternalName),
		string(publish.PortMismatch), v1alpha1.ReasonInvalid, v1alpha1.ReasonPoolNotAllowed, v1alpha1.ReasonPortNotAllowed, v1alpha1.ReasonRemoteNamespaceNotAllowed, v1alpha1.ReasonLimitReached,
		v1alpha1.ReasonHealthCheckPortAmbiguous, v1alpha1.ReasonSliceOwnedByOther, storeUnavailable, storeStale, v1alpha1.ReasonWriteFailed,
		v1alpha1.ReasonPending, v1alpha1.ReasonNoEndpointReady, v1alpha1.ReasonFailOpen, defect, notFilled, waiting, assign.TakesOverWithLess,
		v1alpha1.ReasonReleasing, v1alpha1.ReasonManyReleased,
	}
}

// serviceFamilies tell how many Services are filled, and how.
func serviceFamilies() []Family {
	return []Family{
		each("services", Gauge, label[assign.State]{"state", []assign.State{assign.Active, assign.Leaving, assign.Draining, assign.Kept, assign.Emptied}},
			"Services that are filled, by state.",
			func(m snapshot, state assign.State) int {
				return count(m.Plan.Targets, func(t *assign.Assignment) bool { return stateOf(t) == state })
			}),
		each("services_with_problem", Gauge, label[string]{"kind", problems()}, "Services with a problem, by problem.",
			func(m snapshot, kind string) int { return m.problems[kind] }),
		one("services_unlisted", Gauge, "Services without series of their own, because there are more than 1,000.",
			func(m snapshot) int { return m.unlisted }),
		one("services_without_pool", Gauge, "Services with slices of a pool that no document describes. Their endpoints stay and are not checked.",
			func(m snapshot) int { return len(m.Plan.Lost) }),
	}
}

// stateOf is the state of a Service that is furthest from Active; Emptied counts where
// nothing else is.
func stateOf(t *assign.Assignment) assign.State {
	for _, state := range []assign.State{assign.Kept, assign.Leaving, assign.Draining, assign.Active} {
		if slices.ContainsFunc(t.Uses, func(u assign.PoolUse) bool { return u.State == state }) {
			return state
		}
	}
	return assign.Emptied
}

// count is how many of a list are such.
func count[E any](all []E, such func(*E) bool) int {
	n := 0
	for i := range all {
		if such(&all[i]) {
			n++
		}
	}
	return n
}

// targetFamilies tell of single Services.
func targetFamilies() []Family {
	// Prometheus gives each series a label namespace, and often one service: those of the
	// program itself.
	labels := []Label{{Name: "target_namespace", Note: "the namespace of the Service"}, {Name: "target_service", Note: "its name"}}
	ofServices := func(name, help string, value func(t *targetView) int) Family {
		return Family{Name: prefix + name, Type: Gauge, Labels: labels, Help: help, sample: func(m snapshot, emit emit) {
			for i := range m.shown {
				if t := &m.shown[i]; t.filled {
					emit(float64(value(t)), t.Namespace, t.Service)
				}
			}
		}}
	}
	return []Family{
		ofServices("service_endpoints", "Endpoints in the slices of the Service, in every state.",
			func(t *targetView) int { return t.published }),
		ofServices("service_ready_endpoints", "Ready endpoints in the slices of the Service.",
			func(t *targetView) int { return t.ready }),
		ofServices("service_pending_slices", "Slices of the Service that still differ from what was decided; in a dry run, those that it does not write.",
			func(t *targetView) int { return t.pending }),
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
