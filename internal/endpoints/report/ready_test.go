package report_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// TestANodeIsReadyByTheAddressesThatAreInASlice: one that is not eligible, such as the public
// one, says nothing of it.
func TestANodeIsReadyByTheAddressesThatAreInASlice(t *testing.T) {
	node := func(address, state string) report.Node {
		return report.Node{Pool: "blue", Address: address, State: state}
	}
	for name, test := range map[string]struct {
		nodes []report.Node
		want  int
	}{
		"ready, and the public address is not eligible": {[]report.Node{node("10.0.0.1", "ready"), node("203.0.113.1", "absent")}, 1},
		"ready, and the other family is down":           {[]report.Node{node("10.0.0.1", "ready"), node("fd00::1", "down")}, 0},
		"in no slice":                                   {[]report.Node{node("203.0.113.1", "absent")}, 0},
		"another node has its address":                  {[]report.Node{node("10.0.0.1", "draining"), node("10.0.0.1", "ready")}, 1},
	} {
		e := report.Explanation{Services: []report.ExplainedService{{Nodes: test.nodes}}}
		if got := e.ReadyIn(); got != test.want {
			t.Errorf("%s: got %d Services, want %d", name, got, test.want)
		}
	}
}
