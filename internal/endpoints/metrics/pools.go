package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// What may be wrong with a pool.
const (
	poolSource   = "Source"
	poolCheck    = "HealthCheck"
	poolDecision = "Decision"
)

// poolLabels are the label pool, and further ones.
func poolLabels(further ...Label) []Label {
	return append([]Label{{Name: "pool", Note: "the name of the EndpointPool; `remote` with variables"}}, further...)
}

// eachPool emits values for each pool that is in use.
func eachPool(value func(p *poolView, emit emit)) func(snapshot, emit) {
	return func(m snapshot, emit emit) {
		for i := range m.pools {
			p := &m.pools[i]
			if p.counts == nil {
				continue
			}
			value(p, func(v float64, labels ...string) { emit(v, append([]string{p.Name}, labels...)...) })
		}
	}
}

// ofPools is a family with one value for each pool that is in use.
func ofPools[N number](name string, kind Type, help string, value func(p *poolView) N) Family {
	return Family{Name: prefix + name, Type: kind, Labels: poolLabels(), Help: help, sample: eachPool(func(p *poolView, emit emit) { emit(float64(value(p))) })}
}

// ofPoolsBy is a family with a value for each of these pools and each value of a label.
func ofPoolsBy[V any, N number](name string, kind Type, by label[V], help string, value func(p *poolView, v V) N) Family {
	return Family{Name: prefix + name, Type: kind, Labels: poolLabels(by.closed()), Help: help, sample: eachPool(forEach(by, value))}
}

// sum and most put what the groups of a pool say together.
func (p *poolView) sum(value func(o *pool.Outcome) int) int {
	total := 0
	for _, o := range p.groups {
		total += value(o)
	}
	return total
}

func (p *poolView) most(value func(o *pool.Outcome) int) int {
	most := 0
	for _, o := range p.groups {
		most = max(most, value(o))
	}
	return most
}

// poolReadFamilies tell which pools are in use, whether they can be, and of reads of
// inventories.
func poolReadFamilies() []Family {
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
		ofPoolsBy("pool_problem", Gauge, label[string]{"kind", []string{poolSource, poolCheck, poolDecision}},
			"1 while the source cannot be made (Source), the checks cannot be made (HealthCheck) or a decision fails (Decision), else 0.",
			func(p *poolView, kind string) float64 {
				return boolValue(map[string]bool{
					poolSource: p.Problem != "", poolCheck: p.unchecked,
					poolDecision: slices.ContainsFunc(p.groups, func(o *pool.Outcome) bool { return o.Trouble != nil }),
				}[kind])
			}),
		ofPoolsBy("source_reads_total", Counter, label[string]{"result", []string{success, failure}},
			"Reads of the source of the pool, by result. Without its credentials each read is an error.",
			func(p *poolView, result string) uint64 {
				if result == success {
					return p.counts.good.Load()
				}
				return p.counts.bad.Load()
			}),
		ofPools("source_last_read_success_timestamp_seconds", Gauge, "Unix time at which the last successful read of the source began; 0 before the first.",
			func(p *poolView) float64 { return unix(p.counts.inventory.Load().at) }),
		ofPools("nodes", Gauge, "Nodes that the newest complete inventory lists.",
			func(p *poolView) int { return p.counts.inventory.Load().nodes }),
		{
			Name: prefix + "not_eligible", Type: Gauge, Labels: poolLabels(Label{Name: "reason", Values: spell(reasons()), Note: "those of the [list of reasons](reasons.md) that say why a node is not eligible"}),
			Help:   "Nodes and addresses of the newest inventory that are not eligible, by reason; absent where there are none.",
			sample: eachPool(sampleNotEligible),
		},
		ofPools("source_warnings", Gauge, "Warnings of the source of the pool, such as a LAN that is public.",
			func(p *poolView) int { return len(p.Warnings) }),
	}
}

