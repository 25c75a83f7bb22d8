// Package netns gives a test binary a network namespace of its own. There backends
// can have addresses that the API server accepts (it refuses loopback ones), and the
// machine is not changed. Inside, 10.0.0.0/16 and fd00::/64 are routed to the
// loopback interface: an address that a test has added answers. Any other stays
// silent, like a dead host.
//
// A package opts in with
//
//	func TestMain(m *testing.M) { netns.Main(m) }
//
// and each test that depends on it begins with [Require]. The namespace is
// entered by exec, not by a child process: process id, standard streams,
// signals, exit status and the flags of go test stay what they are. There is
// no way out of the namespace: nothing of it can reach the internet.
//
// The package is for tests only and needs unshare (util-linux) and ip (iproute2).
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The state is an environment variable, because it must survive the exec. It holds
// entered, or why there is no namespace.
const (
	stateVariable = "TEST_NETNS"
	entered       = "entered"
)

// Main runs the tests in a network namespace of their own, or outside of one
// if none can be made, and exits with their status.
func Main(m *testing.M) {
	Enter()
	os.Exit(m.Run())
}

// Enter is [Main] for a TestMain that has more to do: it returns in the new
// namespace, after the test binary was executed again, or at once if no namespace can
// be made.
func Enter() { enterWorld(loopback) }

// enterWorld returns inside, or outside when there is no way in.
func enterWorld(w world) {
	if os.Getenv(stateVariable) == entered {
		return
	}
	// Only a failure comes back from enter.
	if err := os.Setenv(stateVariable, enter(w).Error()); err != nil {
		panic(err)
	}
}

// world is what a test binary can be put into.
type world struct {
	// ways are the flags of unshare that lead into it, the best first.
	ways [][]string
	// setup runs inside, with the test binary and its arguments as $@.
	setup string
}

// loopback is one namespace: root needs no user namespace for it, others need
// one in which they are root. Its mounts are its own, for [Hosts].
var loopback = world{
	ways: [][]string{{"--net", "--mount"}, {"--user", "--map-root-user", "--net", "--mount"}},
	setup: `set -e
ip link set lo up
ip route add 10.0.0.0/16 dev lo
ip -6 route add fd00::/64 dev lo 2>/dev/null || true
[ $# = 0 ] || exec "$@"`,
}

// enter replaces the process with one in a new namespace. It tries first with a
// process that does nothing, because after an exec no process is left that could
// report an error.
func enter(w world) error {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	flags, err := usableFlags(unshare, w)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"unshare"}, flags, []string{"--", "sh", "-c", w.setup, "sh", self}, os.Args[1:])
	return syscall.Exec(unshare, args, append(os.Environ(), stateVariable+"="+entered))
}

// usableFlags finds the way into a namespace that this kernel and user allow.
func usableFlags(unshare string, w world) ([]string, error) {
	var errs []string
	for _, flags := range w.ways {
		args := slices.Concat(flags, []string{"--", "sh", "-c", w.setup})
		output, err := exec.Command(unshare, args...).CombinedOutput()
		if err == nil {
			return flags, nil
		}
		errs = append(errs, fmt.Sprintf("unshare %s: %v: %s", strings.Join(flags, " "), err, strings.TrimSpace(string(output))))
	}
	return nil, fmt.Errorf("%s", strings.Join(errs, "; "))
}

// Require skips the test if the binary does not run in a network namespace of its
// own, and says why. With CI=true the test fails instead: such a machine must have
// everything.
func Require(t testing.TB) {
	t.Helper()
	switch state := os.Getenv(stateVariable); state {
	case entered:
	case "":
		t.Fatal("netns: TestMain of this package does not call netns.Main")
	default:
		lacking(t, "no network namespace: "+state)
	}
}

func lacking(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("netns: %s; CI=true forbids to skip for that: run as root or allow user namespaces", reason)
	}
	t.Skipf("netns: %s", reason)
}
