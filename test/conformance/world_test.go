//go:build lab

package conformance_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

const (
	// waitTimeout bounds every wait; on an idle machine the longest takes five seconds.
	waitTimeout = time.Minute
	// bound ends a run in which much is wrong.
	bound = 10 * time.Minute
)

// world is one API server and what surrounds it. Backends, daemons, CoreDNS and
// Traefik share the namespace of the test; each kube-proxy has its own, with
// the clients that use its rules.
type world struct {
	cp     *controlplane.ControlPlane
	client kubernetes.Interface
	// next4 and next6 are the addresses of the next backend.
	next4, next6 netip.Addr
}

// host is where the API server listens, and the way of the clients to the
// backends, which are addresses of the loopback interface beside it.
var (
	host  = netip.MustParseAddr("10.77.0.1")
	host6 = netip.MustParseAddr("fd77::1")
)

func newWorld(t *testing.T) *world {
	t.Helper()
	netns.Require(t)
	addAddress(t, host)
	addAddress(t, host6)
	cp := controlplane.Start(t, controlplane.Options{BindAddress: host})
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &world{cp: cp, client: client, next4: netip.MustParseAddr("10.77.1.1"), next6: netip.MustParseAddr("fd77::1:1")}
}

// addClient makes a namespace with a link to ours. Every other address is reached
// over that link.
func addClient(t *testing.T, name string, number byte) []netip.Addr {
	t.Helper()
	netns.Add(t, name)
	here, there := netip.AddrFrom4([4]byte{10, 76, number, 1}), netip.AddrFrom4([4]byte{10, 76, number, 2})
	six := [16]byte{0: 0xfd, 1: 0x76, 3: number, 15: 1}
	here6 := netip.AddrFrom16(six)
	there6 := here6.Next()
	ip(t, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
	ip(t, "link", "set", name, "up")
	ip(t, "-n", name, "link", "set", "eth0", "up")
	ip(t, "address", "add", here.String()+"/24", "dev", name)
	// Without nodad the address is tentative for a second.
	ip(t, "address", "add", here6.String()+"/64", "dev", name, "nodad")
	ip(t, "-n", name, "address", "add", there.String()+"/24", "dev", "eth0")
	ip(t, "-n", name, "address", "add", there6.String()+"/64", "dev", "eth0", "nodad")
	ip(t, "-n", name, "route", "add", "default", "via", here.String())
	ip(t, "-n", name, "route", "add", "default", "via", here6.String())
	return []netip.Addr{there, there6}
}

// addAddress gives our namespace an address, for as long as it lasts.
func addAddress(t *testing.T, address netip.Addr) {
	t.Helper()
	args := []string{"address", "add", netip.PrefixFrom(address, address.BitLen()).String(), "dev", "lo"}
	if address.Is6() {
		args = append(args, "nodad")
	}
	ip(t, args...)
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, output)
	}
}

// run starts a program until the test ends, with nothing in its environment but
// env, and returns the path of its log.
func run(t *testing.T, name string, env []string, command ...string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), name+".log")
	program := exec.Command(command[0], command[1:]...)
	program.Env = env
	started, err := child.Start(program, log)
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(started.Kill)
	return log
}

// tail is the end of a log, for messages.
func tail(log string) string {
	const most = 4 << 10
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// until waits for a condition, and fails with what the complaint says.
func until(t *testing.T, complaint func() string, condition func() bool) {
	t.Helper()
	poll.Until(t, waitTimeout, condition, complaint)
}
