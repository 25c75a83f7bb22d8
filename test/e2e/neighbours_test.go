package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// deaths is how often a backend dies while nothing else happens, and then while a team
// does all that it can.
const deaths = 5

// crowd is how many Services a team makes at once, makers how many at a time.
const crowd, makers = 1000, 8

// noTeamSlowsAnother: what one team does, whatever it is, delays no death of a node for
// another by much, and causes no write there.
func noTeamSlowsAnother(t *testing.T, p *platform) {
	hog := p.hog()
	d, began := p.start(), time.Now()
	p.wantStates("web", "blue", p.nodes)
	p.wantStates("both", "blue", p.nodes)
	p.wantStates("shop", "green", p.green)
	quiet := p.dieAndComeBack()
	before := len(p.writesIn(p.namespace))
	stop := p.disturb(hog)
	for d.says("not granted")["reason"] != "LimitReached" {
	}
	busy := p.dieAndComeBack()
	p.awaitCrowd(hog)
	stop()
	t.Logf("from the death of a node to the slice: %v quiet, %v while another team does all that it can", quiet, busy)
	if median(busy) > 3*median(quiet)+time.Second {
		t.Errorf("got a median of %v, and %v when nothing else happens", median(busy), median(quiet))
	}
	if got, want := len(p.writesIn(p.namespace))-before, 2*2*deaths; got != want {
		t.Errorf("got %d writes, want %d: web and both, each death and each return", got, want)
	}
	most := 5 + int(time.Since(began).Seconds()) + 1 // a bucket of five, and one a second
	written := map[string]int{}
	for _, e := range p.writesIn(hog) {
		written[e.Name]++
	}
	for name, writes := range written {
		if name != "" && writes > most {
			t.Errorf("got %d writes of slice %s, want %d at most", writes, name, most)
		}
	}
	if written["flip.blue"]+written["flip.green"] == 0 {
		t.Error("the Service whose annotation changes was never filled")
	}
}

