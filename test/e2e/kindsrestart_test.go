package e2e_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contracts 116 and 118: narrower bounds are a restart, so no version of the pools is known
// that was within them. What passes stays, what dies goes, and a version that counts again
// writes nothing.
func TestContract116ARestartWithNarrowerBoundsTakesNothingAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true})).inAPI()
	d := p.start()
	p.want()
	p.wantCondition("endpointbinding/web", "Ready")
	d.stop()

	wide := p.env["BOUNDS_SUBNETS"]
	p.env["BOUNDS_SUBNETS"] = "10.0.0.0/17"
	p.says(1, "check --only documents", "API server EndpointPool blue spec.subnets[0]=\"10.0.0.0/16\"", "is outside of BOUNDS_SUBNETS=10.0.0.0/17")
	before, _ := p.written()
	d = p.start()
	p.wantCondition("endpointpool/blue", "Accepted=False")
	p.wantCondition("endpointbinding/web", "Held")
	for object, want := range map[string]string{
		"endpointpool/blue Accepted":    "False OutsideBounds: spec.subnets[0]=",
		"endpointpool/blue SourceReady": "Unknown NotRead: the document has a mistake",
		"endpointbinding/web Held":      "True Invalid: pool blue: the document of its pool has a mistake",
		"endpointbinding/web Accepted":  "False Invalid: the document of pool blue has a mistake",
	} {
		name, condition, _ := strings.Cut(object, " ")
		if got := p.said(name, condition); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", object, got, want)
		}
	}
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.nodes[0].backends[0].start(t)
	p.want()
	if after, _ := p.written(); len(after) != len(before)+4 {
		t.Errorf("got %d writes of slices, want 4: %+v", len(after)-len(before), after[len(before):])
	}
	d.stop()

	p.env["BOUNDS_SUBNETS"] = wide
	p.says(0, "check --only documents", "DOCUMENTS_API=true", "3 pools, 2 bindings")
	before, _ = p.written()
	d = p.start()
	p.wantCondition("endpointpool/blue", "SourceReady")
	p.wantCondition("endpointbinding/web", "Held=False")
	p.nodes[1].backends[0].kill()
	p.want("ready", "down")
	if after, _ := p.written(); len(after) != len(before)+2 {
		t.Errorf("got %d writes of slices, want 2: %+v", len(after)-len(before), after[len(before):])
	}
	d.stop()
}
