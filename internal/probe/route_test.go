package probe_test

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// nearby makes a network next to the namespace: the interface "near", the cable
// and, at its far end, a router that knows no way to some networks and says so
// by ICMP. The router is the same kernel, by way of a routing table that only
// packets from the cable see.
const nearby = `set -e
ip link add near type veth peer name far address 02:00:00:00:00:fe
ip link set near up
ip link set far up
ip address add 10.9.0.1/24 dev near
ip neighbour add 10.9.0.254 lladdr 02:00:00:00:00:fe dev near
for net in 10.20.0.0/24 10.21.0.0/24 10.22.0.0/24; do ip route add $net via 10.9.0.254; done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
echo 0 >/proc/sys/net/ipv4/conf/far/rp_filter
echo 1 >/proc/sys/net/ipv4/conf/far/accept_local
echo 100 >/proc/sys/net/ipv4/neigh/near/retrans_time_ms
ip rule add iif far lookup 100
ip route add unreachable 10.20.0.0/24 table 100
ip route add prohibit 10.21.0.0/24 table 100
ip rule add iif far to 10.22.0.0/24 unreachable
ip route add unreachable 10.30.0.0/24
ip route add prohibit 10.31.0.0/24
ip route add blackhole 10.32.0.0/24`

// nearby6 adds what IPv6 does in its own way.
const nearby6 = `set -e
ip -6 address add fd09::1/64 dev near nodad
ip -6 neighbour add fd09::fe lladdr 02:00:00:00:00:fe dev near
for net in fd20::/64 fd21::/64; do ip -6 route add $net via fd09::fe; done
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ip -6 rule add iif far lookup 100
ip -6 route add unreachable fd20::/64 table 100
ip -6 route add prohibit fd21::/64 table 100
ip -6 route add prohibit fd31::/64`

// removeNearby undoes both.
const removeNearby = `ip link del near
for net in 10.30.0.0/24 10.31.0.0/24 10.32.0.0/24; do ip route del $net; done
for net in 10.20.0.0/24 10.21.0.0/24; do ip route del $net table 100; done
while ip rule del iif far; do :; done
while ip -6 rule del iif far; do :; done
for net in fd20::/64 fd21::/64; do ip -6 route del $net table 100; done
ip -6 route del fd31::/64`

// prepare runs a script in the namespace.
func prepare(t *testing.T, script string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("cannot set up the network: %v: %s", err, output)
	default:
		t.Skipf("cannot set up the network: %v: %s", err, output)
	}
}

func TestContract09OnlyTheNetworkMakesAnAddressUnreachable(t *testing.T) {
	netns.Require(t)
	t.Cleanup(func() { _ = exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c", removeNearby).Run() })
	prepare(t, nearby)
	type test struct{ name, address, message string }
	unreachable := []test{
		{"ICMP host unreachable", "10.20.0.1", "connecting to 10.20.0.1:80: the network answered: no route to host"},
		{"ICMP prohibited", "10.21.0.1", "connecting to 10.21.0.1:80: the network answered: no route to host"},
		{"ICMP net unreachable", "10.22.0.1", "connecting to 10.22.0.1:80: the network answered: network is unreachable"},
		{"no such neighbour", "10.9.0.77", "connecting to 10.9.0.77:80: the network answered: no route to host"},
	}
	ours := []test{
		{"no route", "10.99.0.1", "no route to 10.99.0.1: network is unreachable"},
		{"no route for IPv6", "fd99::1", "no route to fd99::1: network is unreachable"},
		{"a route that says unreachable", "10.30.0.1", "no route to 10.30.0.1: no route to host"},
		{"a route that forbids", "10.31.0.1", "connecting to 10.31.0.1:80: permission denied"},
		{"a route into nothing", "10.32.0.1", "connecting to 10.32.0.1:80: invalid argument"},
	}
	if _, err := os.Stat("/proc/sys/net/ipv6"); err == nil {
		prepare(t, nearby6)
		unreachable = append(unreachable,
			test{"ICMPv6 no route", "fd20::1", "connecting to [fd20::1]:80: the network answered: network is unreachable"},
			test{"ICMPv6 prohibited", "fd21::1", "connecting to [fd21::1]:80: the network answered: permission denied"},
		)
		ours = append(ours, test{"an IPv6 route that forbids", "fd31::1", "no route to fd31::1: permission denied"})
	}
	checker := newChecker(t, probe.Options{Port: 80})
	check := func(test test, outcome inventory.Outcome, reason inventory.Reason) {
		t.Run(test.name, func(t *testing.T) {
			got := expect(t, checker, netip.MustParseAddr(test.address), outcome, reason)
			if got.Message != test.message {
				t.Errorf("got message %q, want %q", got.Message, test.message)
			}
		})
	}
	for _, test := range unreachable {
		check(test, inventory.Silent, inventory.ProbeUnreachable)
	}
	for _, test := range ours {
		check(test, inventory.LocalError, "")
	}
}

func TestContract11NoProxyIsUsed(t *testing.T) {
	// Proxies are never used for loopback addresses, so this needs another.
	address := netns.Addresses(t, 1)[0]
	strangers := make(chan string, 100)
	proxy := backend(t, loopback, stranger(strangers))
	port := backend(t, address, answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	var environment []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		value := "=http://" + netip.AddrPortFrom(loopback, proxy).String()
		environment = append(environment, name+value, strings.ToLower(name)+value)
	}
	_, printed := startRole(t, "check "+netip.AddrPortFrom(address, port).String(), environment...)
	if got := next[inventory.Result](t, printed); got.Outcome != inventory.Pass {
		t.Errorf("got %s (%s), want Pass", got.Outcome, got.Message)
	}
	if len(strangers) > 0 {
		t.Errorf("the proxy was asked: %q", <-strangers)
	}
}
