package preflight

import (
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
)

// Invalid returns a check for each mistake in a configuration that could not be
// loaded.
func Invalid(err error) []Check {
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) {
		return []Check{ConfigurationValid.fail("configuration", "%v", err)}
	}
	checks := make([]Check, 0, len(mistakes))
	for _, m := range mistakes {
		subject := m.Variable
		if m.Value != "" {
			subject += fmt.Sprintf("=%.120q", m.Value)
		}
		checks = append(checks, ConfigurationValid.fail(subject, "%s", m.Rule).remedied(m.Remedy))
	}
	return checks
}

// OddWithDocuments is Odd for a configuration whose pools and targets are documents.
func OddWithDocuments(c config.Config) []Check {
	checks := append([]Check{ConfigurationValid.ok("configuration", "valid: DOCUMENTS_DIR=%s, STORE_KIND=%s", c.Documents.Dir, c.Store.Kind)}, unknown(c)...)
	if c.Run.DryRun {
		checks = append(checks, dryRun())
	}
	return checks
}

func dryRun() Check {
	return ConfigurationDryRun.warn("DRY_RUN=true", "the daemon decides and reports, but writes nothing")
}

// unknown warns of variables that look like ours and are not.
func unknown(c config.Config) []Check {
	var checks []Check
	for _, warning := range c.Warnings() {
		checks = append(checks, ConfigurationUnknown.warn(warning.Variable, "%s", warning.Rule).remedied(warning.Remedy))
	}
	return checks
}

// Odd returns a warning for each setting of a valid configuration that is seldom
// intended. inPod says that the program runs in a Pod.
func Odd(c config.Config, inPod bool) []Check {
	checks := []Check{ConfigurationValid.ok("configuration", "valid: SOURCE_KIND=%s, STORE_KIND=%s, Service %s/%s",
		c.Source.Kind, c.Store.Kind, c.Target.Namespace, c.Target.ServiceName)}
	checks = append(checks, unknown(c)...)
	for _, subnet := range c.Secured.Subnets {
		if subnet.Bits() == 0 {
			checks = append(checks, ConfigurationSubnet.warn("SECURED_SUBNET_CIDR="+subnet.String(), "every address is inside this subnet, so the filter accepts every address"))
		}
	}
	if c.Health.Mode == config.HealthOff {
		checks = append(checks, ConfigurationHealth.warn("HEALTH_CHECK_MODE=off", "every endpoint counts as passing, so a dead endpoint stays until the source leaves it out"))
	}
	if c.Guard.EmptyResultThreshold == 0 {
		checks = append(checks, ConfigurationThreshold.warn("EMPTY_RESULT_THRESHOLD=0", "no rejected inventory removes an endpoint, even if its node is really gone: the endpoint stays published, down"))
	}
	if c.Guard.MaxRemovalPercent == 100 {
		checks = append(checks, ConfigurationRemoval.warn("MAX_REMOVAL_PERCENT=100", "one wrong inventory may remove all endpoints except those that it lists"))
	}
	if inPod && !c.Leader.Election && c.Store.Kind != config.StoreMemory {
		checks = append(checks, ConfigurationElection.warn("LEADER_ELECTION=false", "this is right for exactly one Pod; a second one, also during a rolling update, would check and write too"))
	}
	if c.Run.DryRun {
		checks = append(checks, dryRun())
	}
	return checks
}

// Concurrency returns a warning if a round of checks of that many endpoints, all of
// them silent, could not finish within the interval, else nothing.
// Silent addresses get three quarters of the slots at most, as slow ones do.
func Concurrency(h config.Health, candidates int) []Check {
	if h.Mode == config.HealthOff {
		return nil
	}
	needed := int((time.Duration(candidates)*h.Timeout + h.Interval - 1) / h.Interval)
	slots := max(1, h.Concurrency*3/4)
	if needed <= slots {
		return nil
	}
	round := (time.Duration(candidates) * h.Timeout / time.Duration(slots)).Round(100 * time.Millisecond)
	return []Check{ConfigurationConcurrency.warn(fmt.Sprintf("HEALTH_CHECK_CONCURRENCY=%d", h.Concurrency),
		"if all of %s are silent, a round of checks takes about %s, longer than HEALTH_CHECK_INTERVAL=%s: a network that is cut off is noticed that much later",
		plural(candidates, "endpoint"), round, h.Interval).
		remedied(fmt.Sprintf("set HEALTH_CHECK_CONCURRENCY to at least %d, or a longer interval, or a shorter HEALTH_CHECK_TIMEOUT", (4*needed+2)/3))}
}