// sampleNotEligible counts what the filter left out, by reason. Every group says the same.
func sampleNotEligible(p *poolView, emit emit) {
	if len(p.groups) == 0 {
		return
	}
	count := make(map[inventory.Reason]int)
	for i := range p.groups[0].Source.Decisions {
		count[p.groups[0].Source.Decisions[i].Reason]++
	}
	for _, reason := range reasons() {
		if n := count[reason]; n > 0 {
			emit(float64(n), string(reason))
		}
	}
}

// poolPlacementFamilies tell of the remote Services that Services of the pool follow, and what
// other replicas reach.
func poolPlacementFamilies() []Family {
	return []Family{
		ofPools("placed_nodes", Gauge, "Nodes with a ready Pod of a remote Service that is followed; one counts for each remote Service and health check.",
			func(p *poolView) int {
				return p.sum(func(o *pool.Outcome) int {
					if o.Placed.Newest == nil {
						return 0
					}
					return len(o.Placed.Newest.Ready)
				})
			}),
		ofPoolsBy("placement_problem", Gauge, label[explain.NoticeReason]{"kind", []explain.NoticeReason{explain.PlacementRejected, explain.UnknownNode, explain.PlacementUnavailable}},
			"1 while a remote Service lost too many nodes (PlacementRejected), cannot be read (PlacementUnavailable) or names an unknown node (UnknownNode).",
			func(p *poolView, kind explain.NoticeReason) float64 {
				return boolValue(slices.ContainsFunc(p.groups, func(o *pool.Outcome) bool { return string(explain.Placement(o).Reason) == string(kind) }))
			}),
		ofPools("endpoints_reached_elsewhere", Gauge, "Endpoints of the pool that only another replica can connect to; they stay ready. One counts for each health check.",
			func(p *poolView) int { return p.sum(func(o *pool.Outcome) int { return o.Verdict.Elsewhere }) }),
	}
}

// poolRemovalFamilies tell of rejected inventories.
func poolRemovalFamilies() []Family {
	return []Family{
		ofPools("rejected_inventories", Gauge, "Scheduled inventories of the pool in a row that were rejected, because they would take too many endpoints away.",
			func(p *poolView) int { return p.most(func(o *pool.Outcome) int { return o.Verdict.Memory.Rejected() }) }),
		ofPools("removals_pending", Gauge, "Endpoints of the pool that further rejected inventories will remove; of several health checks, the largest number.",
			func(p *poolView) int { return p.most(func(o *pool.Outcome) int { return o.Verdict.Removal.Endpoints }) }),
		ofPools("removals_pending_inventories", Gauge, "Scheduled rejected inventories after which the first endpoint is removed, at the earliest; 0 if none will be.",
			func(p *poolView) int {
				least := 0
				for _, o := range p.groups {
					if r := o.Verdict.Removal; r.Endpoints > 0 && (least == 0 || r.Inventories < least) {
						least = r.Inventories
					}
				}
				return least
			}),
		ofPools("removals_accepted_total", Counter, "Endpoints of the pool that were removed although the inventories that left them out were rejected; one counts for each health check.",
			func(p *poolView) uint64 { return p.counts.accepted.Load() }),
	}
}

