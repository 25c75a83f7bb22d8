package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contracts 83, 116 and 118: a restart writes no status where nothing changed; narrower bounds are a restart, so no version of the pools is known
// that was within them. What passes stays, what dies goes, and a version that counts again
// writes nothing.
func TestContract83And116ARestartWithNarrowerBoundsTakesNothingAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true})).inAPI()
	d := p.start()
	p.want()
	p.wantSettled()
	d.stop()
	p.restartsAtRest()

	wide := p.env["BOUNDS_SUBNETS"]
	p.env["BOUNDS_SUBNETS"] = "10.0.0.0/17"
	p.says(1, "check --only documents", "API server EndpointPool blue spec.subnets[0]=\"10.0.0.0/16\"", "is outside of BOUNDS_SUBNETS=10.0.0.0/17")
	before := p.slicesWritten()
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
	p.wantSlicesWritten(before, 4)
	d.stop()

	p.env["BOUNDS_SUBNETS"] = wide
	p.says(0, "check --only documents", "3 pools, 2 bindings")
	before = p.slicesWritten()
	d = p.start()
	p.wantCondition("endpointpool/blue", "SourceReady")
	p.wantCondition("endpointbinding/web", "Held=False")
	p.nodes[1].backends[0].kill()
	p.want("ready", "down")
	p.wantSlicesWritten(before, 2)
	d.stop()
}

// restartsAtRest starts a program whose slices and statuses are as they should be (Contract
// 83). It writes none of them, at the start and later: the only status is that of a pool
// that changes, when all others are known and compared, and again five seconds later.
func (p *platform) restartsAtRest() {
	p.t.Helper()
	written, told := p.slicesWritten(), len(p.statuses())
	d := p.start()
	p.wantRight(d, 3)
	for i := range 2 {
		const generation = `jsonpath={.status.observedGeneration} of {.metadata.generation}`
		p.write("", p.poolText("secret", p.nodes, "[elsewhere]", fmt.Sprintf("  releaseAfter: %dm\n", 30+i)))
		p.until(func() bool {
			is, of, _ := strings.Cut(p.kubectl("", "get", "endpointpool", "secret", "--output", generation), " of ")
			return is == of
		}, func() string { return "pool secret does not say what became of its change" })
	}
	for i, e := range p.statuses()[told:] {
		if e.Resource != "endpointpools" || e.Name != "secret" || i >= 2 {
			p.t.Errorf("got a write of a status, want only two of pool secret: %+v", e)
		}
	}
	p.wantSlicesWritten(written, 0)
	d.stop()
}
