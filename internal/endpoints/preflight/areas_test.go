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

// asked counts what a preflight asked for.
type asked struct{ source, api, probes int }

// only looks at some areas of a world of one node, whose API server cannot be
// asked.
func only(t *testing.T, nodes []inventory.Node, err error, areas ...preflight.Section) (preflight.Report, asked) {
	t.Helper()
	c := loaded(t)
	var got asked
	o := world(t, c, func(context.Context) ([]inventory.Node, error) {
		got.source++
		return nodes, err
	}, func(addr netip.Addr) inventory.Result {
		got.probes++
		return inventory.Result{Address: addr, Outcome: inventory.Refused, Reason: inventory.ProbeRefused, Message: "refused"}
	})
	o.Local, o.Only = closedWay{&got.api}, areas
	report := preflight.Run(t.Context(), o)
	got.api-- // one request for the secrets, for any number of objects
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
		areas  []preflight.Section
		checks []string
		asked  asked
	}{
		"a configuration asks for nothing": {node, nil, []preflight.Section{preflight.Configuration}, []string{"ok configuration-valid"}, asked{}},
		"a source without its nodes":       {node, nil, []preflight.Section{preflight.Source}, []string{"ok source-read"}, asked{source: 1}},
		"nodes without their source":       {node, nil, []preflight.Section{preflight.Nodes}, []string{"ok nodes-usable", "ok nodes-node"}, asked{source: 1}},
		"probes without source and nodes":  {node, nil, []preflight.Section{preflight.Probes}, []string{"fail probes-none", "fail probes-address"}, asked{source: 1, probes: 1}},
		"two areas, in the order of the page": {
			node, nil, []preflight.Section{preflight.Nodes, preflight.Configuration},
			[]string{"ok configuration-valid", "ok nodes-usable", "ok nodes-node"}, asked{source: 1},
		},
		"no probe without a source": {nil, broken, []preflight.Section{preflight.Probes}, []string{"fail source-read", "skip probes-address"}, asked{source: 1}},
		"no probe without a node":   {outside, nil, []preflight.Section{preflight.Probes}, []string{"fail nodes-usable", "skip probes-address"}, asked{source: 1}},
		"no slices without an API server": {
			nil, broken, []preflight.Section{preflight.Slices}, []string{"fail api-access", "skip slices-ours"}, asked{api: 1},
		},
		"a Service is judged without the source, which counts for nothing": {
			nil, broken, []preflight.Section{preflight.Service}, []string{"skip source-read", "fail api-access", "skip service-present"}, asked{source: 1, api: 1},
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
	at := func(id preflight.ID, section preflight.Section, result preflight.Result, subject, message, reason, remedy string) preflight.Check {
		link := ""
		if remedy != "" {
			link = "https://example.com#" + string(id)
		}
		return preflight.Check{ID: id, Section: section, Result: result, Subject: subject, Message: message, Reason: reason, Remedy: remedy, Link: link}
	}
	return preflight.NewReport([]preflight.Check{
		at(preflight.NodesUsable, preflight.Nodes, "ok", "usable nodes", "1 of 4", "", ""),
		at(preflight.NodesNode, preflight.Nodes, "fail", "a", "a is outside", "OutsideSubnet", "extend the subnet"),
		at(preflight.NodesNode, preflight.Nodes, "ok", "b", "fine", "", ""),
		at(preflight.NodesNode, preflight.Nodes, "fail", "c", "c has none", "NoPrivateAddress", "give it one"),
		at(preflight.NodesNode, preflight.Nodes, "fail", "d", "d is outside", "OutsideSubnet", "extend the subnet"),
		at(preflight.APIReachable, preflight.API, "skip", "local API server", "none is asked", "", ""),
		at(preflight.SlicesBeside, preflight.Slices, "warn", "slice x", "publishes 1", "", "find out"),
		at(preflight.SlicesBeside, preflight.Slices, "warn", "slice y", "publishes 2", "", "find out"),
	})
}

func TestARemedyIsPrintedOnceBelowAllThatItMends(t *testing.T) {
	t.Parallel()
	const full = `Nodes and subnet
  ok    usable nodes: 1 of 4
  fail  a: OutsideSubnet: a is outside
  fail  d: OutsideSubnet: d is outside
        remedy for these 2: extend the subnet
        see:    https://example.com#nodes-node
  ok    b: fine
  fail  c: NoPrivateAddress: c has none
        remedy: give it one
        see:    https://example.com#nodes-node

Local API server
  skip  local API server: none is asked

Slices
  warn  slice x: publishes 1
  warn  slice y: publishes 2
        remedy for these 2: find out
        see:    https://example.com#slices-beside

3 of 7 checks failed, 2 warnings, 1 skipped.
`
	if diff := cmp.Diff(full, several().Text(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheShortFormHasALineForEachAreaAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	const short = `fail  nodes   3 failed, 2 ok
  fail  a, d: OutsideSubnet, for example: a is outside
        remedy for these 2: extend the subnet
  fail  c: NoPrivateAddress: c has none
        remedy: give it one
skip  api     none is asked
warn  slices  2 warnings
  warn  slice x: publishes 1
  warn  slice y: publishes 2
        remedy for these 2: find out

3 of 7 checks failed, 2 warnings, 1 skipped.
`
	report := several()
	if diff := cmp.Diff(short, report.ShortText(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := report.Short(); len(got.Checks) != 5 || got.Counts != report.Counts || len(report.Checks) != 8 {
		t.Errorf("got %d of %d checks and %+v, want the 5 that are wrong, and all counted", len(got.Checks), len(report.Checks), got.Counts)
	}
	var nodes []preflight.Check
	for name := range strings.SplitSeq("a b c d e f g", " ") {
		nodes = append(nodes, preflight.Check{ID: preflight.ProbesAddress, Section: preflight.Probes, Result: "fail", Subject: name, Message: "no", Reason: "ProbeSilent", Remedy: "look"})
	}
	if text := preflight.NewReport(nodes).ShortText(false); !strings.Contains(text, "  fail  a, b, c, d, e and 2 more: ProbeSilent: no\n        remedy for these 7: look\n") {
		t.Errorf("got no line for all seven in\n%s", text)
	}
}

func TestTheShortFormIsInertAsWell(t *testing.T) {
	t.Parallel()
	text := preflight.NewReport([]preflight.Check{
		{ID: preflight.ProbesAddress, Section: preflight.Probes, Result: preflight.Fail, Subject: "w\x1b[2J", Message: "x\nfail  forged", Remedy: "y\x07"},
		{ID: preflight.APIReachable, Section: preflight.API, Result: preflight.Skip, Message: "z\x1b]0;owned\x07"},
	}).ShortText(false)
	if strings.ContainsAny(text, "\x1b\x07") || strings.Contains(text, "\nfail  forged") {
		t.Errorf("got %q", text)
	}
}
