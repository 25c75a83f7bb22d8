package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health/idle"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// poolUseFamilies tell which pools are in use, and whether they can be.
func poolUseFamilies() []Family {
	return []Family{
		{
			Name: prefix + "pool_services", Type: Gauge, Labels: poolLabels(),
			Help: "Services that take endpoints from the pool. A pool without any is not read, and has no other series.",
			sample: func(m snapshot, emit emit) {
				for _, p := range m.pools {
					emit(float64(p.targets), p.Name)
				}
			},
		},
		{
			Name: prefix + "pool_problem", Type: Gauge, Labels: poolLabels(label("kind", poolSource, poolCheck, poolDecision)...),
			Help: "1 while the pool cannot be read (Source) or its endpoints cannot be checked (HealthCheck) as its document says, or while deciding about them fails by a defect of the program (Decision), else 0. What ran before goes on, and what was published stays.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				emit(boolValue(p.Problem != ""), poolSource)
				emit(boolValue(p.unchecked), poolCheck)
				emit(boolValue(slices.ContainsFunc(p.groups, func(o *pool.Outcome) bool { return o.Trouble != nil })), poolDecision)
			}),
		},
	}
}

// poolReadFamilies tell of reads of inventories.
func poolReadFamilies() []Family {
	return []Family{
		{
			Name: prefix + "source_reads_total", Type: Counter, Labels: poolLabels(Label{Name: "result", Values: []string{success, failure}}),
			Help: "Reads of the source of the pool, by result. As long as the source cannot be made, for example without its credentials, each is an error.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				emit(float64(p.seen.good.Load()), success)
				emit(float64(p.seen.bad.Load()), failure)
			}),
		},
		{
			Name: prefix + "source_last_read_success_timestamp_seconds", Type: Gauge, Labels: poolLabels(),
			Help:   "Unix time at which the last successful read of the source began; 0 before the first.",
			sample: onePool(func(p *poolView) float64 { return unix(p.seen.newest().at) }),
		},
		{
			Name: prefix + "nodes", Type: Gauge, Labels: poolLabels(),
			Help:   "Nodes that the newest complete inventory lists.",
			sample: onePool(func(p *poolView) float64 { return float64(p.seen.newest().nodes) }),
		},
		{
			Name: prefix + "not_eligible", Type: Gauge, Labels: poolLabels(Label{Name: "reason", Values: reasons(), Note: "those of the [list of reasons](reasons.md) that say why a node is not eligible"}),
			Help:   "Nodes and addresses of the newest inventory that are not eligible, by reason; absent where there are none.",
			sample: eachPool(sampleNotEligible),
		},
		{
			Name: prefix + "source_warnings", Type: Gauge, Labels: poolLabels(),
			Help:   "What the source of the pool finds odd, such as a LAN that is public.",
			sample: onePool(func(p *poolView) float64 { return float64(len(p.Warnings)) }),
		},
	}
}

// sampleNotEligible counts what the filter left out, by reason. Every group says the same.
func sampleNotEligible(p *poolView, emit func(float64, ...string)) {
	count := make(map[inventory.Reason]int)
	if len(p.groups) > 0 {
		decisions := p.groups[0].Source.Decisions
		for i := range decisions {
			count[decisions[i].Reason]++
		}
	}
	for _, doc := range inventory.Reasons() {
		if n := count[doc.Reason]; n > 0 {
			emit(float64(n), string(doc.Reason))
		}
	}
}

