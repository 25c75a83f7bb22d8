package netns

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// folder is where ip keeps the names of network namespaces.
const folder = "/run/netns"

// named is a namespace from which others can be made, by name. Their names lie in a
// mount namespace of its own: they go with the last process in it, and the machine
// never sees any of them.
var named = world{
	ways: [][]string{{"--net", "--mount", "--propagation", "private"}},
	setup: `set -e
mkdir -p ` + folder + `
mount -t tmpfs netns ` + folder + `
ip link set lo up
[ $# = 0 ] || exec "$@"`,
}

// neighbours is how many hosts the namespaces may know together, see [EnterNamed].
const neighbours = 8192

// EnterNamed is [Enter] for tests that need several namespaces: root is needed,
// and nothing is routed to the loopback interface. The kernel counts the neighbours
// that it knows over all namespaces and forgets some beyond 1,024, so that packets to
// them get lost for a second. Where that limit is lower than 8,192, EnterNamed raises
// it, until the machine starts anew; it is the only thing that is changed outside.
func EnterNamed() {
	const limit = "/proc/sys/net/ipv4/neigh/default/gc_thresh3"
	// There is no such file in a namespace, so inside it is left alone.
	if text, err := os.ReadFile(limit); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n < neighbours {
			_ = os.WriteFile(limit, []byte(strconv.Itoa(neighbours)), 0) // without the right it stays
		}
	}
	enterWorld(named)
}

// Add makes a namespace with its loopback interface up, until the test ends or
// [Delete] is called. It needs [EnterNamed].
func Add(t testing.TB, name string) {
	t.Helper()
	Require(t)
	if output, err := ip("netns", "add", name); err != nil {
		t.Fatalf("netns: add %s: %v: %s", name, err, output)
	}
	t.Cleanup(func() { _, _ = ip("netns", "del", name) }) // may be gone by Delete
	if output, err := ip("-n", name, "link", "set", "lo", "up"); err != nil {
		t.Fatalf("netns: %s: set lo up: %v: %s", name, err, output)
	}
}

// Delete takes a namespace away, with the interfaces in it. What runs in it
// goes on without a network. One that is gone is no error: the end of the test may have
// been faster.
func Delete(t testing.TB, name string) {
	t.Helper()
	output, err := ip("netns", "del", name)
	if _, gone := os.Stat(filepath.Join(folder, name)); err != nil && !os.IsNotExist(gone) {
		t.Fatalf("netns: delete %s: %v: %s", name, err, output)
	}
}

// Inside returns the command line that runs a command in a namespace. The
// process that it starts is the command's own: same id, same signals.
func Inside(name string, command ...string) []string {
	return append([]string{"nsenter", "--net=" + filepath.Join(folder, name), "--"}, command...)
}

// Run runs a command in a namespace to its end.
func Run(t testing.TB, name string, command ...string) {
	t.Helper()
	args := Inside(name, command...)
	if output, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("netns: %s: %v: %v: %s", name, command, err, output)
	}
}
