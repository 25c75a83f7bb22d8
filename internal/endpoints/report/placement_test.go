package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// follow lets the first group follow a remote Service.
func (p *platform) follow(placed pool.PlacementStatus) {
	g := &p.Snapshot.Groups[0]
	g.Remote = inventory.RemoteService{Namespace: "far", Name: "web"}
	g.State.Placed = placed
	for i := range p.Snapshot.Plan.Targets {
		p.Snapshot.Plan.Targets[i].Uses[0].Group = g.Group
	}
}

// Contract 236: every surface says what is wrong with the remote Service that is followed.
func TestContract236TheRemoteServiceIsShown(t *testing.T) {
	t.Parallel()
	three := &inventory.Placement{Ready: []string{"a", "b", "c"}, Found: true}
	at := time.Now().Add(-time.Hour).UTC()
	for name, c := range map[string]struct {
		placed    pool.PlacementStatus
		settled   bool
		condition report.Condition
		line      string
		reason    explain.NoticeReason
	}{
		"well":            {pool.PlacementStatus{Newest: three, LastSuccess: at}, true, report.Healthy, "far/web, ready Pods on 3 nodes", ""},
		"no difference":   {pool.PlacementStatus{Newest: three, LastSuccess: at, EveryNode: true}, true, report.Healthy, "ready Pods on 3 nodes; it forwards from every node", ""},
		"it just began":   {pool.PlacementStatus{LastErr: errors.New("no answer yet")}, false, report.Healthy, "ready Pods on 0 nodes", ""},
		"never read":      {pool.PlacementStatus{LastErr: errors.New("no answer yet")}, true, report.Degraded, "ready Pods on 0 nodes", explain.PlacementUnavailable},
		"not current":     {pool.PlacementStatus{Newest: three, LastSuccess: at, LastErr: errors.New("forbidden")}, true, report.Degraded, "ready Pods on 3 nodes", explain.PlacementUnavailable},
		"at once, so too": {pool.PlacementStatus{Newest: three, LastSuccess: at, LastErr: errors.New("forbidden")}, false, report.Degraded, "ready Pods on 3 nodes", explain.PlacementUnavailable},
	} {
		p := web(t, good(t))
		p.follow(c.placed)
		p.Snapshot.Groups[0].State.Settled = c.settled
		d, list := p.one("shop", "web"), p.Services(report.Query{})
		r, group := d.Source.RemoteService, list.Pools[0].Groups[0]
		if r == nil || !strings.Contains(r.String(), c.line) || r.Reason != string(c.reason) || d.Condition != c.condition {
			t.Errorf("%s: got %+v, %s, want %q, %q, %s", name, r, d.Condition, c.line, c.reason, c.condition)
			continue
		}
		if told := strings.Contains(strings.Join(d.Source.Warnings, ""), string(c.reason)+": "+errorText(c.placed.LastErr)); told != (c.reason != "") {
			t.Errorf("%s: got warnings %q", name, d.Source.Warnings)
		}
		if group.RemoteService == nil || group.RemoteService.Reason != r.Reason || (group.Problem == "") != (c.reason == "") || list.Pools[0].Source.RemoteService != nil {
			t.Errorf("%s: got group %+v and source %+v in the list, want the group to say it", name, group, list.Pools[0].Source)
		}
		if c.reason != "" && c.placed.Newest != nil && !r.Since.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s: got since %v, want %v", name, r.Since, at)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
