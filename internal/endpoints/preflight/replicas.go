package preflight

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// alone is what follows from one replica.
const alone = "no other replica can be asked about an endpoint that does not answer"

// askReplicas asks how many replicas look at the endpoints, and where they run.
func (l *look) askReplicas(ctx context.Context) Check {
	leader := l.Config.Leader
	subject := "replicas of lease " + leader.Namespace + "/" + leader.Name
	switch {
	case !leader.Election:
		return APIReplicas.ok("replicas", "1, because LEADER_ELECTION=false: %s", alone)
	case l.Namespace != "" && l.Namespace != leader.Namespace:
		return APIReplicas.skip(subject, "not looked at, because of --namespace")
	}
	seen, err := lease.Look(ctx, l.local.client, leader.Namespace, leader.Name)
	if err != nil {
		return APIReplicas.warn(subject, "not known, and %s: %v", alone, err)
	}
	return judgeReplicas(subject, seen, time.Now())
}

// judgeReplicas says how many replicas look. All on one node see the same.
func judgeReplicas(subject string, seen lease.Replicas, now time.Time) Check {
	if seen.Holder == "" || now.Sub(seen.Renewed) > time.Minute { // by two clocks
		return APIReplicas.skip(subject, "no replica leads now, so no replica looks")
	}
	const unknown = "node not known"
	count, together, all := 1, seen.Node != "", fmt.Sprintf("%s leads (%s)", seen.Holder, cmp.Or(seen.Node, unknown))
	for _, key := range slices.Sorted(maps.Keys(seen.Lines)) {
		if line, ok := peers.ParseLine(seen.Lines[key]); ok && line.Leader == seen.Holder && line.Identity != seen.Holder {
			all += fmt.Sprintf(", %s stands by (%s)", line.Replica, cmp.Or(line.Node, unknown))
			count, together = count+1, together && line.Node == seen.Node
		}
	}
	switch {
	case count == 1:
		all += "; " + alone
	case together:
		return APIReplicas.warn(subject, "%d: %s; all are on one node, so they lose their network together", count, all)
	}
	return APIReplicas.ok(subject, "%d: %s", count, all)
}
