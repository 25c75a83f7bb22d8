package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/admin"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// leaderTimeout is how long the leader may take to answer a standby, whose own answer
// is waited for by askTimeout.
const leaderTimeout = 2 * time.Second

// askLeader returns the document of the replica that holds the lease, for a standby to
// hand on (ADR 30).
func askLeader(ctx context.Context, leader election.State, target config.Target) (*report.Document, error) {
	if !leader.Address.IsValid() {
		return nil, errors.New("the lease does not say where the leader answers: the leader runs with --once, or has an older version")
	}
	url := "http://" + leader.Address.String() + admin.LeaderPath
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	v, err := fetch(ctx, url, leader.Holder, target)
	switch {
	case err != nil && leader.Address.Addr().IsLoopback():
		return nil, fmt.Errorf("ask the leader at %s: %w. Only its own machine reaches that address; set METRICS_ADDRESS to one that the other replicas reach", url, brief(err, leaderTimeout))
	case err != nil:
		return nil, fmt.Errorf("ask the leader at %s: %w", url, brief(err, leaderTimeout))
	case !v.document.Leader || v.document.Election.Holder != leader.Holder:
		return nil, fmt.Errorf("ask the leader at %s: the answer is not from %s", url, leader.Holder)
	}
	return v.document, nil
}
