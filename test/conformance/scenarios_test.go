//go:build lab

package conformance_test

import "slices"

// state is what the daemon publishes for an endpoint, or absent, and the words of the
// table.
type state string

const (
	ready    state = "ready"
	draining state = "draining"
	down     state = "down"
	// removed is in no slice, although its backend would still answer.
	removed state = "removed"
)

// The consumers, in the order of the table's columns.
const (
	nftables = "kube-proxy, nftables"
	iptables = "kube-proxy, iptables"
	coreDNS  = "CoreDNS, headless"
	traefik  = "Traefik, Ingress"
)

var consumers = []string{nftables, iptables, coreDNS, traefik}

// none is the state of the endpoints that answer where a consumer has none. How
// that looks to a client differs; no consumer may let it wait.
const none state = ""

var refusal = map[string]string{
	nftables: "connection refused",
	iptables: "connection refused",
	coreDNS:  "no such host",
	traefik:  "503 Service Unavailable",
}

// scenario is one state of a Service's endpoints, and which of them get traffic.
// Every backend answers every request, also one that is down (its health check says
// 503). So an endpoint without traffic got none because the consumer chose so.
type scenario struct {
	// name is a part of names in the API too.
	name string
	// what is the row of the table.
	what string
	// members are what the inventory and the health checks say; outcome is what the
	// daemon publishes, if that differs.
	members, outcome []state
	// allFail makes every health check fail. Then the daemon decides the states, and
	// the case of readiness is called failing open.
	allFail bool
	// bothFamilies gives each node an address of each family.
	bothFamilies bool
	// env are settings beyond the common ones.
	env []string
	// want is the state of those that answer, all of them and no others; ready
	// for a consumer that is not named.
	want map[string]state
}

// everywhere is the same for each consumer.
func everywhere(s state) map[string]state {
	want := map[string]state{}
	for _, c := range consumers {
		want[c] = s
	}
	return want
}

var scenarios = []scenario{
	{name: "ready", what: "all ready", members: []state{ready, ready, ready}},
	{name: "draining", what: "one draining", members: []state{ready, ready, ready, draining}},
	{name: "down", what: "one down", members: []state{ready, ready, ready, down}},
	{name: "removed", what: "one removed", members: []state{ready, ready, removed}, env: []string{"DRAIN_PERIOD=1s"}},
	{name: "mixed", what: "ready, draining and down", members: []state{ready, ready, draining, down}},
	{
		name: "many", what: "several slices, with ready, draining and down", env: []string{"MAX_ENDPOINTS_PER_SLICE=2"},
		members: []state{ready, down, ready, ready, draining, ready, ready},
	},
	{name: "two-families", what: "both families", members: []state{ready, ready, draining, down}, bothFamilies: true},
	{name: "fail-open", what: "all fail their checks: failing open", members: []state{ready, ready, ready}, allFail: true},
	{
		// Without health checks nothing says that they still work.
		name: "all-draining", what: "all draining (`HEALTH_CHECK_MODE=off`)", members: []state{draining, draining, draining}, env: []string{"HEALTH_CHECK_MODE=off"},
		// Only kube-proxy falls back to endpoints that still serve when none is
		// ready.
		want: map[string]state{nftables: draining, iptables: draining, coreDNS: none, traefik: none},
	},
	{
		name: "all-leaving", what: "all announced to leave, and pass their checks: published ready",
		members: []state{draining, draining, draining}, outcome: []state{ready, ready, ready},
	},
	{
		// What leaves still works, so the daemon does not fail open for the others.
		name: "last-leaving", what: "one announced to leave: published ready, because the others are down",
		members: []state{draining, down, down}, outcome: []state{ready, down, down},
	},
	{
		name: "all-down", what: "all down (`HEALTH_CHECK_FAIL_OPEN=false`)", members: []state{down, down, down}, allFail: true, env: []string{"HEALTH_CHECK_FAIL_OPEN=false"},
		want: everywhere(none),
	},
	{
		// While a health check passes, no inventory takes the last ones away.
		name: "empty", what: "none left (`HEALTH_CHECK_MODE=off`)", members: []state{removed, removed, removed}, env: []string{"DRAIN_PERIOD=1s", "HEALTH_CHECK_MODE=off"},
		want: everywhere(none),
	},
}

// answers is the state of those that must answer a consumer.
func (s scenario) answers(consumer string) state {
	if want, ok := s.want[consumer]; ok {
		return want
	}
	return ready
}

// states are the states that the slices must have, one for each endpoint.
func (s scenario) states() []state {
	if s.outcome != nil {
		return s.outcome
	}
	return s.members
}

// in returns the numbers of the endpoints that are published in a state.
func (s scenario) in(want state) []int {
	var members []int
	for i, got := range s.states() {
		if got == want {
			members = append(members, i)
		}
	}
	return members
}

// has reports whether an endpoint is in the state.
func (s scenario) has(want state) bool { return slices.Contains(s.members, want) }
