package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

func TestContract231CheckLooksAtEachRemoteServiceThatIsFollowed(t *testing.T) {
	t.Parallel()
	local := func(change func(*inventory.Placement)) preflight.PlacementAnswer {
		p := &inventory.Placement{Ready: []string{"node-1"}, Found: true, Local: true, NodePorts: []uint16{8080}}
		change(p)
		return preflight.PlacementAnswer{Placement: p, Owner: func(port uint16) string {
			if port == 8080 {
				return "other"
			}
			return ""
		}}
	}
	const checked, skipped = "ok probes-address", "skip probes-address"
	for name, test := range map[string]struct {
		is     preflight.PlacementAnswer
		checks []string
		says   string
	}{
		"as it should be": {local(func(*inventory.Placement) {}), []string{"ok nodes-remote-service", checked, skipped}, "has ready Pods on 1 node"},
		"no right": {preflight.PlacementAnswer{Err: errors.New("it is forbidden; grant the user of SECURED_KUBECONFIG list and watch")},
			[]string{"fail nodes-remote-service", skipped, skipped, skipped}, "it is forbidden"},
		"it is not there": {local(func(p *inventory.Placement) { *p = inventory.Placement{} }),
			[]string{"fail nodes-remote-service", skipped, skipped, skipped}, "the Service does not exist"},
		"policy Cluster": {local(func(p *inventory.Placement) { p.Local = false }),
			[]string{"warn nodes-remote-service", checked, checked}, "following the Service has no effect"},
		"hostPort": {local(func(p *inventory.Placement) { p.Local, p.NodePorts = false, nil }),
			[]string{"ok nodes-remote-service", checked, skipped}, "has ready Pods on 1 node"},
		"another Service has the nodePort": {local(func(p *inventory.Placement) { p.NodePorts = []uint16{30081} }),
			[]string{"fail nodes-remote-service", checked, skipped}, "port 8080 is not one of its nodePorts, which are [30081]; Service other of the namespace has it"},
		"no ready Pod": {local(func(p *inventory.Placement) { p.Ready = nil }),
			[]string{"warn nodes-remote-service", skipped, skipped, skipped}, "no ready Pod on any node"},
		"a node that the inventory does not list": {local(func(p *inventory.Placement) { p.Ready = []string{"node-1", "node-9"} }),
			[]string{"warn nodes-remote-service", checked, skipped}, "1 node that the inventory does not list: node-9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, followed(t, test.is), test.checks...)
			if got := followed(t, test.is)[0]; got.Subject != "remote Service shop/web" || !strings.Contains(got.Message, test.says) {
				t.Errorf("got %+v, want %q", got, test.says)
			}
		})
	}
	want(t, followed(t, preflight.PlacementAnswer{}), "fail nodes-remote-service", skipped, skipped, skipped) // without a way
	is := local(func(p *inventory.Placement) { p.NodePorts = []uint16{30081} })
	is.Owner = func(uint16) string { return "" }
	if got := followed(t, is)[0]; got.Result != preflight.Warn || !strings.Contains(got.Message, "port 8080 is not one of its nodePorts") {
		t.Errorf("got %+v, want a warning: it may be a hostPort", got)
	}
}

// followed are the checks of a remote Service and of its probes, of two nodes.
func followed(t *testing.T, is preflight.PlacementAnswer) []preflight.Check {
	t.Helper()
	listed, _ := on("10.0.0.11", "10.0.0.12")
	o := world(t, loaded(t, "STORE_KIND=memory", "SOURCE_KIND=kubernetes", "STATIC_NODES=", "SECURED_KUBECONFIG=/remote", "REMOTE_SERVICE=shop/web"),
		func(context.Context) ([]inventory.Node, error) { return listed, nil }, passes)
	source := o.Source
	o.Source = func(pool *v1alpha1.EndpointPool) (preflight.Origin, error) {
		origin, err := source(pool)
		if is.Owner == nil && is.Err == nil {
			return origin, err
		}
		origin.Follow = func(_ context.Context, remotes []inventory.RemoteService) map[inventory.RemoteService]preflight.PlacementAnswer {
			if fmt.Sprint(remotes) != "[shop/web]" {
				t.Errorf("asked for %v", remotes)
			}
			return map[inventory.RemoteService]preflight.PlacementAnswer{remotes[0]: is}
		}
		return origin, err
	}
	o.Only = []string{"nodes", "probes"}
	var found []preflight.Check
	for _, c := range preflight.Run(t.Context(), o).Checks {
		if c.ID == preflight.NodesRemote || c.ID == preflight.ProbesAddress {
			found = append(found, c)
		}
	}
	return found
}
