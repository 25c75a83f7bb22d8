//go:build lab

package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// Options say what a target is like. The zero value is the default
// configuration with three workers and the file source.
type Options struct {
	// Source is the SOURCE_KIND: static, file, command, kubernetes or ionos.
	Source string
	// Workers is how many there are at the beginning; 3 when 0.
	Workers int
	// Env is added to the daemon's environment. SOURCE_POLL_INTERVAL is 2s where
	// it says nothing else, all other settings have their defaults.
	Env map[string]string
	// Handshake makes the backends HTTPS servers, and the clients ask over TLS. It is
	// how long a backend waits for a handshake.
	Handshake time.Duration
	// Program is run instead of the built daemon, with the same environment and
	// network: for what the daemon is compared with. None runs when it is "none".
	Program string
}

// Target is a Service with its workers and its daemon.
type Target struct {
	// Name is the name of the test, and of the namespace in both clusters.
	Name string
	// Daemon is the one that runs; scenarios may start others by [Target.NewDaemon].
	Daemon *Daemon
	// Cloud is the fake of the IONOS API, for the sources that ask it.
	Cloud *ionostest.API
	// User is the user of the daemon at the local API server.
	User string

	t         testing.TB
	world     *World
	namespace string
	prober    string // network namespace
	service   string // address and port
	env       map[string]string
	source    lister
	workers   []*Worker
	daemons   int
	handshake time.Duration

	rate         int
	load         *load
	record       atomic.Pointer[traffic.Record]
	stopProgress chan struct{}
}

// Target makes a target, publishes its workers, and returns when the slice
// holds all of them as ready.
func (w *World) Target(t testing.TB, options Options) *Target {
	t.Helper()
	n := w.count.Add(1)
	x := &Target{Name: fmt.Sprintf("t%d", n), t: t, world: w, prober: fmt.Sprintf("prober-%d", n)}
	x.record.Store(&traffic.Record{})
	x.namespace, x.User, x.handshake = x.Name, "daemon-"+x.Name, options.Handshake
	x.createService()
	netns.Add(t, x.prober)
	onMgmt, onData := probers(n)
	leg(t, x.prober, mgmt, onMgmt)
	leg(t, x.prober, data, onData)
	x.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(),
		"SOURCE_POLL_INTERVAL": "2s", "SECURED_SUBNET_CIDR": "10.77.0.0/16",
		"TARGET_NAMESPACE": x.namespace, "TARGET_SERVICE_NAME": "web", "TARGET_PORT": fmt.Sprint(Port),
		"STORE_KIND": "client-go", "KUBECONFIG": x.grant(), "KUBECTL_PATH": w.Local.KubectlPath(),
	}
	x.useSource(options.Source)
	maps.Copy(x.env, options.Env)
	x.begin(options)
	return x
}

// begin starts the workers and the daemon.
func (x *Target) begin(options Options) {
	x.t.Helper()
	if options.Workers == 0 {
		options.Workers = 3
	}
	for range options.Workers {
		x.workers = append(x.workers, x.AddWorker())
	}
	x.Daemon = x.NewDaemon()
	if options.Program != "" {
		x.Daemon.Program = options.Program
	}
	x.list()
	if options.Program == "none" {
		return
	}
	x.Daemon.Start()
	if options.Program == "" {
		x.AwaitStates(x.allReady())
	}
}

// NewDaemon makes one more daemon for the target, which is not started.
func (x *Target) NewDaemon() *Daemon {
	d := x.daemon(x.daemons)
	x.daemons++
	return d
}

// Workers are the workers that the inventory lists, in the order in which they
// joined.
func (x *Target) Workers() []*Worker { return slices.Clone(x.workers) }

// AddWorker starts a machine that the inventory does not list yet.
func (x *Target) AddWorker() *Worker {
	x.t.Helper()
	return x.world.newWorker(x.t, netip.Addr{}, x.handshake)
}