// awaitCrowd waits until all the Services were made.
func (p *platform) awaitCrowd(namespace string) {
	p.t.Helper()
	made := 0
	p.until(func() bool {
		list, err := p.client.CoreV1().Services(namespace).List(p.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err == nil {
			made = len(list.Items)
		}
		return made >= crowd
	}, func() string { return fmt.Sprintf("namespace %s: got %d Services, want %d", namespace, made, crowd) })
}

// writesIn returns the attempts to write slices in a namespace.
func (p *platform) writesIn(namespace string) []auditedWrite {
	p.t.Helper()
	var writes []auditedWrite
	for _, e := range p.writes() {
		if e.Namespace == namespace && e.Resource == "endpointslices" {
			writes = append(writes, auditedWrite{e.Name})
		}
	}
	return writes
}

// auditedWrite is one attempt to write a slice; a create has no name.
type auditedWrite struct{ Name string }

// hog makes a namespace that may use the pools of the world, one that hangs, and one
// whose nodes are silent, with a quota of ten slices.
func (p *platform) hog() string {
	p.t.Helper()
	hog := p.neighbour("flip", map[string]string{annotation("pool"): "blue"})
	p.grantIn(hog)
	p.limitSlices(hog, 10)
	both := "[" + p.namespace + ", " + hog + "]"
	const health = "  healthCheck: {interval: 500ms, timeout: 500ms}\n"
	p.write("blue.yaml", p.poolText("blue", p.nodes, both, health))
	// Of this one the team may have as many Services as it makes, and 2,000 checks: the
	// number that is allowed where a pool does not say another.
	large := p.poolText("crowd", p.nodes, "["+hog+"]", "  healthCheck: {interval: 2s, timeout: 1s}\n")
	p.write("crowd.yaml", strings.Replace(large, `ports: ["8080"]}`, `ports: ["8080"], maxTargets: 1000}`, 1))
	p.write("green.yaml", p.poolText("green", p.green, both, health))
	var silent []node
	for i := range 20 {
		silent = append(silent, node{Name: fmt.Sprintf("silent-%d", i), IP: fmt.Sprintf("10.0.200.%d", i+1)})
	}
	p.write("silent.yaml", p.poolText("silent", silent, both, health))
	hangs := p.poolText("hangs", nil, both, health)
	start, end := strings.Index(hangs, "  source:"), strings.Index(hangs, "  subnets:")
	p.write("hangs.yaml", hangs[:start]+"  source: {command: {path: /bin/sleep, args: [\"600\"]}}\n"+hangs[end:])
	return hog
}

func annotation(name string) string { return "endpoints.ablmnzde.github.io/" + name }

// limitSlices gives a namespace a quota. This cluster has no controller that counts.
func (p *platform) limitSlices(namespace string, most int64) {
	p.t.Helper()
	const name = "count/endpointslices.discovery.k8s.io"
	hard := corev1.ResourceList{name: *resource.NewQuantity(most, resource.DecimalSI)}
	quotas := p.client.CoreV1().ResourceQuotas(namespace)
	quota, err := quotas.Create(p.t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
	if err == nil {
		quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{name: resource.MustParse("0")}}
		_, err = quotas.UpdateStatus(p.t.Context(), quota, metav1.UpdateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// disturb lets the team of a namespace do all at once: 1,000 Services made at once, checks
// as many as are allowed (2,000), pools that hang and are silent, an annotation that changes ten
// times a second, and a Service that comes and goes. It goes on until the function that
// it returns is called.
func (p *platform) disturb(hog string) (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var running sync.WaitGroup
	services := p.client.CoreV1().Services(hog)
	create := func(name string, annotations ...string) error {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}, Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http", Port: port, TargetPort: intstr.FromInt32(port)}},
		}}
		for i := 0; i < len(annotations); i += 2 {
			s.Annotations[annotation(annotations[i])] = annotations[i+1]
		}
		_, err := services.Create(ctx, s, metav1.CreateOptions{})
		return err
	}
	for maker := range makers {
		running.Go(func() {
			for i := maker; i < crowd; i += makers {
				var err error
				switch name := fmt.Sprintf("one-%d", i); {
				case i < 2000/len(p.nodes)+10: // some more than are allowed
					err = create(name, "pool", "crowd", "health-check-mode", "HTTP", "health-check-path", fmt.Sprintf("/%d", i))
				case i < 2000/len(p.nodes)+30:
					err = create(name, "pool", []string{"hangs", "silent"}[i%2])
				default:
					err = create(name, "pool", "crowd")
				}
				if err != nil && ctx.Err() == nil {
					p.t.Error(err)
					return
				}
			}
		})
	}
	every := func(pause time.Duration, do func(n int) error) {
		running.Go(func() {
			ticker := time.NewTicker(pause)
			defer ticker.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				if err := do(n); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
					p.t.Error(err)
					return
				}
			}
		})
	}
	every(100*time.Millisecond, func(n int) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotation("pool"), []string{"green", "blue", "secret", ""}[n%4])
		_, err := services.Patch(ctx, "flip", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	})
	every(500*time.Millisecond, func(n int) error {
		if n%2 == 0 {
			return create("comes-and-goes", "pool", "green")
		}
		return services.Delete(ctx, "comes-and-goes", metav1.DeleteOptions{})
	})
	return func() { cancel(); running.Wait() }
}

// dieAndComeBack lets a backend die and come back, again and again, and returns how long
// each death took to be in the slice.
func (p *platform) dieAndComeBack() []time.Duration {
	p.t.Helper()
	var took []time.Duration
	for range deaths {
		died := time.Now()
		p.nodes[0].backends[0].kill()
		p.wantStates("web", "blue", p.nodes, "down")
		took = append(took, time.Since(died))
		p.wantStates("both", "blue", p.nodes, "down")
		p.nodes[0].backends[0].start(p.t)
		p.wantStates("web", "blue", p.nodes)
		p.wantStates("both", "blue", p.nodes)
	}
	return took
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