// poolHeldFamilies tell what held connections came to.
func poolHeldFamilies() []Family {
	return []Family{
		{
			Name: prefix + "connections_held", Type: Gauge, Labels: poolLabels(),
			Help:   "Idle connections that are held to endpoints of the pool (`spec.healthCheck.holdConnection`).",
			sample: onePool(func(p *poolView) float64 { return p.sum(func(o *pool.Outcome) int { return o.Held.Held }) }),
		},
		{
			Name: prefix + "connections_wanted", Type: Gauge, Labels: poolLabels(),
			Help:   "Endpoints of the pool to which an idle connection is to be held.",
			sample: onePool(func(p *poolView) float64 { return p.sum(func(o *pool.Outcome) int { return o.Held.Wanted }) }),
		},
		{
			Name: prefix + "connections_lost_total", Type: Counter, Labels: poolLabels(label("kind", spell(idle.Kinds())...)...),
			Help: "Held connections of the pool that were lost, by kind. Each has its endpoint checked at once.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				for _, kind := range idle.Kinds() {
					emit(float64(p.seen.alarms[kind].Load()), kind.String())
				}
			}),
		},
		{
			Name: prefix + "connections_lost_ignored_total", Type: Counter, Labels: poolLabels(),
			Help:   "Those that were lost together with so many others that nothing was checked at once.",
			sample: onePool(func(p *poolView) float64 { return float64(p.seen.ignored.Load()) }),
		},
		{
			Name: prefix + "connections_lost_confirmed_total", Type: Counter, Labels: poolLabels(),
			Help:   "Those after which a health check failed.",
			sample: onePool(func(p *poolView) float64 { return float64(p.seen.confirmed.Load()) }),
		},
	}
}

// poolLimitFamilies tell what the IONOS Cloud still allows to a pool.
func poolLimitFamilies() []Family {
	return []Family{{
		Name: prefix + "source_rate_limit_remaining", Type: Gauge, Labels: poolLabels(),
		Help: "Requests that the IONOS Cloud still allowed in its last answer to the pool; absent if it did not say. Pools of one account share the limit.",
		sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
			if a := p.seen.access.Load(); a != nil && a.RateLimit != nil {
				if remaining, known := a.RateLimit(); known {
					emit(float64(remaining))
				}
			}
		}),
	}}
}

// The credentials of a pool: the token of the IONOS Cloud, and the kubeconfig of the remote cluster.
const (
	token      = "token"
	kubeconfig = "kubeconfig"
)

// poolCredentialFamilies tell when the credentials of a pool expire.
func poolCredentialFamilies() []Family {
	labels := poolLabels(label("credential", token, kubeconfig)...)
	each := func(value func(Credential) float64) func(snapshot, emit) {
		return eachPool(func(p *poolView, emit func(float64, ...string)) {
			a := p.seen.access.Load()
			if a == nil {
				return
			}
			if a.TokenExpiry != nil {
				if at, known := a.TokenExpiry(); known {
					emit(value(Credential{Expires: at}), token)
				}
			}
			if a.Credential != nil {
				if c := a.Credential(); !c.Expires.IsZero() {
					emit(value(c), kubeconfig)
				}
			}
		})
	}
	return []Family{
		{
			Name: prefix + "credential_expiry_timestamp_seconds", Type: Gauge, Labels: labels,
			Help:   "Unix time at which a credential of the pool expires: the token of the IONOS Cloud that it used last (token), or the token or client certificate for its remote cluster, whichever is sooner (kubeconfig); absent if that is not known.",
			sample: each(func(c Credential) float64 { return unix(c.Expires) }),
		},
		{
			Name: prefix + "credential_lifetime_seconds", Type: Gauge, Labels: labels,
			Help:   "Seconds for which that credential is valid in all; +Inf if it does not say, as the token of the IONOS Cloud never does; absent if its expiry is not known.",
			sample: each(Credential.lifetime),
		},
	}
}

// measuredFamilies tell how long reads and health checks of all pools take.
func measuredFamilies() []Family {
	return []Family{
		{
			Name: readDuration, Type: Histogram, Labels: []Label{{Name: "source", Note: "the value of `SOURCE_KIND`"}},
			buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
			Help:    "Seconds that reads of sources took, failed ones included.",
		},
		{
			Name: probeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Seconds that health checks took, without those of outcome LocalError.",
		},
	}
}
