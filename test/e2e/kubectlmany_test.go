package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// With documents, kubectl fills the one Service that a binding names, from all of its pools.
// A second one is told why not.
func TestDocumentsFillOneServiceByKubectl(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := newWorld(t, controlplane.Start(t, controlplane.Options{Audit: true}), "kubectl")
	p := w.byDocuments()
	pool := func(name string, nodes []node) {
		p.write(name+".yaml", strings.Replace(p.poolText(name, nodes, "["+p.namespace+"]", ""), "500ms", "1s", 1))
	}
	pool("blue", p.nodes[:2])
	pool("green", p.nodes[2:])
	p.binding("web", "blue, green")
	want := func(blue, green string) {
		t.Helper()
		want := map[string]string{"web.blue": "blue of web: " + blue, "web.green": "green of web: " + green}
		p.until(func() bool { return fmt.Sprint(p.bySlice()) == fmt.Sprint(want) }, func() string {
			return fmt.Sprintf("slices: got %v, want %v", p.bySlice(), want)
		})
	}
	first, second, third := p.nodes[0].IP, p.nodes[1].IP, p.nodes[2].IP
	d := p.start()
	want(first+" ready, "+second+" ready", third+" ready")
	before := p.writes()
	p.nodes[1].backends[0].kill()
	want(first+" ready, "+second+" down", third+" ready")
	p.wantWrites(before, 1)

	t.Log("what somebody else does is seen with the next look, and no pool counts as beside the other")
	if err := p.client.DiscoveryV1().EndpointSlices(p.namespace).Delete(t.Context(), "web.green", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want(first+" ready, "+second+" down", third+" ready")
	if n := d.count("another slice publishes endpoints of the Service"); n != 0 {
		t.Errorf("told %d times of a slice beside, want none", n)
	}

	t.Log("a second binding, of which there may be none")
	before = p.writes()
	p.binding("also", "blue")
	const refused, rule = "the Service cannot be filled, its slices stay as they are", "STORE_KIND=kubectl fills one Service, and this process fills "
	said := d.says(refused)
	if said["service"] != "also" || !strings.Contains(fmt.Sprint(said["error"]), rule+p.namespace+"/web; set STORE_KIND=client-go") {
		t.Errorf("got %v, want the rule and the remedy", said)
	}
	p.nodes[1].backends[0].start(t)
	want(first+" ready, "+second+" ready", third+" ready")
	p.wantWrites(before, 1)
	d.stop()

	t.Log("commands, and a restart that writes nothing")
	p.replace("binding-also.yaml", "")
	before = p.writes()
	if got := p.command(nil, "run", "--once"); got.code != 0 {
		t.Errorf("run --once: got status %d and %s", got.code, got.stderr)
	}
	d = p.start()
	d.says("the slices of all Services are as decided")
	p.wantWrites(before, 0)
	d.stop()
	p.binding("zebra", "blue")
	if got := p.command(nil, "run", "--once"); got.code != 4 || !strings.Contains(got.stderr, rule+p.namespace+"/web") {
		t.Errorf("run --once with two bindings: got status %d and %s", got.code, got.stderr)
	}
	got := p.command([]string{"KUBECTL_PATH=/nonexistent/kubectl"}, "run", "--once")
	if got.code != 4 || !strings.Contains(got.stderr, "/nonexistent/kubectl") {
		t.Errorf("run --once without kubectl: got status %d and %s", got.code, got.stderr)
	}
	d = p.start("KUBECTL_PATH=/nonexistent/kubectl")
	for said = d.says(refused); said["service"] != "web"; said = d.says(refused) {
	}
	if !strings.Contains(fmt.Sprint(said["error"]), "/nonexistent/kubectl") {
		t.Errorf("got %v, want why the slices cannot be read", said)
	}
}
