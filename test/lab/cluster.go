//go:build lab

package lab

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
)

// ClusterOptions say what a remote cluster is like.
type ClusterOptions struct {
	// Mode is that of the kube-proxy of every node, Policy the externalTrafficPolicy
	// of the Service of type NodePort.
	Mode   kubeproxy.Mode
	Policy corev1.ServiceExternalTrafficPolicy
	// Nodes is how many there are, and the first Pods of them have a Pod each.
	Nodes, Pods int
	// Abrupt says that a Pod gets its signal as soon as it begins to end. Otherwise it serves
	// on for 5 s, by a preStop hook.
	Abrupt bool
	// Quiet says that after these 5 s it serves on until it gets no request any more: a
	// kube-proxy of a busy machine was seen to take longer than 5 s.
	Quiet bool
	// Unnamed says that the Nodes do not name their address on the private LAN, as in
	// clusters that IONOS manages. Then the source is a file.
	Unnamed bool
	// Follow says that the daemon follows the remote Service.
	Follow bool
	// NodePortAddresses are those of kube-proxy; without them it has its default.
	NodePortAddresses []string
	// Env is added to the daemon's environment.
	Env map[string]string
}

// Policies are both traffic policies.
var Policies = []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal}

// Cluster is a remote cluster as a [Target] has it: nodes with a real kube-proxy each,
// and Pods behind a Service of type NodePort. The target's port is the nodePort.
type Cluster struct {
	*Target

	options ClusterOptions
	mu      sync.Mutex
	nodes   []*Node
	pods    []*Pod
	slice   *discoveryv1.EndpointSlice // of the remote Service
}

// Cluster makes a remote cluster and returns when each node that answers is published.
func (w *World) Cluster(t testing.TB, options ClusterOptions) *Cluster {
	t.Helper()
	source := "kubernetes"
	if options.Unnamed {
		source = "file"
	}
	c := &Cluster{Target: w.unstarted(t, Options{Source: source, Workers: -1}), options: options}
	c.backends = c.ready
	c.Daemon.Env["TARGET_PORT"] = fmt.Sprint(c.createRemoteService())
	if options.Follow {
		c.follow()
	}
	maps.Copy(c.Daemon.Env, options.Env)
	c.AddNodes(options.Nodes)
	c.Schedule(c.nodes[:options.Pods]...)
	c.Daemon.Start()
	answering := c.nodes
	if options.Policy == corev1.ServiceExternalTrafficPolicyLocal {
		answering = c.nodes[:options.Pods]
	}
	for _, n := range answering {
		c.AwaitState(n.Worker, "ready")
	}
	return c
}

// createRemoteService makes the Service before the Pods, with a slice that is still
// empty, and returns its nodePort.
func (c *Cluster) createRemoteService() int32 {
	c.t.Helper()
	ctx, client := c.t.Context(), c.world.remote
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	service, err := client.CoreV1().Services(c.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ExternalTrafficPolicy: c.options.Policy, Selector: map[string]string{"app": "web"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(Port)}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.slice, err = client.DiscoveryV1().EndpointSlices(c.namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "web-x7k2p", Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(Port)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return service.Spec.Ports[0].NodePort
}

// follow lets the daemon follow the Service, with the rights that this needs.
func (c *Cluster) follow() {
	c.t.Helper()
	c.Daemon.Env["REMOTE_SERVICE"] = c.namespace + "/web"
	c.Daemon.Env["SECURED_KUBECONFIG"] = mayWatch(c.t, c.world.Remote, c.world.remote, "follower", schema.GroupResource{Resource: "nodes"},
		schema.GroupResource{Resource: "services"}, schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"})
}

// set puts a Pod in a state and writes the remote slice, as Kubernetes does for a Pod
// that is ready, one that ends and still serves, and one that is gone.
func (c *Cluster) set(p *Pod, state podState) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	p.state = state
	c.slice.Endpoints = nil
	for _, p := range c.pods {
		if p.state == podGone {
			continue
		}
		c.slice.Endpoints = append(c.slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.address.String()}, NodeName: &p.Node.Name,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: c.namespace, Name: p.Name},
			Conditions: discoveryv1.EndpointConditions{
				Ready: ptr.To(p.state == podReady), Terminating: ptr.To(p.state == podTerminating),
				Serving: ptr.To(p.state == podReady || p.state == podTerminating),
			},
		})
	}
	c.writeSlice()
}

// Forget takes every Pod out of the remote slice, though all serve on, as a wrong selector
// does. The kube-proxies end before that, so their rules stay.
func (c *Cluster) Forget() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		n.proxy.Stop()
	}
	c.slice.Endpoints = nil
	c.writeSlice()
}

func (c *Cluster) writeSlice() {
	c.t.Helper()
	written, err := c.world.remote.DiscoveryV1().EndpointSlices(c.namespace).Update(c.t.Context(), c.slice, metav1.UpdateOptions{})
	if err != nil {
		c.t.Errorf("%s: write the remote slice: %v", c.Name, err)
		return
	}
	c.slice = written
}

// Nodes are those that are there, in the order in which they came.
func (c *Cluster) Nodes() []*Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes)
}

// Pods are those that are ready, in the order in which they were scheduled.
func (c *Cluster) Pods() []*Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.pods), func(p *Pod) bool { return p.state != podReady })
}

func (c *Cluster) ready() (names []string) {
	for _, p := range c.Pods() {
		names = append(names, p.Name)
	}
	return names
}

// Schedule starts a Pod on each of these nodes, and returns when they are ready.
func (c *Cluster) Schedule(nodes ...*Node) {
	c.t.Helper()
	var started sync.WaitGroup
	for _, n := range nodes {
		p := c.newPod(n)
		started.Go(p.start)
	}
	started.Wait()
}

// Delete deletes Pods, and returns when they are gone.
func (c *Cluster) Delete(pods ...*Pod) {
	c.t.Helper()
	var ended sync.WaitGroup
	for _, p := range pods {
		ended.Go(p.end)
	}
	ended.Wait()
}

// Rollout replaces all Pods by Pods on these nodes, as a Deployment with maxUnavailable 0
// does: so many of the new ones at a time are started, and for each that is ready an old
// one is deleted. It does not wait until that one has ended before it goes on.
func (c *Cluster) Rollout(surge int, nodes ...*Node) {
	c.t.Helper()
	old := c.Pods()
	var ended sync.WaitGroup
	for batch := range slices.Chunk(nodes, surge) {
		c.Schedule(batch...)
		leave := old[:min(len(batch), len(old))]
		old = old[len(leave):]
		ended.Go(func() { c.Delete(leave...) })
	}
	ended.Wait()
	c.Delete(old...)
}

// preStop is how long a Pod serves after it began to end, and startup how long one takes
// to be ready.
const (
	preStop = 5 * time.Second
	startup = 2 * time.Second
)
