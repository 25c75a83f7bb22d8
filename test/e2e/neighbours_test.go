package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// deaths is how often a backend dies while a team does all that it can.
const deaths = 5

// makers is how many Services are made at a time.
const makers = 8

// crowd is how many Services a team makes at once. With bindings each of them costs two
// objects and a status, so there are less: the machine is not what is tested.
func (p *platform) crowd() int {
	if p.applied {
		return 400
	}
	return 1000
}

// noTeamSlowsAnother: what one team does, whatever it is, delays no death of a node for
// another by much, and causes no write there. How slow the machine is, and the API server
// that both ask, a second daemon says, which fills a Service with the same backends and
// knows nothing of that team: each death is measured at both.
func noTeamSlowsAnother(t *testing.T, p *platform) {
	hog := p.hog()
	team := p.asker(hog)
	if err := team.ask(t.Context(), "flip", wish{pool: "blue"}); err != nil {
		t.Fatal(err)
	}
	d, began := p.start(), time.Now()
	p.wantStates("web", "blue", p.nodes)
	p.wantStates("both", "blue", p.nodes)
	p.wantStates("shop", "green", p.green)
	p.startReference()
	before := len(p.writesIn(p.namespace))
	stop := p.disturb(team)
	for d.says("not granted")["reason"] != "LimitReached" {
	}
	var took, alone []time.Duration
	for tries := 0; tries == 0 || tries < 3 && slowed(took, alone); tries++ { // a machine may stop one process for a second
		more, meanwhile := p.dieAndComeBack()
		took, alone = append(took, more...), append(alone, meanwhile...)
	}
	p.awaitCrowd(hog)
	stop()
	t.Logf("from the death of a node to the slice: %v beside a team that does all that it can, %v by a daemon that does not know it", took, alone)
	if slowed(took, alone) {
		t.Errorf("got a median of %v, and %v by a daemon that does not know the other team", median(took), median(alone))
	}
	if got, want := len(p.writesIn(p.namespace))-before, 2*2*len(took); got != want {
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
		t.Error("the Service whose wish changes was never filled")
	}
	p.wantFewStatuses(hog)
}

// slowed reports whether deaths took much longer than those of the reference.
func slowed(took, alone []time.Duration) bool { return median(took) > 3*median(alone)+time.Second }

// reference is a Service that a second daemon fills.
const reference = "reference"

// startReference runs a daemon that fills the Service reference with the nodes of pool
// blue, checked as that pool is.
func (p *platform) startReference() {
	p.t.Helper()
	p.service(reference, nil)
	w := *p.world
	w.env = map[string]string{
		"SOURCE_KIND": "file", "INVENTORY_FILE_PATH": w.inventory, "SOURCE_POLL_INTERVAL": "500ms", "SECURED_SUBNET_CIDR": "10.0.0.0/16",
		"TARGET_NAMESPACE": w.namespace, "TARGET_SERVICE_NAME": reference, "TARGET_PORT": fmt.Sprint(port), "TARGET_MANAGED_BY": reference,
		"HEALTH_CHECK_INTERVAL": "500ms", "HEALTH_CHECK_TIMEOUT": "500ms",
	}
	for _, name := range []string{"PATH", "HOME", "STORE_KIND", "KUBECONFIG", "LOG_LEVEL", "ADMIN_ADDRESS", "METRICS_ADDRESS"} {
		w.env[name] = p.env[name]
	}
	w.start()
	p.wantStates(reference, "", p.nodes)
}

// wantFewStatuses demands that bindings of a namespace say what becomes of them, and that
// no object was written more often than once in five seconds. Files have no status.
func (p *platform) wantFewStatuses(namespace string) {
	p.t.Helper()
	if !p.applied {
		return
	}
	p.untilSaid("web", "True EndpointsReady: 3 of 3 endpoints are ready") // whatever the others do
	told := map[string][]time.Time{}
	all, others := p.statuses(), 0
	for _, e := range all {
		object := e.Resource + " " + e.Namespace + "/" + e.Name
		told[object] = append(told[object], e.Received)
		if e.Namespace == namespace {
			others++
		}
	}
	for object, at := range told {
		const late = 3 * time.Second // for so long the first of them may have been on its way
		if most := 1 + int((at[len(at)-1].Sub(at[0])+late)/(5*time.Second)); len(at) > most {
			p.t.Errorf("got the status of %s written at %v, want %d times at most", object, at, most)
		}
	}
	if others == 0 {
		p.t.Error("got no status of the other team, so there was no such load")
	}
	p.t.Logf("%d writes of statuses, %d of them for the other team", len(all), others)
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
		return made >= p.crowd()
	}, func() string {
		return fmt.Sprintf("namespace %s: got %d Services, want %d", namespace, made, p.crowd())
	})
}

