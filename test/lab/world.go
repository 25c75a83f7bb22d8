//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// World is two clusters, two networks, and clients behind a kube-proxy.
type World struct {
	// Local is the cluster with the Services, Remote the one with the Nodes.
	Local, Remote *controlplane.ControlPlane

	t             testing.TB
	local, remote kubernetes.Interface
	backend, load string // programs
	loads         atomic.Int64
	// clients is the namespace that requests come from, clientNode its address beside the sources.
	clients    string
	clientNode netip.Addr
	// pods says that the local cluster has Pods, which kubelet runs. Their file of hosts is
	// names.
	pods    bool
	kubelet *kubelet
	names   string
	proxy   *kubeproxy.Proxy
}

// Worlds share the two networks, so no name and no address is given twice.
var (
	worlds, numbers atomic.Int64
	bridges         sync.Once
)

// Start builds a world until the test ends. One is enough for many scenarios, and others may
// stand beside it, with clusters and clients of their own.
func Start(t testing.TB) *World {
	t.Helper()
	return (&World{t: t}).start()
}

// StartWithPods is [Start] with Pods in the local cluster, see [kubelet].
func StartWithPods(t testing.TB) *World {
	t.Helper()
	w := (&World{t: t, pods: true}).start()
	w.runKubelet()
	return w
}

func (w *World) start() *World {
	t := w.t
	t.Helper()
	netns.Require(t)
	began := time.Now()
	w.compile()
	bridges.Do(func() { build(t) })
	w.startClusters()
	n := byte(worlds.Add(1))
	w.clients, w.clientNode = fmt.Sprintf("client-%d", n), netip.AddrFrom4([4]byte{10, 77, 127, n})
	netns.Add(t, w.clients)
	leg(t, w.clients, mgmt, netip.AddrFrom4([4]byte{10, 78, 0, 1 + n}))
	leg(t, w.clients, data, w.clientNode)
	// All sources are local, and a packet to a Service has a way until kube-proxy's
	// rules give it its destination.
	netns.Run(t, w.clients, "ip", "route", "add", "local", sources, "dev", "lo")
	netns.Run(t, w.clients, "ip", "route", "add", "default", "via", "10.77.127.254", "dev", data)
	w.startProxy()
	progress("the lab stands after %.0f s", time.Since(began).Seconds())
	return w
}

// answer gives a machine the way back to the clients of this world: others have the same sources,
// and no machine has to ask for the neighbour at a new one.
func (w *World) answer(t testing.TB, machine string) {
	t.Helper()
	netns.Run(t, machine, "ip", "route", "add", sources, "via", w.clientNode.String(), "dev", data)
}

func (w *World) startProxy() {
	w.t.Helper()
	w.proxy = kubeproxy.Start(w.t, w.Local, kubeproxy.Options{Namespace: w.clients, Addresses: []netip.Addr{w.clientNode}})
}

// RestartProxy gives the clients a new kube-proxy, which has read all when this returns. One
// whose API server was away backs off for up to a minute.
func (w *World) RestartProxy() {
	w.t.Helper()
	w.proxy.Stop()
	w.startProxy()
}

// compile builds the backend and the load, without the race detector: they have
// to be cheap.
func (w *World) compile() {
	w.t.Helper()
	dir := w.t.TempDir()
	w.backend, w.load = filepath.Join(dir, "backend"), filepath.Join(dir, "load")
	build := exec.Command("go", "build", "-o", dir, "../traffic/backend", "../traffic/load")
	if output, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %v\n%s", build, err, output)
	}
}

// startClusters starts both clusters at the same time.
func (w *World) startClusters() {
	w.t.Helper()
	remote := controlplane.Options{BindAddress: netip.MustParseAddr(gateway), Audit: true}
	local := remote
	local.ControllerManager = w.pods
	var started sync.WaitGroup
	started.Go(func() { w.Local = controlplane.Start(w.t, local) })
	started.Go(func() { w.Remote = controlplane.Start(w.t, remote) })
	started.Wait()
	if w.Local == nil || w.Remote == nil {
		w.t.FailNow() // said in the goroutine
	}
	for cp, client := range map[*controlplane.ControlPlane]*kubernetes.Interface{w.Local: &w.local, w.Remote: &w.remote} {
		made, err := kubernetes.NewForConfig(cp.Config())
		if err != nil {
			w.t.Fatal(err)
		}
		*client = made
	}
}

// Client is an administrator's client of the local cluster.
func (w *World) Client() kubernetes.Interface { return w.local }

// probers gives the n-th prober its addresses.
func probers(n int64) (onMgmt, onData netip.Addr) {
	return netip.AddrFrom4([4]byte{10, 78, byte(1 + n>>8), byte(n)}), netip.AddrFrom4([4]byte{10, 77, byte(64 + n>>8), byte(n)})
}

// source is the n-th load's network: 64 addresses, for 3.2 million requests.
func source(n int64) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, byte(128 + n>>2%128), byte(n << 6)}), 26)
}

// progress prints for people who watch. It goes past the test's log, which is shown
// at its end.
func progress(format string, args ...any) {
	fmt.Printf("    %s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
