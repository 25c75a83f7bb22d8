package health_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Connections to other addresses, such as held ones, do not block a check, even when
// they use every local port.
func TestACheckNeedsNoLocalPortOfItsOwn(t *testing.T) {
	port := backend(t, loopback, func(conn *net.TCPConn) { readOnce(conn) })
	var others [8]netip.AddrPort
	for i := range others {
		address := netip.AddrFrom4([4]byte{127, 0, 0, byte(10 + i)})
		others[i] = netip.AddrPortFrom(address, backend(t, address, func(conn *net.TCPConn) { readOnce(conn) }))
	}
	netns.LocalPorts(t, 1)
	for _, other := range others {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", other.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	checker := newChecker(t, health.Options{Port: port})
	if got := checker.Check(t.Context(), loopback); got.Outcome != inventory.Pass {
		t.Errorf("got %s (%s), want Pass", got.Outcome, got.Message)
	}
}
