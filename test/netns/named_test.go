package netns_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// The tests below enter named namespaces, in a process of their own. The other tests
// of this package are in the namespace with the loopback routes.
const namedVariable = "TEST_NETNS_NAMED"

func TestNamedNamespacesAreApartAndVanishWithTheProcess(t *testing.T) {
	netns.Require(t)
	if os.Getuid() != 0 {
		t.Skip("named namespaces need root")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInsideNamed$", "-test.v")
	command.Env = append(os.Environ(), namedVariable+"=1", "TEST_NETNS=")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestInsideNamed") {
		t.Fatalf("%v\n%s", err, output)
	}
	if left, err := exec.Command("ip", "netns", "list").CombinedOutput(); err != nil || strings.Contains(string(left), "near") {
		t.Errorf("got %q, %v after the process, want nothing of it", left, err)
	}
}

func TestInsideNamed(t *testing.T) {
	if os.Getenv(namedVariable) == "" {
		return // run by the test above only
	}
	netns.Add(t, "near")
	netns.Add(t, "far")
	netns.Run(t, "near", "ip", "link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", "far")
	netns.Run(t, "near", "sh", "-c", "ip address add 10.1.0.1/24 dev near0 && ip link set near0 up")
	netns.Run(t, "far", "sh", "-c", "ip address add 10.1.0.2/24 dev far0 && ip link set far0 up")
	// Nothing listens, so the only possible answer comes from the kernel.
	_, err := netns.Dial(t.Context(), "near", "tcp", "10.1.0.2:1")
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("from near to far: got %v, want refused", err)
	}
	if _, err := netns.Dial(t.Context(), "nowhere", "tcp", "10.1.0.2:1"); err == nil {
		t.Error("a namespace that is not there: got no error")
	}
	args := netns.Inside("far", "sh", "-c", "echo $$; ip -o link show far0")
	inside := exec.Command(args[0], args[1:]...)
	output, err := inside.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), fmt.Sprint(inside.Process.Pid)) {
		t.Errorf("got %q, %v, want the id %d of the process that was started", output, err, inside.Process.Pid)
	}
	netns.Delete(t, "far")
	if output, err := exec.Command("ip", "netns", "list").CombinedOutput(); err != nil || strings.Contains(string(output), "far") {
		t.Errorf("after Delete: got %q, %v", output, err)
	}
}
