package preflight

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// JudgeProbes judges the one health check of each candidate. results are in the order
// of the candidates.
func JudgeProbes(candidates []inventory.Candidate, results []inventory.Result) []Check {
	var checks []Check
	outcomes := make(map[inventory.Outcome]int)
	for i, c := range candidates {
		outcomes[results[i].Outcome]++
		checks = append(checks, judgeProbe(c, results[i]))
	}
	if n := len(candidates); n > 0 && outcomes[inventory.Pass] == 0 {
		checks = append([]Check{noneAnswers(n, outcomes)}, checks...)
	}
	return checks
}

func judgeProbe(c inventory.Candidate, r inventory.Result) Check {
	subject := c.Node.Name + " " + c.Address.String()
	if r.Outcome == inventory.Pass {
		return ProbesAddress.ok(subject, "%s, in %s", r.Message, r.Latency.Round(10*time.Microsecond))
	}
	result, remedy := Fail, "find out what this machine lacks: a route, or file descriptors"
	if c.Leaving {
		result = Warn // the node leaves anyway
	}
	for _, doc := range inventory.Reasons() {
		if doc.Reason == r.Reason {
			remedy = doc.Remedy
		}
	}
	check := ProbesAddress.check(result, subject, r.Message).remedied(remedy)
	check.Reason = string(r.Reason)
	if check.Reason == "" {
		check.Reason = r.Outcome.String() // LocalError, which is no reason of a node
	}
	return check
}

// noneAnswers tells a closed network from endpoints that do not listen.
func noneAnswers(candidates int, outcomes map[inventory.Outcome]int) Check {
	const subject = "all endpoints"
	all := "none of " + plural(candidates, "endpoint") + " passes"
	switch candidates {
	case outcomes[inventory.Silent]:
		return ProbesNone.fail(subject, "%s, and none answers at all: the way from this machine to the private network is closed, or the wrong network is configured", all).
			remedied("check the security group or firewall of the nodes, the NetworkPolicy of this Pod, and the routes between the two private networks")
	case outcomes[inventory.Refused]:
		return ProbesNone.fail(subject, "%s, and all refuse: the network is open, but the workload does not answer as expected", all).
			remedied("start the workload, or correct TARGET_PORT and the settings HEALTH_CHECK_*")
	case outcomes[inventory.LocalError]:
		return ProbesNone.fail(subject, "%s, because of an error of this machine", all).remedied("find out what this machine lacks: a route to the private network, or file descriptors")
	}
	return ProbesNone.fail(subject, "%s", all)
}
