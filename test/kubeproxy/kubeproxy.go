// Package kubeproxy runs a real kube-proxy inside a named network namespace. From
// there a ClusterIP of a real API server carries traffic to the endpoints that the
// EndpointSlices list.
//
// The namespace must reach the API server ([controlplane.Options].BindAddress)
// and have a route for the ClusterIPs, such as a default route: the rules
// rewrite a packet that is already on its way. Needs root, iproute2, and
// nftables or iptables. The package is for tests only.
package kubeproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// Mode is how kube-proxy makes its rules.
type Mode string

// The modes that Kubernetes supports on Linux and does not deprecate.
const (
	NFTables Mode = "nftables"
	IPTables Mode = "iptables"
)

// Options says where and how kube-proxy runs.
type Options struct {
	// Namespace is the network namespace, as `ip netns` names it. Required.
	Namespace string
	// Node is the Node that kube-proxy runs for; Namespace when empty. It is
	// created, or its addresses are replaced.
	Node string
	// Addresses are the Node's InternalIPs, at most one of a family. Required. A
	// family without an address gets no rules.
	Addresses []netip.Addr
	// Mode is NFTables when empty.
	Mode Mode
	// MinSyncPeriod is the least time between two changes of the rules; 0 stands
	// for kube-proxy's default of a second.
	MinSyncPeriod time.Duration
	// NodePortAddresses are the addresses at which NodePorts are open; without them
	// kube-proxy's default: all in iptables mode, the Node's own in nftables mode.
	NodePortAddresses []string
}

// Proxy is one running kube-proxy.
type Proxy struct {
	t       testing.TB
	options Options
	process *child.Child
}

const (
	// startTimeout bounds the start, which takes two seconds on an idle machine.
	startTimeout = 2 * time.Minute
	pollInterval = 20 * time.Millisecond
)

// Start runs kube-proxy as an administrator of the control plane until the test
// ends. It returns when the rules for all Services and slices of that moment
// are there. Without the program the test fails with the remedy.
func Start(t testing.TB, cp *controlplane.ControlPlane, options Options) *Proxy {
	t.Helper()
	if options.Node == "" {
		options.Node = options.Namespace
	}
	if options.Mode == "" {
		options.Mode = NFTables
	}
	if options.Namespace == "" || len(options.Addresses) == 0 {
		t.Fatal("kubeproxy: Options need a Namespace and Addresses")
	}
	program := built.Tool(t, "kube-proxy")
	createNode(t, cp, options)
	dir := t.TempDir()
	file := filepath.Join(dir, "kube-proxy.json")
	if err := writeConfig(file, cp.Kubeconfig(t), options); err != nil {
		t.Fatalf("kubeproxy: write %s: %v", file, err)
	}
	p := &Proxy{t: t, options: options}
	var err error
	// ip replaces itself by the program, which so keeps the process id and the death signal.
	command := exec.Command("ip", "netns", "exec", options.Namespace, program, "--config="+file)
	// kube-proxy looks for nft and iptables, which lie in folders that a user's PATH may lack.
	command.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	if p.process, err = child.Start(command, filepath.Join(dir, "kube-proxy.log")); err != nil {
		t.Fatalf("kubeproxy: start in %s: %v", options.Namespace, err)
	}
	t.Cleanup(p.Stop)
	p.waitReady()
	return p
}

// Stop kills kube-proxy; the rules stay as they are, as on a node after a crash of
// kube-proxy.
func (p *Proxy) Stop() { p.process.Kill() }

// Log returns the last lines of kube-proxy's log.
func (p *Proxy) Log() string { return p.process.Tail() }

// createNode makes the Node. kube-proxy waits for its InternalIP.
func createNode(t testing.TB, cp *controlplane.ControlPlane, options Options) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	nodes := client.CoreV1().Nodes()
	if _, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: options.Node}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("kubeproxy: create node %s: %v", options.Node, err)
	}
	// A controller manager changes a new Node, too.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(t.Context(), options.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.Addresses = nil
		for _, address := range options.Addresses {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
		}
		_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("kubeproxy: give node %s its addresses: %v", options.Node, err)
	}
}

// writeConfig writes a KubeProxyConfiguration. Fields that it leaves out have
// kube-proxy's default, as in real clusters.
func writeConfig(file, kubeconfig string, options Options) error {
	config := map[string]any{
		"apiVersion":       "kubeproxy.config.k8s.io/v1alpha1",
		"kind":             "KubeProxyConfiguration",
		"mode":             options.Mode,
		"hostnameOverride": options.Node,
		"clientConnection": map[string]any{"kubeconfig": kubeconfig},
		// The table of connections is the machine's and cannot be sized from a namespace.
		"conntrack": map[string]any{"maxPerCore": 0},
	}
	if len(options.NodePortAddresses) > 0 {
		config["nodePortAddresses"] = options.NodePortAddresses
	}
	if options.MinSyncPeriod > 0 {
		config[string(options.Mode)] = map[string]any{"minSyncPeriod": options.MinSyncPeriod.String()}
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// waitReady returns when kube-proxy has written the rules of each family that
// the Node has an address of.
func (p *Proxy) waitReady() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), startTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			return
		}
		if p.process.Ended() {
			p.t.Fatalf("kubeproxy: it ended by itself in %s\n%s", p.options.Namespace, p.Log())
		}
		select {
		case <-ctx.Done():
			p.t.Fatalf("kubeproxy: not ready in %s after %v: %v\n%s", p.options.Namespace, startTimeout, err, p.Log())
		case <-ticker.C:
		}
	}
}

func (p *Proxy) ready(ctx context.Context) error {
	answer, err := askHealth(ctx, p.options.Namespace)
	if err != nil {
		return err
	}
	for _, address := range p.options.Addresses {
		family := corev1.IPv4Protocol
		if address.Is6() {
			family = corev1.IPv6Protocol
		}
		if answer.Status[family].LastUpdated.IsZero() {
			return fmt.Errorf("no rules of %s yet", family)
		}
	}
	return nil
}
