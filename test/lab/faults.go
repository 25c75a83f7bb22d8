//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/apiproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/wire"
)

// Proxies stand between one daemon and its API servers.
type Proxies struct {
	// Local is before the API server that holds the slices; Remote, only with
	// the kubernetes source, before the one that knows the nodes.
	Local, Remote *apiproxy.Proxy
}

// TargetBehindProxies is [World.Target], with a daemon that reaches the API
// servers through proxies, which can misbehave for it alone.
func (w *World) TargetBehindProxies(t testing.TB, options Options) (*Target, Proxies) {
	t.Helper()
	x := w.unstarted(t, options)
	address := netip.MustParseAddr(gateway)
	p := Proxies{Local: apiproxy.Start(t, address, w.Local.Config())}
	x.Daemon.Env["KUBECONFIG"] = p.Local.Kubeconfig(t, w.Local.UserConfig(x.User))
	if options.Source == "kubernetes" {
		p.Remote = apiproxy.Start(t, address, w.Remote.Config())
		x.Daemon.Env["SECURED_KUBECONFIG"] = p.Remote.Kubeconfig(t, w.Remote.UserConfig(watcher))
	}
	x.launch(options)
	return x, p
}

// unstarted makes a target with a daemon that is ready to start.
func (w *World) unstarted(t testing.TB, options Options) *Target {
	t.Helper()
	options.Program = "none"
	x := w.Target(t, options)
	x.Daemon.Program = built.Program(t)
	return x
}

// launch starts the daemon of [World.unstarted] and waits until all workers are
// published.
func (x *Target) launch(options Options) {
	x.t.Helper()
	if options.Program != "" {
		x.Daemon.Program = options.Program
	}
	x.Daemon.Start()
	x.AwaitStates(x.allReady())
}

// AwaitAllReady waits until every listed worker, and nothing else, is published
// as ready.
func (x *Target) AwaitAllReady() {
	x.t.Helper()
	x.AwaitStates(x.allReady())
}

// AwaitHeld waits until the daemon holds a connection to every listed worker.
func (x *Target) AwaitHeld() {
	x.t.Helper()
	held := 0.0
	until(x.t, func() string {
		return fmt.Sprintf("%s: %v connections are held, want %d", x.Name, held, len(x.Workers()))
	}, func() bool {
		held = x.Daemon.Metric("ionos_endpointslice_connections_held")
		return int(held) == len(x.Workers())
	})
}

// Await waits for a condition.
func (x *Target) Await(what string, condition func() bool) {
	x.t.Helper()
	until(x.t, func() string { return x.Name + ": " + what }, condition)
}

// AddWorkerOnWire is [Target.AddWorker] with a wire instead of a good cable. The
// seed says which packets a lossy wire loses.
func (x *Target) AddWorkerOnWire(seed uint64) (*Worker, *wire.Wire) {
	x.t.Helper()
	worker := x.AddWorker()
	cable := worker.Name + "-w"
	// The worker's own leg goes. The wire takes its name and both its addresses:
	// the neighbours know them.
	hardware := hardwareAddress(x.t, worker.Name)
	netns.Run(x.t, worker.Name, "ip", "link", "del", data)
	w := wire.Join(x.t,
		wire.End{Device: cable},
		wire.End{Namespace: filepath.Join("/run/netns", worker.Name), Device: data}, seed)
	ip(x.t, "link", "set", cable, "master", data)
	netns.Run(x.t, worker.Name, "ip", "link", "set", data, "address", hardware)
	netns.Run(x.t, worker.Name, "ip", "address", "add", fmt.Sprintf("%v/%d", worker.Address, prefixes), "dev", data)
	return worker, w
}

// hardwareAddress is that of a worker's interface.
func hardwareAddress(t testing.TB, namespace string) string {
	t.Helper()
	output, err := exec.Command("ip", "-n", namespace, "-o", "link", "show", "dev", data).Output()
	_, after, found := strings.Cut(string(output), "link/ether ")
	if err != nil || !found {
		t.Fatalf("%s: no hardware address in %q: %v", namespace, output, err)
	}
	return strings.Fields(after)[0]
}

// Poller builds the loop that the daemon is compared with; see its package.
func (w *World) Poller() string {
	w.t.Helper()
	path := filepath.Join(filepath.Dir(w.backend), "poller")
	if output, err := exec.Command("go", "build", "-o", path, "./poller").CombinedOutput(); err != nil {
		w.t.Fatalf("build the poller: %v\n%s", err, output)
	}
	return path
}

// LastLost returns how long after a fault the last request began that was lost
// in that way ("refused", "time-out"), and how many were; see [traffic.Result].
func (x *Target) LastLost(fault time.Time, failure string) (after time.Duration, count int) {
	for _, lost := range x.Record().Lost() {
		if lost.Failure == failure && !lost.Start.Before(fault) {
			after = lost.Start.Sub(fault)
			count++
		}
	}
	return after, count
}

// Allowance is how much longer a promise may take on a starved machine: nothing while
// 99 of 100 requests begin within 20 ms of their time. Beyond that it is ten times
// their lateness, because so many programs must be scheduled one after the other
// before a change arrives. It is at most two seconds.
func Allowance(record *traffic.Record) time.Duration {
	late := record.Lateness()
	if late <= 20*time.Millisecond {
		return 0
	}
	return min(10*late, 2*time.Second)
}
