package metrics

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// decisionFamilies tell what passes come to, and the mode.
func decisionFamilies() []Family {
	return []Family{
		{
			Name: prefix + "decisions_total", Type: Counter, Labels: label("result", "unchanged", "changed", "blocked"),
			Help: "Passes, by result: no slice differs (unchanged), slices are to be written (changed), or the Service prevents that (blocked).",
			Use:  `rate(ionos_endpointslice_decisions_total{result="changed"}[15m])`, Advice: "endpoints flap if it stays high",
			sample: func(m snapshot, emit emit) {
				counts := m.status.Counts
				emit(float64(counts.Unchanged), "unchanged")
				emit(float64(counts.Changed), "changed")
				emit(float64(counts.Blocked), "blocked")
			},
		},
		{
			Name: prefix + "defects_total", Type: Counter,
			Help: "How often a defect of the program (a panic) stopped a Service: its slices stay as they are until it is tried again.",
			Use:  `increase(ionos_endpointslice_defects_total[1h]) > 0`, Advice: "the log has the place; report it, and go back to the version before if endpoints that die are not taken out",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Defects)) },
		},
		{
			Name: prefix + "mode", Type: Gauge, Labels: label("mode", spell(modes())...),
			Help: "1 for the mode that the guard is in, 0 for the others.",
			Use:  `ionos_endpointslice_mode{mode!="Publish"} == 1`, Advice: "`Hold` keeps endpoints that a rejected inventory or silent health checks would take away, or that leave while nothing else passes; `FailOpen` publishes all because none passes; the log and `status` name the cause",
			sample: func(m snapshot, emit emit) {
				for _, mode := range modes() {
					emit(boolValue(m.status.Verdict.Mode == mode), mode.String())
				}
			},
		},
		{
			Name: prefix + "problem", Type: Gauge, Labels: label("kind", texts(kinds())...),
			Help: "1 for the reason why the Service cannot be filled, 0 for the others.",
			Use:  `ionos_endpointslice_problem == 1`, Advice: "the Event on the Service, the log and `status` say what to correct; no restart is needed",
			sample: func(m snapshot, emit emit) {
				for _, kind := range kinds() {
					emit(boolValue(m.status.Problem.Kind == kind), string(kind))
				}
			},
		},
	}
}

// memberFamilies tell what became of nodes and addresses.
func memberFamilies() []Family {
	states := memberStates()
	return []Family{
		{
			Name: prefix + "candidates", Type: Gauge, Labels: []Label{{Name: "reason", Values: reasons(), Note: "every one of the [list of reasons](reasons.md)"}},
			Help: "Nodes and addresses that are known, by reason.",
			Use:  `sum by (reason) (ionos_endpointslice_candidates) > 0`, Advice: "why nodes are not published; `explain NODE` says it of one node",
			sample: sampleCandidates,
		},
		{
			Name: prefix + "members", Type: Gauge, Labels: label("state", spell(states)...),
			Help: "Endpoints that are to be published, by state.",
			Use:  `ionos_endpointslice_members{state="ready"} == 0`, Advice: "no endpoint gets traffic; 0 on a standby as well, so ask only where `ionos_endpointslice_leader == 1`",
			sample: sampleMembers,
		},
		{
			Name: prefix + "member_changes_total", Type: Counter, Labels: label("state", spell(append(states, inventory.Absent))...),
			Help: "Endpoints that entered the state; absent are those that were removed.",
			Use:  `increase(ionos_endpointslice_member_changes_total{state="down"}[1h])`, Advice: "how often endpoints went down in the last hour",
			sample: func(m snapshot, emit emit) {
				for _, state := range append(memberStates(), inventory.Absent) {
					emit(float64(m.status.Counts.Moves[state]), state.String())
				}
			},
		},
	}
}

// sampleCandidates counts the findings by reason.
func sampleCandidates(m snapshot, emit emit) {
	count := make(map[inventory.Reason]int)
	for _, f := range m.status.Findings {
		count[f.Reason]++
	}
	for _, doc := range inventory.Reasons() {
		emit(float64(count[doc.Reason]), string(doc.Reason))
	}
}

// sampleMembers counts the members by state.
func sampleMembers(m snapshot, emit emit) {
	count := make(map[inventory.State]int)
	for _, member := range m.status.Verdict.Members {
		count[member.State]++
	}
	for _, state := range memberStates() {
		emit(float64(count[state]), state.String())
	}
}
