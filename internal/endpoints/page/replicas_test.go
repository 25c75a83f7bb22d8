package page_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestContract240ThePageSaysThatReplicasDisagree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.set(func() {
		w.doc.Nodes = []report.Node{{Name: "a", State: "ready", Reason: "ReadyElsewhere"}, {Name: "b", State: "ready", Reason: "Ready"}}
		w.doc.Leader, w.doc.Election.Enabled, w.doc.Election.Node = true, true, "node-1"
		w.doc.Election.Replicas = []report.Replica{{Name: "pod-b", Reaches: 3, Since: time.Now().Add(-time.Minute)}}
	})
	says(t, w.page("").body, "Replicas disagree", "replicas 2: the leader (node-1), pod-b (node not known); pod-b reaches 3", "1 endpoint does not answer the leader", "pod-b reaches 3 since", "health-checks.md#ionosendpointslicereplicasdisagree")
}
