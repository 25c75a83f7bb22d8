package cli

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// newMetrics makes what counts. It asks the parts only when it is scraped, and
// they are complete by then.
func (b *parts) newMetrics() (*metrics.Metrics, error) {
	return metrics.New(metrics.Options{
		Version: b.version, DryRun: b.dryRun,
		Broken: func(why string) {
			b.log.Error("some metrics cannot be shown; this is a mistake of the program, please report it", "error", why)
		},
		Snapshot: func() *controller.Snapshot { return b.server.Snapshot() },
		Leading:  func() bool { return b.leader.state().Leading },
		LoopAge:  func() time.Duration { return b.server.LoopAge() },
		Events: func() metrics.Events {
			if b.events == nil {
				return metrics.Events{}
			}
			return metrics.Events(b.events.Stats())
		},
		UnwrittenStatuses: func() int { return len(b.unwrittenObjects()) },
		LocalCredential:   func() metrics.Credential { return credentialOf(b.localExpiry()) },
	})
}

func credentialOf(expiry kube.Expiry) metrics.Credential {
	return metrics.Credential{Expires: expiry.Ends, Lifetime: expiry.Lifetime()}
}

// localExpiry returns when the credential of the local cluster that is in use expires. It is
// not known of a standby, which reads the credential again only when it leads.
func (b *parts) localExpiry() kube.Expiry {
	if b.expiry != nil && b.leader.state().Leading {
		return b.expiry()
	}
	return kube.Expiry{}
}
