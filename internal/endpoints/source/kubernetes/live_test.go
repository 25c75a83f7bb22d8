package kubernetes_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func TestTheSourceOnARealAPIServer(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	t.Run("it conforms", func(t *testing.T) {
		sourcetest.Run(t, sourcetest.Options{Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
			return newHarness(t, server, nodes)
		}})
	})
	for name, test := range map[string]func(*testing.T, *controlplane.ControlPlane){
		"each change of a node is told and read":                   eachChange,
		"a heartbeat is no news":                                   heartbeats,
		"contract 22: steady state costs no request but the watch": steadyState,
		"a missing right is named, and granting it is enough":      missingRight,
		"contract 04: a rotated kubeconfig is used":                rotated,
		"contract 33: nothing of it is left running":               nothingIsLeft,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

// current is a source that can be replaced by a new one.
type current struct{ *kubernetes.Source }

// newHarness puts a gate between the source and the API server. A source that watches
// learns a change from the watch. So Put waits for the watch and does not read
// before.
func newHarness(t *testing.T, server *controlplane.ControlPlane, nodes []inventory.Node) sourcetest.Harness {
	t.Helper()
	c := newCluster(t, server)
	c.put(nodes)
	g := newGate(t, server.Address().String())
	config := server.UserConfig(c.user("get", "list", "watch"))
	kubeconfig := writeKubeconfig(t, "", g.url(), config)
	start := func() *kubernetes.Source {
		source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
		run(t, source)
		return source
	}
	source := &current{start()}
	read(t, source.Source) // start everything before the suite looks for leaks
	lost := func() {
		if _, err := source.Read(t.Context()); err == nil {
			await(t, source.Source, "the loss", failed)
		}
	}
	return sourcetest.Harness{
		Source: source,
		Put: func(nodes []inventory.Node) {
			g.mend()
			writeKubeconfig(t, kubeconfig, g.url(), config)
			c.put(nodes)
			if got, err := source.Read(t.Context()); err != nil || !same(nodes, got) {
				await(t, source.Source, "the new nodes", func(got []inventory.Node, err error) bool { return err == nil && same(nodes, got) })
			}
		},
		Breaks: map[string]func(){
			"the network is cut": func() { g.sever(); lost() },
			"the kubeconfig is of a user without rights": func() {
				writeKubeconfig(t, kubeconfig, g.url(), server.UserConfig("nobody"))
				lost()
			},
		},
		Stall: func() { g.stall(); source.Source = start() },
	}
}

// watching is a source that reads one ready node of a cluster.
func watching(t *testing.T, server *controlplane.ControlPlane) (*cluster, *kubernetes.Source, string) {
	t.Helper()
	c := newCluster(t, server)
	c.put([]inventory.Node{seen()})
	user := c.user("get", "list", "watch")
	source := newSource(t, kubernetes.Options{Way: remote(server.UserKubeconfig(t, user))})
	run(t, source)
	if got := read(t, source); !same(got, []inventory.Node{seen()}) {
		t.Fatalf("got %v, want the one node", got)
	}
	return c, source, user
}

func eachChange(t *testing.T, server *controlplane.ControlPlane) {
	c, source, _ := watching(t, server)
	one := func(what string, wanted func(inventory.Node) bool) {
		t.Helper()
		await(t, source, what, func(nodes []inventory.Node, err error) bool {
			return err == nil && len(nodes) > 0 && wanted(nodes[0])
		})
	}
	name := seen().Name
	c.change(name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	one("the cordon", func(n inventory.Node) bool {
		return n.Ready && !n.Leaving && strings.Contains(n.Detail, "cordoned")
	})
	c.change(name, func(n *corev1.Node) { n.Spec.Unschedulable = false })
	one("its end", func(n inventory.Node) bool { return !strings.Contains(n.Detail, "cordoned") })
	c.change(name, func(n *corev1.Node) { readyIs(n, corev1.ConditionUnknown, "NodeStatusUnknown", metav1.Now()) })
	one("silence", func(n inventory.Node) bool { return !n.Ready && strings.Contains(n.Detail, "Unknown since") })
	c.change(name, func(n *corev1.Node) { readyIs(n, corev1.ConditionFalse, "KubeletNotReady", metav1.Now()) })
	one("unreadiness", func(n inventory.Node) bool { return !n.Ready && strings.Contains(n.Detail, "False since") })
	c.change(name, func(n *corev1.Node) { readyIs(n, corev1.ConditionTrue, "KubeletReady", metav1.Now()) })
	one("readiness", func(n inventory.Node) bool { return n.Ready })
	c.change(name, func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.99" })
	one("the address", func(n inventory.Node) bool { return n.Addresses[0] == netip.MustParseAddr("10.0.0.99") })
	c.change(name, func(n *corev1.Node) { n.Labels["node.kubernetes.io/exclude-from-external-load-balancers"] = "" })
	one("the exclusion", func(n inventory.Node) bool { return n.Excluded })
	c.change(name, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{taint("ToBeDeletedByClusterAutoscaler")}
	})
	one("the taint", func(n inventory.Node) bool { return n.Leaving })
	c.change(name, func(n *corev1.Node) { n.Spec.Taints, n.Finalizers = nil, []string{"example.com/wait"} })
	one("the taint's end", func(n inventory.Node) bool { return !n.Leaving })
	c.delete(name)
	one("the deletion's begin", func(n inventory.Node) bool { return n.Leaving && strings.Contains(n.Detail, "being deleted") })
	if err := unhold(c, name); err != nil {
		t.Fatal(err)
	}
	await(t, source, "the deletion", func(nodes []inventory.Node, err error) bool { return err == nil && nodes != nil && len(nodes) == 0 })
	c.put([]inventory.Node{seen()})
	one("the new node", func(n inventory.Node) bool { return n.Ready })
}

// unhold removes the finalizers.
func unhold(c *cluster, name string) error {
	node, err := c.client.CoreV1().Nodes().Get(c.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Finalizers = nil
	_, err = c.client.CoreV1().Nodes().Update(c.t.Context(), node, metav1.UpdateOptions{})
	return err
}

// heartbeats are followed by a change, whose news shows that they were seen.
func heartbeats(t *testing.T, server *controlplane.ControlPlane) {
	c, source, _ := watching(t, server)
	drain(source)
	for i := range 20 {
		c.change(seen().Name, func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Now().Add(time.Duration(i) * time.Second))
			n.Status.Conditions[0].Message = strings.Repeat("beat ", i)
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"example.com/image"}, SizeBytes: int64(i)}}
			n.Annotations = map[string]string{"beat": strings.Repeat("x", i)}
			n.Labels["beat"] = strings.Repeat("x", i)
		})
	}
	c.change(seen().Name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	select {
	case <-source.Changed():
	case <-time.After(waitTimeout):
		t.Fatal("the change was not told")
	}
	if got := read(t, source)[0].Detail; !strings.Contains(got, "cordoned") {
		t.Errorf("a heartbeat was told as news; detail %q", got)
	}
	if news := drain(source); news != 0 {
		t.Errorf("got %d more news, want none", news)
	}
}

