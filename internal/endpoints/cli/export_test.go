package cli

import (
	"log/slog"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// WarnOfToken and WarnOfCredential are exported for their tests, in which weeks
// pass.
var (
	WarnOfToken      = warnOfToken
	WarnOfCredential = warnOfCredential
)

// AskLeaderFor is exported for what answers badly.
var AskLeaderFor = askLeaderFor

// Judge judges what one pool gives a Service.
func Judge(a *controller.Assessment, f *controller.AssessedFill) (Outcome, string) {
	return judgingOf(a, &controller.AssessedTarget{}, f, false).judge()
}

// OutcomeOf and Ended are exported for what no small world brings about.
var (
	OutcomeOf = outcomeOf
	Ended     = ended
)

// Free is exported for what only a failing source shows.
var Free = free

// Origin is where the nodes of a pool of documents come from.
func Origin(c settings.Config, pool *v1alpha1.EndpointPool) (controller.Origin, error) {
	b := &parts{config: c, log: slog.New(slog.DiscardHandler)}
	var err error
	if b.metrics, err = b.newMetrics(); err != nil {
		return controller.Origin{}, err
	}
	return b.origin(pool)
}

// Checking is how the endpoints of a pool of documents are checked.
func Checking(c settings.Config, pool *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
	b := &parts{config: c}
	var err error
	if b.metrics, err = b.newMetrics(); err != nil {
		return controller.GroupCheck{}, err
	}
	return b.checking(pool, check)
}

// FirstLabels is exported for more labels than a test gives to namespaces.
var FirstLabels = firstLabels

// SubnetsToTry is exported for contract 243.
var SubnetsToTry = subnetsToTry
