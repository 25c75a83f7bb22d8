package health_test

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// nearby makes a network next to a namespace: the interface "near", the cable
// and, at its far end, a router that knows no way to some networks and says so
// by ICMP. The router is the same kernel, by way of a routing table that only
// packets from the cable see.
const nearby = `set -e
ip link set lo up
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

// reachResult is what reachRole prints: the result of a check, or why there is none.
type reachResult struct {
	Result inventory.Result
	Error  string
}

// reachRole sets up the network around a namespace of its own, where it disturbs no
// other test, and makes a check of each address.
func reachRole(addresses string) {
	checker := health.New(health.Options{Port: 80, Timeout: 20 * time.Second})
	for address := range strings.FieldsSeq(addresses) {
		script := map[string]string{"IPv4": nearby, "IPv6": nearby6}[address]
		if script == "" {
			printJSON(reachResult{Result: checker.Check(context.Background(), netip.MustParseAddr(address))})
			continue
		}
		if output, err := exec.CommandContext(context.Background(), "sh", "-c", script).CombinedOutput(); err != nil {
			printJSON(reachResult{Error: fmt.Sprintf("%v: %s", err, output)})
			return
		}
	}
}

// reach starts reachRole for a family and returns the results.
func reach(t *testing.T, family string, addresses []string) []inventory.Result {
	t.Helper()
	netns.Require(t)
	if family == "IPv6" {
		requireIPv6(t)
	}
	networks := []string{"reach", "IPv4"}
	if family == "IPv6" {
		networks = append(networks, family)
	}
	role := strings.Join(append(networks, addresses...), " ")
	_, printed := startRole(t, role, func(command *exec.Cmd) {
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	})
	var results []inventory.Result
	for range addresses {
		switch got := next[reachResult](t, printed); {
		case got.Error == "":
			results = append(results, got.Result)
		default:
			lacking(t, "cannot set up the network: "+got.Error)
		}
	}
	return results
}

func TestContract09OnlyTheNetworkMakesAnAddressUnreachable(t *testing.T) {
	const silent, ours = inventory.Silent, inventory.LocalError
	type test struct {
		name, address string
		outcome       inventory.Outcome
		message       string
	}
	families := map[string][]test{
		"IPv4": {
			{"ICMP host unreachable", "10.20.0.1", silent, "connecting to 10.20.0.1:80: no route to host"},
			{"ICMP prohibited", "10.21.0.1", silent, "connecting to 10.21.0.1:80: no route to host"},
			{"ICMP net unreachable", "10.22.0.1", silent, "connecting to 10.22.0.1:80: network is unreachable"},
			{"no such neighbour", "10.9.0.77", silent, "connecting to 10.9.0.77:80: no route to host"},
			{"no route", "10.99.0.1", ours, "this machine has no route to 10.99.0.1: network is unreachable"},
			{"a route that says unreachable", "10.30.0.1", ours, "this machine has no route to 10.30.0.1: no route to host"},
			{"a route that forbids", "10.31.0.1", ours, "connecting to 10.31.0.1:80: permission denied"},
			{"a route into nothing", "10.32.0.1", ours, "connecting to 10.32.0.1:80: invalid argument"},
		},
		"IPv6": {
			{"ICMPv6 no route", "fd20::1", silent, "connecting to [fd20::1]:80: network is unreachable"},
			{"ICMPv6 prohibited", "fd21::1", silent, "connecting to [fd21::1]:80: permission denied"},
			{"no route", "fd99::1", ours, "this machine has no route to fd99::1: network is unreachable"},
			{"a route that forbids", "fd31::1", ours, "this machine has no route to fd31::1: permission denied"},
		},
	}
	for family, tests := range families {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			var addresses []string
			for _, test := range tests {
				addresses = append(addresses, test.address)
			}
			for i, got := range reach(t, family, addresses) {
				test, reason := tests[i], inventory.Reason("")
				if test.outcome == silent {
					reason = inventory.ProbeUnreachable
				}
				if got.Outcome != test.outcome || got.Reason != reason || got.Message != test.message {
					t.Errorf("%s: got %s %q (%s), want %s %q (%s)", test.name,
						got.Outcome, got.Reason, got.Message, test.outcome, reason, test.message)
				}
			}
		})
	}
}
