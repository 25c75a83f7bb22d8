package preflight_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

func TestContract231CheckSaysHowManyReplicasLookAndWhere(t *testing.T) {
	t.Parallel()
	now := time.Now()
	line := func(leader, replica, node string) string {
		return `{"version":"1","leader":"` + leader + `","replica":"` + replica + `","identity":"` + replica + `_1","node":"` + node + `"}`
	}
	for name, c := range map[string]struct {
		node   string
		ago    time.Duration
		lines  []string
		result preflight.Result
		says   string
	}{
		"one":                  {node: "a", result: "ok", says: "1: x_1 leads (a); no other replica can be asked"},
		"on two nodes":         {node: "a", lines: []string{line("x_1", "y", "b")}, result: "ok", says: "2: x_1 leads (a), y stands by (b)"},
		"on one node":          {node: "a", lines: []string{line("x_1", "y", "a"), line("x_1", "z", "a")}, result: "warn", says: "3: x_1 leads (a), y stands by (a), z stands by (a); all are on one node"},
		"two on one of two":    {node: "a", lines: []string{line("x_1", "y", "a"), line("x_1", "z", "b")}, result: "ok", says: "3: "},
		"on unknown nodes":     {lines: []string{line("x_1", "y", "")}, result: "ok", says: "2: x_1 leads (node not known), y stands by (node not known)"},
		"another leader's":     {node: "a", lines: []string{line("w_1", "y", "b"), line("x_1", "x", "a"), "what?"}, result: "ok", says: "1: x_1 leads"},
		"gone for two minutes": {node: "a", ago: 2 * time.Minute, lines: []string{line("x_1", "y", "b")}, result: "skip", says: "no replica leads"},
	} {
		seen := lease.Replicas{Holder: "x_1", Node: c.node, Renewed: now.Add(-c.ago), Lines: map[string]string{}}
		for _, text := range c.lines {
			seen.Lines[text] = text
		}
		got := preflight.JudgeReplicas("replicas", seen, now)
		want(t, []preflight.Check{got}, string(c.result)+" api-replicas")
		if !strings.HasPrefix(got.Message, c.says) {
			t.Errorf("%s: got %q, want %q", name, got.Message, c.says)
		}
	}
	want(t, []preflight.Check{preflight.JudgeReplicas("replicas", lease.Replicas{}, now)}, "skip api-replicas")
}

func TestContract231CheckSaysWhyReplicasAreNotKnown(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"LEADER_ELECTION=true", "LEADER_ELECTION_NAMESPACE=infra", "LEADER_ELECTION_NAME=it"}
	for name, c := range map[string]struct {
		changes   []string
		namespace string
		result    preflight.Result
		says      string
	}{
		"no election":          {nil, "", "ok", "LEADER_ELECTION=false: no other replica can be asked"},
		"unreadable":           {elsewhere, "", "warn", "list lease infra/it: "},
		"of another namespace": {elsewhere, "shop", "skip", "not looked at, because of --namespace"},
	} {
		server := newCluster(t, map[string][]string{"shop": {serviceIn("shop", "web", "")}}, "")
		o := world(t, loaded(t, c.changes...), func(context.Context) ([]inventory.Node, error) { return nodes("10.0.0.11"), nil }, passes)
		o.Local, o.Namespace = kube.Fixed(&rest.Config{Host: server.url, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}), c.namespace
		if report := preflight.Run(t.Context(), o); !says(report.Checks, c.result, preflight.APIReplicas, c.says) {
			t.Errorf("%s: got no %s with %q in\n%s", name, c.result, c.says, report.Text(false))
		}
	}
}
