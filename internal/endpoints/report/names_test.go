package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// nodesAndMode is a pool whose nodes and mode tell of settings.
func nodesAndMode(t *testing.T) *report.Status {
	const text = "HEALTH_CHECK_MODE=off, MAX_REMOVAL_PERCENT=50"
	status := good(t)
	status.Verdict.Message, status.Findings[0].Message = text, text
	return status
}

// Contract 117: JSON names who decided the check: the pool, the binding, or the Service by
// its annotations, and an annotation only where the Service has a check of its own. Who
// adds a text to the document names the same.
func TestContract117TheDocumentNamesWhoDecidedTheCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by, checkBy naming.Kind
		want        string
	}{
		"a binding":                {naming.Binding, naming.Pool, "EndpointPool blue spec.healthCheck.mode=None"},
		"a binding with a check":   {naming.Binding, naming.Binding, "EndpointBinding shop/web spec.healthCheck.mode=None"},
		"annotations":              {naming.Service, naming.Pool, "EndpointPool blue spec.healthCheck.mode=None"},
		"annotations with a check": {naming.Service, naming.Service, "Service shop/web endpoints.ablmnzde.github.io/health-check-mode=None"},
	} {
		p := newPlatform(t).pool("blue", nodesAndMode(t)).target("shop", "web", "blue")
		planned, _ := p.last()
		planned.Uses[0].By, planned.Uses[0].CheckBy = c.by, c.checkBy
		want := c.want + ", EndpointPool blue spec.guard.maxRemovalPercent=50"
		explained := p.Explain("10.100.100.1", report.Query{}).Services[0].Nodes[0].Message
		d := p.one("shop", "web")
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back report.Document
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		for where, got := range map[string]string{
			"a node": d.Nodes[0].Message, "the mode": d.Message, "its pool": d.Pools[0].Message, "what is explained everywhere": explained,
			"the list of pools": p.Services(report.Query{}).Pools[0].Message,
			"an added text":     back.Names("").Of("HEALTH_CHECK_MODE=off, MAX_REMOVAL_PERCENT=50"),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s, %s: got %q, want %q", name, where, got, want)
			}
		}
		if want := `"healthCheckBy":"` + string(c.checkBy) + `"`; !strings.Contains(string(text), want) {
			t.Errorf("%s: got no %s in %s", name, want, text)
		}
	}
}

// Contract 117: of several pools the one is named that a text is about; without one it is
// that whose mode the document tells.
func TestContract117TheWorstPoolDecidesWhatTheWholeDocumentTells(t *testing.T) {
	t.Parallel()
	p := newPlatform(t).pool("blue", nodesAndMode(t)).pool("green", failing(t)).target("shop", "web", "blue", "green")
	d := p.one("shop", "web")
	if d.Pool != "green" || d.Message != part(d, "green").Message {
		t.Fatalf("got pool %q and %q, want green, of which nothing passes", d.Pool, d.Message)
	}
	for pool, want := range map[string]string{"": "green", "blue": "blue", "green": "green"} {
		if got := d.Names(pool).Of("MAX_REMOVAL_PERCENT"); got != "EndpointPool "+want+" spec.guard.maxRemovalPercent" {
			t.Errorf("%q: got %q, want that of pool %s", pool, got, want)
		}
	}
}

// part is one pool of a document.
func part(d *report.Document, name string) (of report.PoolPart) {
	for _, p := range d.Pools {
		if p.Name == name {
			of = p
		}
	}
	return of
}

// Contract 117: what an older daemon says is still explained, as far as it tells who decided.
func TestContract117ADocumentWithoutTheNameIsNamedAsFarAsItSays(t *testing.T) {
	t.Parallel()
	d := &report.Document{Service: report.Service{Namespace: "shop", Name: "web", Spelling: naming.Fields}, Pools: []report.PoolPart{{PoolUse: report.PoolUse{Name: "blue"}}}}
	if got := d.Names("").Of("HEALTH_CHECK_PATH, HEALTH_CHECK_FALL"); got != "spec.healthCheck.path, EndpointPool blue spec.healthCheck.fall" {
		t.Errorf("got %q", got)
	}
}
