package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// bindings is how many there are of one pool.
const bindings = 1000

// Contract 124: a pool that 1,000 bindings use is deleted, an endpoint dies meanwhile, and
// the pool comes back.
func TestContract124APoolIsDeletedThatManyBindingsUse(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newWorld(t, controlplane.Start(t, controlplane.Options{Audit: true}), "client-go").byDocuments()
	p.withKinds()
	p.install()
	delete(p.env, "DOCUMENTS_DIR")
	p.applied, p.env["LOG_LEVEL"] = true, "info"
	blue := strings.Replace(p.poolText("blue", p.nodes, "["+p.namespace+"]", ""), "}]\n", fmt.Sprintf(", maxServices: %d}]\n", bindings), 1)
	p.write("", blue)
	p.bindMany()

	d := newSurfaces(p.start())
	p.wantRight(d.daemon, bindings)
	p.untilAll(v1alpha1.ConditionReady, v1alpha1.ReasonEndpointsReady)
	p.untilAll(v1alpha1.ConditionHeld, v1alpha1.ReasonNotHeld)
	before, told := p.written()
	if len(before) != bindings {
		t.Errorf("got %d writes of slices, want %d", len(before), bindings)
	}

	t.Log("the pool is deleted")
	p.kubectl("", "delete", "endpointpool", "blue")
	p.untilAll(v1alpha1.ConditionHeld, v1alpha1.ReasonManyReleased)
	told = p.wantWritten("the pool is deleted", before, told, 0, 2*bindings)
	p.wantMetrics(d, map[string]string{`services{state="kept"}`: fmt.Sprint(bindings)})

	t.Log("an endpoint dies, and comes back")
	p.nodes[0].backends[0].kill()
	p.untilCount("slices say that the endpoint is down", func() int { return p.down(0) })
	p.nodes[0].backends[0].start(t)
	p.untilCount("slices say that it is ready", func() int { return bindings - p.down(0) })
	p.wantWritten("an endpoint died", before, told, 2*bindings, 2*bindings)

	t.Log("the pool comes back")
	p.write("", blue)
	p.untilAll(v1alpha1.ConditionHeld, v1alpha1.ReasonNotHeld)
	p.untilAll(v1alpha1.ConditionReady, v1alpha1.ReasonEndpointsReady)
	p.wantWritten("the pool came back", before, told, 2*bindings, 2*bindings+2*bindings)
	if code := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// wantWritten compares the writes of slices with a number, and those of statuses with a
// limit. It returns the latter.
func (p *platform) wantWritten(when string, before, told []controlplane.AuditEvent, slices, statuses int) []controlplane.AuditEvent {
	p.t.Helper()
	after, tells := p.written()
	if got := len(after) - len(before); got != slices {
		p.t.Errorf("%s: got %d writes of slices, want %d", when, got, slices)
	}
	if got := len(tells) - len(told); got > statuses {
		p.t.Errorf("%s: got %d writes of statuses, want %d at most", when, got, statuses)
	}
	p.t.Logf("%s: %d writes of statuses", when, len(tells)-len(told))
	return tells
}

// bindMany makes Services with a binding each, a few at a time.
func (p *platform) bindMany() {
	p.t.Helper()
	team := p.asker(p.namespace)
	making := disturbance{t: p.t, ctx: p.t.Context()}
	making.make(bindings, func(i int) error { return team.ask(p.t.Context(), fmt.Sprintf("many-%d", i), wish{pool: "blue"}) })
	making.running.Wait()
}

// untilCount waits until a count is that of all bindings, as long as it grows.
func (p *platform) untilCount(what string, count func() int) {
	p.t.Helper()
	for got, last := -1, -1; got < bindings; last = got {
		p.until(func() bool {
			got = count()
			return got > last
		}, func() string { return fmt.Sprintf("%d of %d %s", got, bindings, what) })
	}
}

// untilAll waits until all bindings give that reason for a condition.
func (p *platform) untilAll(condition, reason string) {
	p.t.Helper()
	api := p.bindings()
	p.untilCount("bindings say "+reason+" of "+condition, func() (got int) {
		list, err := api.List(p.t.Context(), metav1.ListOptions{})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, each := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(each.Object, "status", "conditions")
			for _, one := range conditions {
				if c, _ := one.(map[string]any); c["type"] == condition && c["reason"] == reason {
					got++
				}
			}
		}
		return got
	})
}
