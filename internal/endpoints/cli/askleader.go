package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// leaderTimeout is how long the leader may take to answer a standby, whose own answer
// is waited for by askTimeout.
const leaderTimeout = 2 * time.Second

// leaderAnswer gets what the replica that holds the lease answers to a path below
// page.LeaderPath. It reports false where this process leads, or where none is known to.
func (b *parts) leaderAnswer(ctx context.Context, path string, into report.Answer) (bool, error) {
	leader := b.leader.state()
	if leader.Leading || leader.Holder == "" {
		return false, nil
	}
	err := askLeaderFor(ctx, leader, b.leader.name, path, into)
	return err == nil, err
}

// askLeaderFor gets what the replica that holds the lease answers to a path, for the
// standby of that name to hand on, within leaderTimeout. It says of what goes wrong where.
func askLeaderFor(ctx context.Context, leader lease.State, by, path string, into report.Answer) error {
	if !leader.Address.IsValid() {
		return errors.New("the lease does not say where the leader answers: the leader runs with --once, or has an older version")
	}
	if leader.Protocol != lease.Protocol {
		return fmt.Errorf("the leader answers other replicas in version %q, this replica asks in version %q; wait for the update to end", leader.Protocol, lease.Protocol)
	}
	at := "http://" + leader.Address.String() + page.LeaderPath + path
	err := ask(ctx, at, leader.Holder, leaderTimeout, into)
	if err == nil && !into.HandOn(by, leader.Holder) {
		err = fmt.Errorf("%s: the answer is not from %s", at, leader.Holder)
	}
	var none *report.NoService
	switch {
	case err == nil, errors.As(err, &none):
		return err
	case leader.Address.Addr().IsLoopback():
		return fmt.Errorf("ask the leader at %w. Only its own machine reaches that address; set METRICS_ADDRESS to one that the other replicas reach", err)
	}
	return fmt.Errorf("ask the leader at %w", err)
}
