package preflight

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Invalid returns a check for each mistake in a configuration that could not be
// loaded.
func Invalid(err error) []Check {
	var mistakes settings.Mistakes
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

// Odd returns a warning for each setting of a valid configuration that is seldom
// intended. inPod says that the program runs in a Pod.
func Odd(c settings.Config, set documents.Set, inPod bool) []Check {
	text := fmt.Sprintf("valid: SOURCE_KIND=%s, STORE_KIND=%s, Service %s/%s", c.Source.Kind, c.Store.Kind, c.Target.Namespace, c.Target.ServiceName)
	if !set.Variables {
		text = fmt.Sprintf("valid: %s, STORE_KIND=%s", strings.ReplaceAll(placeOf(c.Documents), " ", ", "), c.Store.Kind)
	}
	checks := []Check{ConfigurationValid.ok("configuration", "%s", text)}
	for _, warning := range c.Warnings() {
		checks = append(checks, ConfigurationUnknown.warn(warning.Variable, "%s", warning.Rule).remedied(warning.Remedy))
	}
	if inPod && !c.Leader.Election && c.Store.Kind != settings.StoreMemory {
		checks = append(checks, ConfigurationElection.warn("LEADER_ELECTION=false", "this is right for exactly one Pod; a second one, also during a rolling update, would check and write too"))
	}
	if c.Run.DryRun {
		checks = append(checks, ConfigurationDryRun.warn("DRY_RUN=true", "the daemon decides and reports, but writes nothing"))
	}
	return checks
}

// OddPool is the same of the settings of a pool, with its defaults.
func OddPool(pool *v1alpha1.EndpointPool) []Check {
	var checks []Check
	for _, subnet := range pool.Spec.Subnets {
		if strings.HasSuffix(subnet, "/0") {
			checks = append(checks, ConfigurationSubnet.warn("SECURED_SUBNET_CIDR="+subnet, "every address is inside this subnet, so the filter accepts every address"))
		}
	}
	if pool.Spec.HealthCheck.Mode == v1alpha1.HealthCheckNone {
		checks = append(checks, ConfigurationHealth.warn("HEALTH_CHECK_MODE=off", "every endpoint counts as passing, so a dead endpoint stays until the source leaves it out"))
	}
	if *pool.Spec.Guard.EmptyResultThreshold == 0 {
		checks = append(checks, ConfigurationThreshold.warn("EMPTY_RESULT_THRESHOLD=0", "no rejected inventory removes an endpoint, even if its node is really gone: the endpoint stays published, down"))
	}
	if *pool.Spec.Guard.MaxRemovalPercent == 100 {
		checks = append(checks, ConfigurationRemoval.warn("MAX_REMOVAL_PERCENT=100", "one wrong inventory may remove all endpoints except those that it lists"))
	}
	return checks
}
