package chart_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// teams is a release for many Services: the pools berlin, of the IONOS Cloud, and london,
// and the namespaces of three teams.
type teams struct {
	*installation
	london []string
}

// teamNamespaces are those that the pools allow, and one that they do not.
var teamNamespaces = []string{"team-shop", "team-blog", "team-pay", "team-other"}

// poolsFill is one installation from its first minute to its last.
func poolsFill(t *testing.T, c *cloud) {
	p := newTeams(t, c)
	daemon := p.fills(t)
	p.changesWithoutARestart(t, daemon)
	daemon.Stop(t)
	p.wasDeniedNothing(t)
	t.Run("nothing beyond the Roles is allowed", p.mayNothingBeyond)
	t.Run("the admission policy holds the ServiceAccount to the pools", p.policyHolds)
	t.Run("a ClusterRole and namespaces by their labels", p.selectsNamespaces)
	t.Run("its requests are those of its FlowSchemas", p.flows)
	t.Run("without the admission policy it fills as well", p.fillsWithoutPolicy)
	before := p.slices(t)
	p.helm(t, p.version, "uninstall", release, "--namespace", p.namespace, "--wait")
	if after := p.slices(t); !maps.Equal(before, after) {
		t.Errorf("after the release: got %v, want %v", after, before)
	}
}

func newTeams(t *testing.T, c *cloud) *teams {
	t.Helper()
	p := &teams{installation: &installation{c, "helm4", "many-services"}}
	c.prepare(t, p.namespace)
	for _, address := range netns.Addresses(t, 2) {
		stage.Listen(t, address)
		p.london = append(p.london, address.String())
	}
	for _, name := range teamNamespaces {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		p.service(t, name, "web")
	}
	p.service(t, "team-pay", "checkout")
	p.helm(t, p.version, "install", release, chartDir, "--namespace", p.namespace, "--values", p.values(t, ""))
	return p
}

// service makes a Service that chooses the pool berlin.
func (p *teams) service(t *testing.T, namespace, name string) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"endpoints.ablmnzde.github.io/pool": "berlin"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
	if _, err := p.Client.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// values is a values file. The pool berlin also allows the namespaces named.
func (p *teams) values(t *testing.T, more string) string {
	t.Helper()
	text := fmt.Sprintf(`image: {tag: 0.1.0}
pools:
  berlin:
    source: {ionos: {datacenterID: %s, lanID: %d}}
    credentials: berlin
    subnets: [10.0.0.0/16]
    pollInterval: 1s
    allow:
    - {namespaces: [team-shop, team-blog%s], ports: ["8080"]}
    - {namespaces: [team-pay], ports: ["8000-8999"]}
    healthCheck: {interval: 200ms}
  london:
    source: {static: {nodes: [{name: a, addresses: [%s]}, {name: b, addresses: [%s]}]}}
    subnets: [%[4]s/32, %[5]s/32]
    allow: [{namespaces: [team-pay], ports: ["8080"]}]
    healthCheck: {interval: 200ms}
bindings:
  team-pay:
    checkout: {pools: [{name: london}, {name: berlin}], ports: [{name: http, port: 8080}]}
credentials:
  berlin: {secretName: ionos-berlin, keys: {token: key, kubeconfig: remote}}
bounds: {namespaces: [team-shop, team-blog, team-pay%[3]s]}
`, stage.Datacenter, stage.LAN, more, p.london[0], p.london[1])
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// fills starts the daemon without the Secret of berlin, which comes later.
func (p *teams) fills(t *testing.T) *kubelet.Process {
	pods := p.pods(t)
	p.awaitRefusal(t, "team-shop")
	daemon, _ := p.start(t, &pods[0], false)
	p.until(t, map[string]string{"team-pay/checkout.london": fmt.Sprint(slices.Sorted(slices.Values(p.london)))})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ionos-berlin"}, StringData: map[string]string{"key": stage.Token, "remote": p.kubeconfig}}
	if _, err := p.Client.CoreV1().Secrets(p.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	daemon.Renew(t)
	p.until(t, p.filled())
	return daemon
}

// filled is what the slices of the teams publish.
func (p *teams) filled(more ...string) map[string]string {
	want := map[string]string{"team-pay/checkout.london": fmt.Sprint(slices.Sorted(slices.Values(p.london)))}
	for _, name := range append([]string{"team-shop/web.berlin", "team-blog/web.berlin", "team-pay/web.berlin", "team-pay/checkout.berlin"}, more...) {
		want[name] = fmt.Sprint(slices.Sorted(slices.Values(p.Addresses)))
	}
	return want
}

// slices are the ready addresses of each slice in the namespaces of the teams.
func (p *teams) slices(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, namespace := range teamNamespaces {
		list, err := p.Client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list.Items {
			var ready []string
			for _, e := range s.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					ready = append(ready, e.Addresses...)
				}
			}
			slices.Sort(ready)
			found[s.Namespace+"/"+s.Name] = fmt.Sprint(ready)
		}
	}
	return found
}