// AddWorkerAt is [Target.AddWorker] with an address that another had.
func (x *Target) AddWorkerAt(address netip.Addr) *Worker {
	x.t.Helper()
	return x.world.newWorker(x.t, address, x.handshake)
}

// Join makes the inventory list workers.
func (x *Target) Join(workers ...*Worker) {
	x.t.Helper()
	x.workers = append(x.workers, workers...)
	x.list()
}

// Leave makes the inventory say that workers are about to leave. A source that cannot
// say so no longer lists them.
func (x *Target) Leave(workers ...*Worker) {
	x.t.Helper()
	for _, w := range workers {
		w.leaving = true
	}
	x.list()
}

// Gone takes workers out of the inventory.
func (x *Target) Gone(workers ...*Worker) {
	x.t.Helper()
	x.workers = slices.DeleteFunc(x.workers, func(w *Worker) bool { return slices.Contains(workers, w) })
	x.list()
}

// Replace makes these workers the whole inventory.
func (x *Target) Replace(workers ...*Worker) {
	x.t.Helper()
	x.workers = slices.Clone(workers)
	x.list()
}

// CutProber drops all packets between the daemon and the workers.
func (x *Target) CutProber() { nft(x.t, x.prober, silenceOn(data)) }

// ForgetHeld makes a firewall before the prober forget the connections that are open
// to workers now, and returns their number.
func (x *Target) ForgetHeld() int {
	x.t.Helper()
	args := netns.Inside(x.prober, "ss", "-Htn", "state", "established", "dport", "=", fmt.Sprint(Port))
	output, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		x.t.Fatalf("list the connections of %s: %v", x.prober, err)
	}
	var connections []string
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) >= 4 {
			worker, _, _ := strings.Cut(fields[3], ":")
			connections = append(connections, worker+" . "+fields[2][strings.LastIndex(fields[2], ":")+1:])
		}
	}
	nft(x.t, x.prober, forgetting(connections))
	return len(connections)
}

// MendProber ends CutProber and ForgetHeld.
func (x *Target) MendProber() { nft(x.t, x.prober, hear) }

// createService makes the namespace and the selector-less Service.
func (x *Target) createService() {
	x.t.Helper()
	ctx, client := x.t.Context(), x.world.local.CoreV1()
	_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}, metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	service, err := client.Services(x.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	x.service = service.Spec.ClusterIP + ":80"
}

// States is what is published: the state of each address.
func (x *Target) States() map[netip.Addr]string {
	states := map[netip.Addr]string{}
	list, err := x.world.local.DiscoveryV1().EndpointSlices(x.namespace).List(x.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil // the API server may be the fault
	}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			states[netip.MustParseAddr(e.Addresses[0])] = state(e.Conditions)
		}
	}
	return states
}

// state names a combination of conditions.
func state(c discoveryv1.EndpointConditions) string {
	switch {
	case c.Ready == nil || c.Serving == nil || c.Terminating == nil:
		return "unwritten"
	case *c.Ready:
		return "ready"
	case *c.Serving && *c.Terminating:
		return "draining"
	}
	return "down"
}

// allReady is what is published when every listed worker is healthy.
func (x *Target) allReady() map[netip.Addr]string {
	states := map[netip.Addr]string{}
	for _, w := range x.workers {
		states[w.Address] = "ready"
	}
	return states
}

// AwaitStates waits until exactly these addresses are published so.
func (x *Target) AwaitStates(want map[netip.Addr]string) {
	x.t.Helper()
	var got map[netip.Addr]string
	until(x.t, func() string { return fmt.Sprintf("%s: published: got %v, want %v", x.Name, got, want) }, func() bool {
		got = x.States()
		return maps.Equal(got, want)
	})
}

// AwaitState waits until a worker is published in that state; "" means not at all.
func (x *Target) AwaitState(w *Worker, want string) {
	x.t.Helper()
	until(x.t, func() string {
		return fmt.Sprintf("%s: %s is %q, want %q", x.Name, w.Name, x.States()[w.Address], want)
	}, func() bool {
		states := x.States()
		return states != nil && states[w.Address] == want
	})
}
