//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// Options say what a target is like. The zero value is the default
// configuration with three workers and the file source.
type Options struct {
	// Source is the SOURCE_KIND: static, file, command, kubernetes or ionos.
	Source string
	// Workers is how many there are at the beginning; 3 when 0, none when negative.
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
	// Requests say what the next load asks.
	Requests Requests

	*Inventory
	// more are further inventories that fill the Service.
	more      []*Inventory
	namespace string
	prober    string // network namespace
	service   string // address and port
	env       map[string]string
	daemons   int
	// backends are the names that answer; nil stands for the workers.
	backends func() []string

	// quiet leaves progress to another target.
	quiet        bool
	rate         int
	load         *load
	record       atomic.Pointer[traffic.Record]
	stopProgress chan struct{}
}

// Requests are what a load asks. The zero value is a GET at a time.
type Requests struct {
	// Methods take turns. PUT and POST have a body of Body bytes.
	Methods []string
	Body    int
	// Burst requests begin at the same time.
	Burst int
	// Keep connections carry one request after the other; 0 opens one for each request.
	Keep int
	// Timeout bounds each request; [traffic.Timeout] where it is 0. With a longer one no time-out
	// is excused by a busy machine, and what takes longer than [traffic.Timeout] is reported.
	Timeout time.Duration
}

// Target makes a target, publishes its workers, and returns when the slice
// holds all of them as ready.
func (w *World) Target(t testing.TB, options Options) *Target {
	t.Helper()
	n := numbers.Add(1)
	name := fmt.Sprintf("t%d", n)
	x := w.service(name, "daemon-"+name, nil, &Inventory{t: t, world: w, handshake: options.Handshake})
	x.prober = w.prober(t, n)
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

// service makes a namespace with a Service, which a user may fill from inventories.
func (w *World) service(name, user string, annotations map[string]string, inventories ...*Inventory) *Target {
	x := &Target{Name: name, User: user, namespace: name, Inventory: inventories[0], more: inventories[1:]}
	x.record.Store(&traffic.Record{})
	x.createService(annotations)
	return x
}

// prober makes the network namespace of the n-th daemon.
func (w *World) prober(t testing.TB, n int64) string {
	t.Helper()
	name := fmt.Sprintf("prober-%d", n)
	netns.Add(t, name)
	onMgmt, onData := probers(n)
	leg(t, name, mgmt, onMgmt)
	leg(t, name, data, onData)
	return name
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

// Workers are the workers that the inventories list, each in the order in which they
// joined.
func (x *Target) Workers() []*Worker {
	workers := x.Inventory.Workers()
	for _, i := range x.more {
		workers = append(workers, i.Workers()...)
	}
	return workers
}

// CutProber drops all packets between the daemon and the workers.
func (x *Target) CutProber() { nft(x.t, x.prober, silenceOn(data)) }

// ForgetHeld makes a firewall before the prober forget the connections that are open
// to workers now, and returns their number.
func (x *Target) ForgetHeld() int {
	x.t.Helper()
	connections := established(x.t, x.prober)
	nft(x.t, x.prober, forgetting(connections))
	return len(connections)
}

// established are the connections that are open from a prober to workers, each "WORKER . LOCAL
// PORT".
func established(t testing.TB, prober string) []string {
	t.Helper()
	args := netns.Inside(prober, "ss", "-Htn", "state", "established", "dport", "=", fmt.Sprint(Port))
	output, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		t.Fatalf("list the connections of %s: %v", prober, err)
	}
	var connections []string
	for line := range strings.Lines(string(output)) {
		if fields := strings.Fields(line); len(fields) >= 4 {
			worker, _, _ := strings.Cut(fields[3], ":")
			connections = append(connections, worker+" . "+fields[2][strings.LastIndex(fields[2], ":")+1:])
		}
	}
	return connections
}

// MendProber ends CutProber and ForgetHeld.
func (x *Target) MendProber() { nft(x.t, x.prober, hear) }

// createService makes the namespace and the selector-less Service.
func (x *Target) createService(annotations map[string]string) {
	x.t.Helper()
	ctx, client := x.t.Context(), x.world.local.CoreV1()
	_, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: x.namespace}}, metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	service, err := client.Services(x.namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: annotations},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(Port)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	x.service = service.Spec.ClusterIP + ":80"
}

// annotate adds annotations to the Service.
func (x *Target) annotate(annotations map[string]string) {
	x.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		x.t.Fatal(err)
	}
	if _, err := x.world.local.CoreV1().Services(x.namespace).Patch(x.t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		x.t.Fatal(err)
	}
}

// at is the target for clients that ask at another address.
func (x *Target) at(address netip.AddrPort) *Target {
	other := &Target{Name: x.Name + "-envoy", Daemon: x.Daemon, User: x.User, Inventory: x.Inventory, namespace: x.namespace, service: address.String()}
	other.record.Store(&traffic.Record{})
	return other
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
	for _, w := range x.Workers() {
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