// crowded is how many endpoints each Service of the crowd has.
const crowded = 10

// writesIn returns the attempts to write slices in a namespace, without those of the
// reference.
func (p *platform) writesIn(namespace string) []auditedWrite {
	p.t.Helper()
	var writes []auditedWrite
	for _, e := range p.writes() {
		if e.Namespace == namespace && e.Resource == "endpointslices" && !strings.HasPrefix(e.Name, reference) {
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
	hog := p.neighbour("idle", nil)
	p.grantIn(hog)
	p.bound(p.namespace, "elsewhere", hog)
	p.limitSlices(hog, 10)
	both := "[" + p.namespace + ", " + hog + "]"
	const health = "  healthCheck: {interval: 500ms, timeout: 500ms}\n"
	p.write("blue.yaml", p.poolText("blue", p.nodes, both, health))
	// Of this one the team may have as many Services as it makes, and 2,000 checks: the
	// number that is allowed where a pool does not say another.
	nodes := slices.Clone(p.nodes)
	for _, addr := range netns.Addresses(p.t, crowded-len(nodes)) {
		nodes = append(nodes, p.newNode(addr))
	}
	large := p.poolText("crowd", nodes, "["+hog+"]", "  healthCheck: {interval: 2s, timeout: 1s}\n")
	p.write("crowd.yaml", strings.Replace(large, `ports: ["8080"]}`, `ports: ["8080"], maxServices: 1000}`, 1))
	p.write("green.yaml", p.poolText("green", p.green, both, health))
	var silent []node
	for i := range 20 {
		silent = append(silent, node{Name: fmt.Sprintf("silent-%d", i), IP: fmt.Sprintf("10.0.200.%d", i+1)})
	}
	p.write("silent.yaml", p.poolText("silent", silent, both, health))
	hangs := p.poolText("hangs", nil, both, health)
	start, end := strings.Index(hangs, "  source:"), strings.Index(hangs, "  subnets:")
	p.mount("hangs.yaml", hangs[:start]+"  source: {command: {path: /bin/sleep, args: [\"600\"]}}\n"+hangs[end:])
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

// dieAndComeBack lets a backend die and come back, again and again, and returns how long
// each death took to be in the slice, and in that of the reference.
func (p *platform) dieAndComeBack() (took, alone []time.Duration) {
	p.t.Helper()
	for range deaths {
		died := time.Now()
		p.nodes[0].backends[0].kill()
		own, other := p.seenDown("web", died), p.seenDown(reference, died)
		took, alone = append(took, <-own), append(alone, <-other)
		p.wantStates("web", "blue", p.nodes, "down")
		p.wantStates("both", "blue", p.nodes, "down")
		p.nodes[0].backends[0].start(p.t)
		p.wantStates("web", "blue", p.nodes)
		p.wantStates("both", "blue", p.nodes)
		p.wantStates(reference, "", p.nodes)
	}
	return took, alone
}

// seenDown waits beside the test until an endpoint of a Service is down, and returns how
// long that took; a wait that ends without it returns how long it waited.
func (p *platform) seenDown(service string, died time.Time) <-chan time.Duration {
	seen := make(chan time.Duration, 1)
	go func() {
		defer func() { seen <- time.Since(died) }()
		for ticker := time.NewTicker(50 * time.Millisecond); time.Since(died) < waitTimeout; <-ticker.C {
			for _, s := range p.slicesOf(p.namespace, service) {
				if slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return state(e.Conditions) == "down" }) {
					return
				}
			}
		}
	}()
	return seen
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
