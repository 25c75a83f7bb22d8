package preflight

import (
	"cmp"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// judgeProbes judges the one health check of each candidate. results are in the order
// of the candidates.
func judgeProbes(candidates []inventory.Candidate, results []inventory.Result) []Check {
	var checks []Check
	outcomes := make(map[inventory.Outcome]int)
	for i, c := range candidates {
		outcomes[results[i].Outcome]++
		checks = append(checks, judgeProbe(c, results[i]))
	}
	if n := len(candidates); n > 0 && outcomes[inventory.Pass] == 0 {
		checks = append([]Check{nonePasses(n, outcomes)}, checks...)
	}
	return checks
}

func judgeProbe(c inventory.Candidate, r inventory.Result) Check {
	subject := c.Node.Name + " " + c.Address.String()
	if r.Outcome == inventory.Pass {
		return ProbesAddress.ok(subject, "%s, in %s", r.Message, r.Latency.Round(10*time.Microsecond))
	}
	result := Fail
	if c.Leaving {
		result = Warn // the node leaves anyway
	}
	check := ProbesAddress.check(result, subject, r.Message).remedied(cmp.Or(r.Reason.Doc().Remedy, "find out what this machine lacks: a route, or file descriptors"))
	check.Reason = cmp.Or(string(r.Reason), r.Outcome.String()) // LocalError is no reason of a node
	return check
}

// nonePasses tells a closed network from endpoints that do not listen.
func nonePasses(candidates int, outcomes map[inventory.Outcome]int) Check {
	none := ProbesNone.fail("all endpoints", "%s, but no endpoint passes", plural(candidates, "endpoint"))
	switch candidates {
	case outcomes[inventory.Silent]:
		none.Message += ", and no endpoint answers at all: the way from this machine to the private network is closed, or the wrong network is configured"
		none.Remedy = "check the security group or firewall of the nodes, the NetworkPolicy of this Pod, and the routes between the two private networks"
	case outcomes[inventory.Refused]:
		none.Message += ", and all refuse: the network is open, but the workload does not answer as expected"
		none.Remedy = "start the workload, or correct TARGET_PORT and the settings HEALTH_CHECK_*"
	}
	return none
}
