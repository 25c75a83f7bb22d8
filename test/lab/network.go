//go:build lab

package lab

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// The two networks. Clients send from sources, all of which are addresses of
// the client namespace without standing on an interface.
const (
	mgmt     = "mgmt"
	data     = "data"
	gateway  = "10.78.0.1"
	sources  = "10.77.128.0/17"
	prefixes = 16
)

// build makes the bridges, which go with the process. Nothing is learnt, so ports forward at
// once.
func build(t testing.TB) {
	t.Helper()
	for bridge, address := range map[string]string{mgmt: "02:00:00:00:78:01", data: "02:00:00:00:77:01"} {
		// Without an address of its own a bridge has that of a port, and loses it
		// with the port: then a neighbour that had learnt it would send to an
		// address without a machine for seconds.
		ip(t, "link", "add", bridge, "address", address, "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
		ip(t, "link", "set", bridge, "up")
	}
	ip(t, "address", "add", gateway+"/16", "dev", mgmt)
}

// leg gives a namespace an interface on a bridge, named like it, and returns when it
// carries packets. Then the neighbours learn the owner of the address, because
// another interface may have had it before: with arp_notify a change of the hardware
// address is announced, and with arp_accept they accept it. A neighbour that has to
// ask can lose its question on a busy machine, and repeats it a second later.
func leg(t testing.TB, namespace, bridge string, address netip.Addr) {
	t.Helper()
	port := namespace + "-" + bridge[:1]
	ip(t, "link", "add", port, "type", "veth", "peer", "name", bridge, "netns", namespace)
	// With its namespace it would go a moment later than the test.
	t.Cleanup(func() { _ = exec.Command("ip", "link", "del", port).Run() })
	ip(t, "link", "set", port, "master", bridge, "up")
	bytes := address.As4()
	shell(t, fmt.Sprintf(`set -e
nsenter --net=/run/netns/%[1]s -- sh -c 'cd /proc/sys/net/ipv4/conf/all && echo 1 >arp_notify && echo 1 >arp_accept'
ip -n %[1]s address add %[2]v/%[3]d dev %[4]s
ip -n %[1]s link set %[4]s up
until ip -d link show %[5]s | grep -q 'bridge_slave state forwarding'; do sleep 0.01; done
ip -n %[1]s link set %[4]s address 02:%02[6]x:%02[7]x:%02[8]x:%02[9]x:%02[10]x`,
		namespace, address, prefixes, bridge, port, bytes[1], bytes[2], bytes[3], rand.IntN(256), rand.IntN(256)))
}

// shell runs a script outside of the namespaces.
func shell(t testing.TB, script string) {
	t.Helper()
	if output, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, output, script)
	}
}

func ip(t testing.TB, args ...string) {
	t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, output)
	}
}

// nft runs a script of nftables in a namespace.
func nft(t testing.TB, namespace, script string) {
	t.Helper()
	args := netns.Inside(namespace, "nft", "-f", "-")
	command := exec.Command(args[0], args[1:]...)
	command.Stdin = strings.NewReader(script)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft in %s: %v: %s\n%s", namespace, err, output, script)
	}
}

// silence is a table that drops incoming packets, outgoing packets, or both. Packets
// of the loopback interface pass.
func silence(directions string) string {
	script := "table inet silence {}\ndelete table inet silence\ntable inet silence {\n"
	if directions != "out" {
		script += "chain in { type filter hook prerouting priority -400; policy drop; iif lo accept; }\n"
	}
	if directions != "in" {
		script += "chain out { type filter hook postrouting priority 400; policy drop; oif lo accept; }\n"
	}
	return script + "}\n"
}

// hear ends silence.
const hear = "table inet silence {}\ndelete table inet silence\n"

// refusing resets each connection that comes from an address; [hear] ends it.
func refusing(source netip.Addr) string {
	return fmt.Sprintf(`table inet silence {}
delete table inet silence
table inet silence {
chain in { type filter hook input priority 0; ip saddr %v meta l4proto tcp reject with tcp reset; }
}
`, source)
}

// forgetting is what a firewall does that has forgotten these connections, each
// "WORKER . LOCAL PORT": it drops what belongs to them. Other connections pass, also
// those that share a local port with one of them.
func forgetting(connections []string) string {
	return fmt.Sprintf(`table inet silence {}
delete table inet silence
table inet silence {
chain in { type filter hook prerouting priority -400; ip saddr . tcp dport { %[1]s } drop; }
chain out { type filter hook postrouting priority 400; ip daddr . tcp sport { %[1]s } drop; }
}
`, strings.Join(connections, ", "))
}

// silenceOn is [silence] of one interface, in both directions.
func silenceOn(device string) string {
	return fmt.Sprintf(`table inet silence {}
delete table inet silence
table inet silence {
chain in { type filter hook prerouting priority -400; iif %[1]s drop; }
chain out { type filter hook postrouting priority 400; oif %[1]s drop; }
}
`, device)
}