func (p *teams) until(t *testing.T, want map[string]string) {
	t.Helper()
	stage.Until(t, fmt.Sprint("the slices ", want), func() bool { return maps.Equal(want, p.slices(t)) })
}

// changesWithoutARestart adds a namespace while the daemon runs.
func (p *teams) changesWithoutARestart(t *testing.T, daemon *kubelet.Process) {
	t.Helper()
	generation := func() int64 {
		d, err := p.Client.AppsV1().Deployments(p.namespace).Get(t.Context(), release, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Generation
	}
	before := generation()
	p.upgrade(t, "--values", p.values(t, ", team-other"))
	if after := generation(); after != before {
		t.Errorf("a changed pool is another Deployment: generation %d, want %d", after, before)
	}
	stage.Until(t, "the new Role", func() bool {
		return p.allowed(t, p.user(), authorizationv1.ResourceAttributes{
			Namespace: "team-other", Verb: "create", Group: discoveryv1.GroupName, Resource: "endpointslices",
		})
	})
	p.awaitRefusal(t, "team-other")
	daemon.Renew(t)
	p.until(t, p.filled("team-other/web.berlin"))
}

func (p *teams) upgrade(t *testing.T, args ...string) {
	t.Helper()
	p.helm(t, p.version, append([]string{"upgrade", release, chartDir, "--namespace", p.namespace}, args...)...)
}

// wasDeniedNothing looks at what the daemon asked itself. Once, at its start, it asks for
// slices in namespaces that no document names, which only a ClusterRole allows.
func (p *teams) wasDeniedNothing(t *testing.T) {
	t.Helper()
	used, looked := map[string]bool{}, false
	for _, e := range p.CP.Audit() {
		if e.User != p.user() || e.UserAgent == userAgent {
			continue
		}
		used[e.Verb+" "+e.Resource] = true
		if left := e.Verb == "list" && e.Resource == "endpointslices" && e.Namespace == "" && e.Code == 403; left && !looked {
			looked = true
			continue
		}
		if e.Code == 401 || e.Code == 403 {
			t.Errorf("denied: %+v", e)
		}
	}
	for _, want := range []string{"create endpointslices", "watch endpointslices", "watch services", "create leases", "update leases"} {
		if !used[want] {
			t.Errorf("got no request %q, only %v", want, slices.Sorted(maps.Keys(used)))
		}
	}
}

// fillsWithoutPolicy runs the daemon where the Roles are the only wall.
func (p *teams) fillsWithoutPolicy(t *testing.T) {
	p.upgrade(t, "--values", p.values(t, ", team-other"), "--set", "admissionPolicy.enabled=false")
	slice := func(namespace string) error {
		_, err := p.daemon(t).DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice("web.berlin.9", "192.168.1.1"), dry)
		return err
	}
	stage.Until(t, "the policy to be gone", func() bool { return slice("team-shop") == nil })
	if err := slice("default"); err == nil || !strings.Contains(err.Error(), "cannot create resource") {
		t.Errorf("a slice in another namespace: got %v, want it forbidden", err)
	}
	if err := p.Client.DiscoveryV1().EndpointSlices("team-shop").Delete(t.Context(), "web.berlin", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	daemon, _ := p.start(t, &p.pods(t)[0], false)
	p.until(t, p.filled("team-other/web.berlin"))
	daemon.Stop(t)
}