// poolEndpointFamilies tell what the groups of a pool decide, and how its health checks go.
func poolEndpointFamilies() []Family {
	return []Family{
		ofPoolsBy("health_check_groups", Gauge, label[guard.Mode]{"mode", []guard.Mode{guard.Publish, guard.Hold, guard.FailOpen}},
			"Health checks (mode, port and path) of the pool that its Services use, by the mode of the guard.",
			func(p *poolView, mode guard.Mode) int {
				return count(p.groups, func(o **pool.Outcome) bool { return (*o).Verdict.Mode == mode })
			}),
		ofPoolsBy("endpoints", Gauge, label[inventory.State]{"state", memberStates()},
			"Endpoints of the pool, by state; one counts for each health check.",
			func(p *poolView, state inventory.State) int {
				return p.sum(func(o *pool.Outcome) int {
					return count(o.Verdict.Members, func(m *inventory.Member) bool { return m.State == state })
				})
			}),
		ofPoolsBy("endpoint_changes_total", Counter, label[inventory.State]{"state", append(memberStates(), inventory.Absent)},
			"Endpoints of the pool that entered the state; absent are those that were removed. One counts for each health check.",
			func(p *poolView, state inventory.State) uint64 { return p.counts.moves[state].Load() }),
		ofPoolsBy("health_checks_total", Counter, label[inventory.Outcome]{"outcome", []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError}},
			"Health checks of the pool, by outcome; one that several pools share counts for one of them.",
			func(p *poolView, outcome inventory.Outcome) uint64 { return p.counts.probes[outcome].Load() }),
		ofPools("endpoints_unchecked", Gauge, "Endpoints of the pool that are not checked: this machine cannot carry out the checks, or there are more than 20,000.",
			func(p *poolView) int {
				return p.sum(func(o *pool.Outcome) int { return o.Verdict.Unchecked + o.Refused })
			}),
		ofPools("health_check_round_overruns_total", Counter, "Rounds of health checks of the pool that could not finish within the interval.",
			func(p *poolView) uint64 { return p.counts.overruns.Load() }),
	}
}

// poolHeldFamilies tell what held connections came to.
func poolHeldFamilies() []Family {
	return []Family{
		ofPools("connections_held", Gauge, "Idle connections that are held to endpoints of the pool (`spec.healthCheck.holdConnection`).",
			func(p *poolView) int { return p.sum(func(o *pool.Outcome) int { return o.Held.Held }) }),
		ofPools("connections_wanted", Gauge, "Endpoints of the pool to which an idle connection is to be held.",
			func(p *poolView) int { return p.sum(func(o *pool.Outcome) int { return o.Held.Wanted }) }),
		ofPoolsBy("connections_lost_total", Counter, label[health.AlarmKind]{"kind", health.AlarmKinds()},
			"Held connections of the pool that were lost, by kind. Each loss starts a check.",
			func(p *poolView, kind health.AlarmKind) uint64 { return p.counts.alarms[kind].Load() }),
		ofPools("connections_lost_ignored_total", Counter, "Held connections that were lost together with so many others that no check was started.",
			func(p *poolView) uint64 { return p.counts.ignored.Load() }),
		ofPools("connections_lost_confirmed_total", Counter, "Lost connections after which a health check failed.",
			func(p *poolView) uint64 { return p.counts.confirmed.Load() }),
	}
}

// The credentials of a pool: the token of the IONOS Cloud, and the kubeconfig of the remote cluster.
const (
	Token      = "token"
	Kubeconfig = "kubeconfig"
)

// poolAccessFamilies tell what the IONOS Cloud still allows to a pool, and when its
// credentials expire.
func poolAccessFamilies() []Family {
	credentials := func(name, help string, value func(Credential) float64) Family {
		labels := poolLabels(Label{Name: "credential", Values: []string{Token, Kubeconfig}})
		return Family{Name: prefix + name, Type: Gauge, Labels: labels, Help: help, sample: eachPool(func(p *poolView, emit emit) {
			for name, credential := range p.counts.access.Load().Credentials {
				if c := credential(); !c.Expires.IsZero() {
					emit(value(c), name)
				}
			}
		})}
	}
	return []Family{
		{
			Name: prefix + "source_rate_limit_remaining", Type: Gauge, Labels: poolLabels(),
			Help: "Requests that the IONOS Cloud still allowed in its last answer to the pool; absent if it did not say.",
			sample: eachPool(func(p *poolView, emit emit) {
				if limit := p.counts.access.Load().RateLimit; limit != nil {
					if remaining, known := limit(); known {
						emit(float64(remaining))
					}
				}
			}),
		},
		credentials("credential_expiry_timestamp_seconds",
			"Unix time at which a credential of the pool expires: the IONOS Cloud token, or the kubeconfig; absent if unknown.",
			Credential.expiry),
		credentials("credential_lifetime_seconds",
			"Seconds for which that credential is valid in all; +Inf if it does not say, absent if its expiry is unknown.",
			Credential.lifetime),
	}
}
