package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contract 211: the API server has a binding in the old form, from before the definition was
// upgraded. The other documents count. What the binding published stays and is checked, and
// neither a start nor the new form writes a slice.
func TestContract211ABindingThatIsStoredInTheOldForm(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true})).inAPI()
	d := p.start()
	p.want()
	p.wantSettled()
	d.stop()

	p.define(bindingKind, func(schema map[string]any) {
		pools := within(t, schema, "properties", "spec", "properties", "pools")
		pools["items"], pools["x-kubernetes-list-type"] = map[string]any{"type": "string", "maxLength": 63}, "set"
		delete(pools, "x-kubernetes-list-map-keys")
	})
	now := p.bindingText("web", "blue")
	old := strings.Replace(now, "{name: blue}", "blue", 1)
	p.until(func() bool { // the definition is in force some moments later
		_, err := p.kubectlTries(old, "apply", "--filename", "-")
		return err == nil
	}, func() string { return "the API server still refuses the old form" })
	p.install()
	p.until(func() bool {
		_, err := p.kubectlTries("", "get", "endpointbindings", "--all-namespaces")
		return err == nil
	}, func() string { return "the API server does not list bindings" })

	const rule, remedy = "spec.pools: is a list of names, and each pool is a group of fields", "write pools: [{name: blue}]"
	p.says(1, "check --only documents", "API server EndpointBinding "+p.namespace+"/web "+rule, remedy)
	before := p.slicesWritten()
	d = p.start()
	for !strings.Contains(fmt.Sprint(d.says("mistake in a document")["message"]), rule+"; "+remedy) {
	}
	p.wantRight(d, 3)
	p.wantCondition("endpointbinding/web", "Accepted=False")
	if got := p.said("endpointbinding/web", "Accepted"); !strings.HasPrefix(got, "False Invalid: "+rule+"; "+remedy) {
		t.Errorf("got %q", got)
	}
	p.wantSlicesWritten(before, 0)
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.wantSlicesWritten(before, 2)

	p.until(func() bool {
		_, err := p.kubectlTries(now, "apply", "--filename", "-")
		return err == nil
	}, func() string { return "the API server refuses the new form" })
	p.wantCondition("endpointbinding/web", "Held=False")
	p.wantSlicesWritten(before, 2)
	p.nodes[0].backends[0].start(t)
	p.want()
	p.wantSlicesWritten(before, 4)
	d.stop()
}
