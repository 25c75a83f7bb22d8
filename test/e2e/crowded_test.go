package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// large makes a Service with that many ports, each of which says 435 bytes.
func (p *platform) large(name string, ports int, annotations map[string]string) {
	p.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	for i := range ports {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("p%02d%s", i, strings.Repeat("p", 60)), Port: int32(80 + i), TargetPort: intstr.FromInt32(port),
			AppProtocol: new(strings.Repeat(strings.Repeat("a", 62)+".", 4) + "a/" + strings.Repeat("b", 63)),
		})
	}
	if _, err := p.client.CoreV1().Services(p.namespace).Create(p.t.Context(), service, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// TestContract224ANamespaceIsCrowdedAtARestart: a Service that says more than each of those
// that a team made meanwhile is checked, and nobody hears that it is missing.
func TestContract224ANamespaceIsCrowdedAtARestart(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.large("large", 100, map[string]string{"endpoints.ablmnzde.github.io/pool": "green"})
	d := p.start()
	p.wantStates("large", "green", p.green)
	for _, service := range []string{"web", "both"} { // so that a restart has nothing to write of them
		p.wantStates(service, "blue", p.nodes)
	}
	d.stop()
	for i := range 100 {
		p.large(fmt.Sprintf("other-%d", i), 99, nil)
	}
	before := p.slicesWritten()
	d = p.start()
	d.says("not all Services and slices of a namespace are known, so none of its Services vanishes")
	p.green[0].backends[0].kill()
	for _, service := range []string{"large", "shop", "both"} {
		p.wantStates(service, "green", p.green, "down")
	}
	p.wantSlicesWritten(before, 3)
	if n := d.count("service cannot be filled"); n > 0 {
		t.Errorf("got %d lines that a Service cannot be filled, want none", n)
	}
	d.stop()
}
