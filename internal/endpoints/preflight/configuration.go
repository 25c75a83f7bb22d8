package preflight

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
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

// unusual returns a warning for each setting of a valid configuration that is seldom
// intended. inPod says that the program runs in a Pod.
func unusual(c settings.Config, inPod bool) []Check {
	checks := []Check{ConfigurationValid.ok("configuration", "valid, STORE_KIND=%s", c.Store.Kind)}
	for _, warning := range c.Warnings() {
		checks = append(checks, ConfigurationUnusual.warn(warning.Variable, "%s", warning.Rule).remedied(warning.Remedy))
	}
	if inPod && !c.Leader.Election && c.Store.Kind != settings.StoreMemory {
		checks = append(checks, ConfigurationUnusual.warn("LEADER_ELECTION=false", "this is right for exactly one Pod; a second one, also during a rolling update, would check and write too").
			remedied("set LEADER_ELECTION=true, or keep one replica and the strategy Recreate"))
	}
	if c.Run.DryRun {
		checks = append(checks, ConfigurationUnusual.warn("DRY_RUN=true", "the daemon decides and reports, but writes nothing").remedied("remove DRY_RUN to let the daemon write"))
	}
	return checks
}

// unusualPool is the same of the settings of a pool.
func unusualPool(pool *v1alpha1.EndpointPool) []Check {
	var checks []Check
	for _, subnet := range pool.Spec.Subnets {
		if strings.HasSuffix(subnet, "/0") {
			checks = append(checks, ConfigurationUnusual.warn("SECURED_SUBNET_CIDR="+subnet, "every address is inside this subnet, so the filter accepts every address").
				remedied("set it to the private network of the remote nodes"))
		}
	}
	if pool.Spec.HealthCheck.Mode == v1alpha1.HealthCheckNone {
		checks = append(checks, ConfigurationUnusual.warn("HEALTH_CHECK_MODE=off", "every endpoint counts as passing, so a dead endpoint stays until the source leaves it out").
			remedied("set HEALTH_CHECK_MODE to tcp, http or https unless something else checks the endpoints"))
	}
	return checks
}
