package preflight

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// JudgeProbes says what one probe of each candidate learned. results are in the
// order of the candidates.
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
	result, remedy := Fail, "see what this machine lacks: a route, or file descriptors"
	if c.Leaving {
		result = Warn // it is about to go anyway
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

// noneAnswers tells apart a way that is closed from backends that are not there.
func noneAnswers(candidates int, outcomes map[inventory.Outcome]int) Check {
	const subject = "all candidates"
	all := "none of " + plural(candidates, "candidate") + " passes"
	switch candidates {
	case outcomes[inventory.Silent]:
		return ProbesNone.fail(subject, "%s, and none answers at all: the way from here to the private network is closed, or the wrong network was configured", all).
			remedied("look at the way: the security group or firewall of the nodes, the NetworkPolicy of this Pod, and the routes between the two private networks")
	case outcomes[inventory.Refused]:
		return ProbesNone.fail(subject, "%s, and all answer with a refusal: the way is open, and what is asked for is not there", all).
			remedied("start the workload, or correct TARGET_PORT and the settings HEALTH_CHECK_*")
	case outcomes[inventory.LocalError]:
		return ProbesNone.fail(subject, "%s, for a reason of this machine", all).remedied("see what this machine lacks: a route to the private network, or file descriptors")
	}
	return ProbesNone.fail(subject, "%s", all)
}
