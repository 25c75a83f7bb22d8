package explain_test

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// policy is the default configuration.
func policy() guard.Policy {
	return guard.Policy{
		Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
		Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
	}
}
