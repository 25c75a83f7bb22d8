package netns

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Addresses gives the namespace n IPv4 addresses from 10.0.0.11 upwards, which
// no other running test holds, until the test ends.
func Addresses(t testing.TB, n int) []netip.Addr {
	t.Helper()
	return addresses(t, netip.MustParseAddr("10.0.0.11"), n)
}

// Addresses6 is [Addresses] for IPv6, from fd00::11 upwards. A machine without
// IPv6 is treated as [Require] treats one without namespaces.
func Addresses6(t testing.TB, n int) []netip.Addr {
	t.Helper()
	return addresses(t, netip.MustParseAddr("fd00::11"), n)
}

// AddAddress gives the namespace an address until the test ends.
func AddAddress(t testing.TB, address netip.Addr) {
	t.Helper()
	Require(t)
	if held := add(t, address); held {
		t.Fatalf("netns: %v is there already", address)
	}
}

// RemoveAddress takes an address away: connections to it get no answer at all
// from then on if it is inside 10.0.0.0/16 or fd00::/64.
func RemoveAddress(t testing.TB, address netip.Addr) {
	t.Helper()
	Require(t)
	if output, err := remove(address); err != nil {
		t.Fatalf("netns: remove %v: %v: %s", address, err, output)
	}
}

// LocalPorts leaves the namespace so many local ports for connections until the
// test ends.
func LocalPorts(t testing.TB, n int) {
	t.Helper()
	Require(t)
	const path, first = "/proc/sys/net/ipv4/ip_local_port_range", 40000
	before, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, fmt.Appendf(nil, "%d %d", first, first+n-1), 0o600)
	}
	if err != nil {
		t.Fatalf("netns: local ports: %v", err)
	}
	t.Cleanup(func() { _ = os.WriteFile(path, before, 0o600) }) // the namespace ends with the tests
}

func addresses(t testing.TB, first netip.Addr, n int) []netip.Addr {
	t.Helper()
	Require(t)
	added := make([]netip.Addr, 0, n)
	for address := first; len(added) < n; address = address.Next() {
		if held := add(t, address); !held {
			added = append(added, address)
		}
	}
	return added
}

// given holds the addresses that running tests hold. A test keeps an address that it
// has removed until it ends: no other test may get the address before.
var given sync.Map

// add reports whether a test or the namespace holds the address already.
func add(t testing.TB, address netip.Addr) (held bool) {
	t.Helper()
	if _, held = given.LoadOrStore(address, true); held {
		return true
	}
	args := []string{"address", "add", prefix(address), "dev", "lo"}
	if address.Is6() {
		// Without nodad the address is tentative for a second and cannot be bound.
		args = append(args, "nodad")
	}
	output, err := ip(args...)
	switch {
	case err == nil:
		t.Cleanup(func() {
			_, _ = remove(address) // may be gone by RemoveAddress
			given.Delete(address)
		})
		awaitRoute(t, address)
		return false
	case strings.Contains(output, "exists") || strings.Contains(output, "already assigned"):
		return true
	case address.Is6() && strings.Contains(output, "IPv6 is disabled"), strings.Contains(output, "Operation not supported"):
		lacking(t, "add "+address.String()+": "+output)
	default:
		t.Fatalf("netns: add %v: %v: %s", address, err, output)
	}
	return false
}

// awaitRoute waits until the namespace delivers to the address: on a busy machine
// an IPv6 address is there a moment before its route is.
func awaitRoute(t testing.TB, address netip.Addr) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		output, err := ip("route", "get", address.String())
		if err == nil && strings.HasPrefix(output, "local ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("netns: no local route to %v: %v: %s", address, err, output)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func remove(address netip.Addr) (string, error) {
	return ip("address", "del", prefix(address), "dev", "lo")
}

func prefix(address netip.Addr) string {
	return netip.PrefixFrom(address, address.BitLen()).String()
}

func ip(args ...string) (string, error) {
	output, err := exec.Command("ip", args...).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}
