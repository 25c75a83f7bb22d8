package preflight_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// closedWay is a way to an API server that cannot be gone.
type closedWay struct{ asked *int }

func (w closedWay) Snapshot() (*rest.Config, func() bool, error) {
	*w.asked++
	return nil, nil, errors.New("no kubeconfig")
}

func (w closedWay) Describe(err error) error { return err }

// askCounts counts what a preflight asked for.
type askCounts struct{ source, api, probes int }

// only looks at some areas of a world of one node, whose API server cannot be
// asked.
func only(t *testing.T, nodes []inventory.Node, err error, areas ...string) (preflight.Report, askCounts) {
	t.Helper()
	c := loaded(t)
	var got askCounts
	o := world(t, c, func(context.Context) ([]inventory.Node, error) {
		got.source++
		return nodes, err
	}, func(addr netip.Addr) inventory.Result {
		got.probes++
		return inventory.Result{Address: addr, Outcome: inventory.Refused, Reason: inventory.ProbeRefused, Message: "refused"}
	})
	o.Local, o.Only = closedWay{&got.api}, areas
	report := preflight.Run(t.Context(), o)
	return report, got
}

func TestOnlyTheAreasAskedForAreLookedAtAndCounted(t *testing.T) {
	t.Parallel()
	node := []inventory.Node{{Name: "w1", Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.11")}}}
	outside := []inventory.Node{{Name: "w1", Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr("192.168.0.1")}}}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		nodes  []inventory.Node
		err    error
		areas  []string
		checks []string
		asked  askCounts
	}{
		"a configuration asks for nothing": {node, nil, []string{"configuration"}, []string{"ok configuration-valid"}, askCounts{}},
		"a source without its nodes":       {node, nil, []string{"source"}, []string{"ok source-read"}, askCounts{source: 1}},
		"nodes without their source":       {node, nil, []string{"nodes"}, []string{"ok nodes-usable", "ok nodes-node"}, askCounts{source: 1}},
		"probes without source and nodes":  {node, nil, []string{"probes"}, []string{"fail api-reachable", "fail probes-none", "fail probes-address"}, askCounts{source: 1, api: 1, probes: 1}},
		"two areas, in the order of the page": {
			node, nil, []string{"nodes", "configuration"},
			[]string{"ok configuration-valid", "ok nodes-usable", "ok nodes-node"}, askCounts{source: 1},
		},
		"no probe without a source": {nil, broken, []string{"probes"}, []string{"fail source-read", "fail api-reachable", "skip probes-address"}, askCounts{source: 1, api: 1}},
		"no probe without a node":   {outside, nil, []string{"probes"}, []string{"fail nodes-usable", "fail api-reachable", "skip probes-address"}, askCounts{source: 1, api: 1}},
		"no slices without an API server": {
			nil, broken, []string{"slices"}, []string{"fail api-reachable", "skip slices-ours"}, askCounts{api: 1},
		},
		"a Service needs its source": {
			nil, broken, []string{"service"}, []string{"fail source-read", "fail api-reachable", "skip service-valid"}, askCounts{source: 1, api: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, asked := only(t, test.nodes, test.err, test.areas...)
			want(t, report.Checks, test.checks...)
			if asked != test.asked {
				t.Errorf("got %+v asked, want %+v", asked, test.asked)
			}
			if fails := strings.Contains(strings.Join(test.checks, " "), "fail"); report.OK == fails {
				t.Errorf("got ok=%t of %+v", report.OK, report.Checks)
			}
		})
	}
}

// several is a report with failures for one reason, for two, and without one.
func several() preflight.Report {
	at := func(id preflight.ID, area string, result preflight.Result, subject, message, reason, remedy string) preflight.Check {
		link := ""
		if remedy != "" {
			link = "https://example.com#" + string(id)
		}
		return preflight.Check{ID: id, Area: area, Result: result, Subject: subject, Message: message, Reason: reason, Remedy: remedy, Link: link}
	}
	return preflight.NewReport([]preflight.Check{
		at(preflight.NodesUsable, "nodes", "ok", "usable nodes", "1 of 4", "", ""),
		at(preflight.NodesNode, "nodes", "fail", "a", "a is outside", "OutsideSubnet", "extend the subnet"),
		at(preflight.NodesNode, "nodes", "ok", "b", "fine", "", ""),
		at(preflight.NodesNode, "nodes", "fail", "c", "c has none", "NoPrivateAddress", "give it one"),
		at(preflight.NodesNode, "nodes", "fail", "d", "d is outside", "OutsideSubnet", "extend the subnet"),
		at(preflight.APIReachable, "api", "skip", "local API server", "none is asked", "", ""),
		at(preflight.SlicesBeside, "slices", "warn", "slice x", "publishes 1", "", "find out"),
		at(preflight.SlicesBeside, "slices", "warn", "slice y", "publishes 2", "", "find out"),
	})
}

func TestARemedyIsPrintedOnceBelowAllThatItMends(t *testing.T) {
	t.Parallel()
	const full = `nodes
  ok    usable nodes: 1 of 4
  fail  a: OutsideSubnet: a is outside
  fail  d: OutsideSubnet: d is outside
        remedy: extend the subnet
        see:    https://example.com#nodes-node
  ok    b: fine
  fail  c: NoPrivateAddress: c has none
        remedy: give it one
        see:    https://example.com#nodes-node
api
  skip  local API server: none is asked
slices
  warn  slice x: publishes 1
  warn  slice y: publishes 2
        remedy: find out
        see:    https://example.com#slices-beside
3 failed, 2 warnings, 2 ok, 1 skipped.
`
	if diff := cmp.Diff(full, several().Text(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheShortFormHasWhatIsWrongAndCountsAll(t *testing.T) {
	t.Parallel()
	const short = `nodes
  fail  a: OutsideSubnet: a is outside
  fail  d: OutsideSubnet: d is outside
        remedy: extend the subnet
        see:    https://example.com#nodes-node
  fail  c: NoPrivateAddress: c has none
        remedy: give it one
        see:    https://example.com#nodes-node
slices
  warn  slice x: publishes 1
  warn  slice y: publishes 2
        remedy: find out
        see:    https://example.com#slices-beside
3 failed, 2 warnings, 2 ok, 1 skipped.
`
	report := several()
	if diff := cmp.Diff(short, report.Short().Text(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := report.Short(); len(got.Checks) != 5 || !cmp.Equal(got.Counts, report.Counts) || len(report.Checks) != 8 {
		t.Errorf("got %d of %d checks and %+v, want the 5 that are wrong, and all counted", len(got.Checks), len(report.Checks), got.Counts)
	}
}
