package netns_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	if os.Getenv(namedVariable) != "" {
		netns.EnterNamed()
	}
	netns.Main(m)
}

func TestAddedAddressesAnswerAndRemovedOnesAreSilent(t *testing.T) {
	netns.Require(t)
	for name, addresses := range map[string][]netip.Addr{
		"IPv4": netns.Addresses(t, 2),
		"IPv6": netns.Addresses6(t, 2),
	} {
		t.Run(name, func(t *testing.T) {
			target := listen(t, addresses[0])
			if err := dial(t, target); err != nil {
				t.Errorf("an added address with a listener: %v", err)
			}
			if err := dial(t, netip.AddrPortFrom(addresses[1], target.Port())); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("an added address without a listener: got %v, want %v", err, syscall.ECONNREFUSED)
			}
			netns.RemoveAddress(t, addresses[0])
			var timeout net.Error
			if err := dial(t, target); !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("a removed address: got %v, want a time-out", err)
			}
		})
	}
}

func TestAddressesAreNotHandedOutTwice(t *testing.T) {
	netns.Require(t)
	first, second := netns.Addresses(t, 1), netns.Addresses(t, 1)
	if first[0] == second[0] {
		t.Errorf("got %v twice", first[0])
	}
	t.Run("until the test ends", func(t *testing.T) {
		netns.AddAddress(t, second[0].Next())
	})
	if got, want := netns.Addresses(t, 1)[0], second[0].Next(); got != want {
		t.Errorf("after the end of its test: got %v, want %v again", got, want)
	}
}

func TestTheMachineIsLeftAlone(t *testing.T) {
	netns.Require(t)
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			t.Errorf("the namespace has %s of the machine", i.Name)
		}
	}
}

// The test below runs this one in a second process that enters its own namespace.
const behaveVariable = "TEST_NETNS_BEHAVE"

func TestBehave(t *testing.T) {
	switch os.Getenv(behaveVariable) {
	case "":
		return // run by the next test only
	case "fail":
		t.Error("as told")
	case "hang":
		time.Sleep(time.Minute)
	case "signal":
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	}
}

func TestGoTestSeesNoDifference(t *testing.T) {
	netns.Require(t)
	tests := []struct {
		behave, flag, wantStatus, wantOutput string
	}{
		{"pass", "-test.v", "exit status 0", "--- PASS: TestBehave"},
		{"fail", "-test.v", "exit status 1", "--- FAIL: TestBehave"},
		{"hang", "-test.timeout=200ms", "exit status 2", "test timed out after 200ms"},
		{"signal", "-test.v", "signal: terminated", "=== RUN   TestBehave"},
	}
	for _, test := range tests {
		t.Run(test.behave, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			command := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBehave$", test.flag)
			command.Env = append(os.Environ(), behaveVariable+"="+test.behave, "TEST_NETNS=")
			var output bytes.Buffer
			command.Stdout, command.Stderr = &output, &output
			_ = command.Run() // judged by its state
			if got := command.ProcessState.String(); got != test.wantStatus {
				t.Errorf("got %s, want %s", got, test.wantStatus)
			}
			if !strings.Contains(output.String(), test.wantOutput) {
				t.Errorf("got output\n%s\nwithout %q", output.String(), test.wantOutput)
			}
		})
	}
}

func listen(t *testing.T, address netip.Addr) netip.AddrPort {
	t.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return netip.AddrPortFrom(address, uint16(listener.Addr().(*net.TCPAddr).Port))
}

func dial(t *testing.T, target netip.AddrPort) error {
	t.Helper()
	dialer := net.Dialer{Timeout: 300 * time.Millisecond}
	connection, err := dialer.DialContext(t.Context(), "tcp", target.String())
	if err != nil {
		return err
	}
	return connection.Close()
}

func TestAnAddressThatATestTookAwayIsNoOtherTestsUntilItEnds(t *testing.T) {
	netns.Require(t)
	first := netns.Addresses(t, 1)[0]
	netns.RemoveAddress(t, first)
	if second := netns.Addresses(t, 1)[0]; second == first {
		t.Errorf("got %v again while its test still runs", second)
	}
}

func TestHostsGiveNamesAddresses(t *testing.T) {
	netns.Require(t)
	before, err := os.ReadFile("/etc/hosts")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("until the test ends", func(t *testing.T) {
		netns.Hosts(t, map[string]netip.Addr{"web.shop.svc": netip.MustParseAddr("10.0.0.11")})
		if got, err := net.DefaultResolver.LookupHost(t.Context(), "web.shop.svc"); err != nil || len(got) != 1 || got[0] != "10.0.0.11" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	if after, err := os.ReadFile("/etc/hosts"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("got %v and\n%s", err, after)
	}
}