// drain takes the news there is.
func drain(source *kubernetes.Source) int {
	for n := 0; ; n++ {
		select {
		case <-source.Changed():
		default:
			return n
		}
	}
}

func steadyState(t *testing.T, server *controlplane.ControlPlane) {
	c, source, user := watching(t, server)
	for range 500 {
		read(t, source)
	}
	c.change(seen().Name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	await(t, source, "the cordon", func(nodes []inventory.Node, err error) bool { return strings.Contains(nodes[0].Detail, "cordoned") })
	if got := c.requests(user); len(got) != 1 || got["watch nodes"] != 1 {
		t.Errorf("got requests %v, want one watch", got)
	}
}

func missingRight(t *testing.T, server *controlplane.ControlPlane) {
	c := newCluster(t, server)
	c.put([]inventory.Node{seen()})
	user := c.user("list")
	source := newSource(t, kubernetes.Options{Way: remote(server.UserKubeconfig(t, user))})
	run(t, source)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	nodes, err := source.Read(ctx)
	if err == nil || nodes != nil || !strings.Contains(err.Error(), `cannot watch resource "nodes"`) || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %d nodes, %v, want at once what is forbidden", len(nodes), err)
	}
	if !strings.Contains(err.Error(), "grant the user of SECURED_KUBECONFIG get, list and watch on nodes") {
		t.Errorf("got %v, want the remedy", err)
	}
	c.grant(user, "watch")
	await(t, source, "the right", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 1 })
}

func rotated(t *testing.T, server *controlplane.ControlPlane) {
	c := newCluster(t, server)
	c.put([]inventory.Node{seen()})
	first, second := c.user("get", "list", "watch"), c.user("get", "list", "watch")
	url := "https://" + server.Address().String()
	kubeconfig := writeKubeconfig(t, "", url, server.UserConfig(first))
	way := remote(kubeconfig)
	way.Context = "test"
	source := newSource(t, kubernetes.Options{Way: way})
	run(t, source)
	read(t, source)
	writeKubeconfig(t, kubeconfig, url, server.UserConfig(second))
	for deadline := time.Now().Add(waitTimeout); c.requests(second)["watch nodes"] == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("requests of the second user: got %v, want a watch", c.requests(second))
		}
	}
	c.delete(seen().Name)
	await(t, source, "the deletion", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 0 })
}

func nothingIsLeft(t *testing.T, server *controlplane.ControlPlane) {
	before := goleak.IgnoreCurrent()
	source := newSource(t, kubernetes.Options{Way: remote(server.Kubeconfig(t))})
	stop := run(t, source)
	read(t, source)
	stop()
	goleak.VerifyNone(t, before)
}
