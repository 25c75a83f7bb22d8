package metrics

import (
	"slices"

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
func eachPool(value func(p *poolView, emit func(float64, ...string))) func(snapshot, emit) {
	return func(m snapshot, emit emit) {
		for i := range m.pools {
			p := &m.pools[i]
			if p.seen == nil {
				continue
			}
			value(p, func(v float64, labels ...string) { emit(v, append([]string{p.Name}, labels...)...) })
		}
	}
}

// onePool emits one value for each pool that is in use.
func onePool(value func(p *poolView) float64) func(snapshot, emit) {
	return eachPool(func(p *poolView, emit func(float64, ...string)) { emit(value(p)) })
}

// sum and most put what the groups of a pool say together.
func (p *poolView) sum(value func(o *pool.Outcome) int) float64 {
	total := 0
	for _, o := range p.groups {
		total += value(o)
	}
	return float64(total)
}

func (p *poolView) most(value func(o *pool.Outcome) int) float64 {
	most := 0
	for _, o := range p.groups {
		most = max(most, value(o))
	}
	return float64(most)
}

// poolFamilies tell of single pools.
func poolFamilies() []Family {
	return slices.Concat(poolUseFamilies(), poolReadFamilies(), poolRemovalFamilies(), poolEndpointFamilies(), poolCheckFamilies(), poolHeldFamilies(), poolLimitFamilies(), poolCredentialFamilies())
}

// poolRemovalFamilies tell of rejected inventories.
func poolRemovalFamilies() []Family {
	return []Family{
		{
			Name: prefix + "rejected_inventories", Type: Gauge, Labels: poolLabels(),
			Help: "Scheduled inventories of the pool in a row that were rejected, because they would take too many endpoints away.",
			sample: onePool(func(p *poolView) float64 {
				return p.most(func(o *pool.Outcome) int { return o.Verdict.Memory.Rejected() })
			}),
		},
		{
			Name: prefix + "removals_pending", Type: Gauge, Labels: poolLabels(),
			Help: "Endpoints of the pool that further rejected inventories will remove; where it has several health checks, the most that one of them says.",
			sample: onePool(func(p *poolView) float64 {
				return p.most(func(o *pool.Outcome) int { return o.Verdict.Removal.Endpoints })
			}),
		},
		{
			Name: prefix + "removals_pending_inventories", Type: Gauge, Labels: poolLabels(),
			Help: "Scheduled rejected inventories after which the first endpoint is removed, at the earliest; 0 if none will be.",
			sample: onePool(func(p *poolView) float64 {
				least := 0
				for _, o := range p.groups {
					if r := o.Verdict.Removal; r.Endpoints > 0 && (least == 0 || r.Inventories < least) {
						least = r.Inventories
					}
				}
				return float64(least)
			}),
		},
		{
			Name: prefix + "removals_accepted_total", Type: Counter, Labels: poolLabels(),
			Help:   "Endpoints of the pool that were removed although the inventories that left them out were rejected; one counts for each health check.",
			sample: onePool(func(p *poolView) float64 { return float64(p.seen.accepted.Load()) }),
		},
	}
}

// poolEndpointFamilies tell what the groups of a pool decide.
func poolEndpointFamilies() []Family {
	states := memberStates()
	return []Family{
		{
			Name: prefix + "health_check_groups", Type: Gauge, Labels: poolLabels(label("mode", spell(modes())...)...),
			Help: "Health checks of the pool that its Services use, by the mode that the guard is in; a health check is a mode, a port and a path.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				for _, mode := range modes() {
					emit(p.sum(func(o *pool.Outcome) int { return int(boolValue(o.Verdict.Mode == mode)) }), mode.String())
				}
			}),
		},
		{
			Name: prefix + "endpoints", Type: Gauge, Labels: poolLabels(label("state", spell(states)...)...),
			Help:   "Endpoints of the pool, by state; one counts for each health check.",
			sample: eachPool(samplePoolMembers),
		},
		{
			Name: prefix + "endpoint_changes_total", Type: Counter, Labels: poolLabels(label("state", spell(append(states, inventory.Absent))...)...),
			Help: "Endpoints of the pool that entered the state; absent are those that were removed. One counts for each health check.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				for _, state := range append(memberStates(), inventory.Absent) {
					emit(float64(p.seen.moves[state].Load()), state.String())
				}
			}),
		},
	}
}

// samplePoolMembers counts the members by state.
func samplePoolMembers(p *poolView, emit func(float64, ...string)) {
	var count [inventory.StateDown + 1]int
	for _, o := range p.groups {
		members := o.Verdict.Members
		for i := range members {
			count[members[i].State]++
		}
	}
	for _, state := range memberStates() {
		emit(float64(count[state]), state.String())
	}
}

// poolCheckFamilies tell how the health checks of a pool go.
func poolCheckFamilies() []Family {
	return []Family{
		{
			Name: prefix + "health_checks_total", Type: Counter, Labels: poolLabels(label("outcome", spell(outcomes())...)...),
			Help: "Health checks of the pool, by outcome; one that several pools share counts for one of them.",
			sample: eachPool(func(p *poolView, emit func(float64, ...string)) {
				for _, outcome := range outcomes() {
					emit(float64(p.seen.probes[outcome].Load()), outcome.String())
				}
			}),
		},
		{
			Name: prefix + "endpoints_unchecked", Type: Gauge, Labels: poolLabels(),
			Help: "Endpoints of the pool that are not checked: for longer than `spec.healthCheck.fall` intervals this machine could not carry out the checks, or there are as many checks as there may be (20,000).",
			sample: onePool(func(p *poolView) float64 {
				return p.sum(func(o *pool.Outcome) int { return o.Verdict.Unchecked + o.Refused })
			}),
		},
		{
			Name: prefix + "health_check_round_overruns_total", Type: Counter, Labels: poolLabels(),
			Help:   "Rounds of health checks of the pool that could not finish within the interval.",
			sample: onePool(func(p *poolView) float64 { return float64(p.seen.overruns.Load()) }),
		},
	}
}
