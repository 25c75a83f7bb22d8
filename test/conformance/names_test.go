//go:build lab

package conformance_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// names asks CoreDNS for the addresses of a headless Service.
type names struct{ resolver *net.Resolver }

const dnsAddress = "127.0.0.1:5300"

func startCoreDNS(t *testing.T, w *world) *names {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Corefile")
	text := ".:5300 {\n  errors\n  kubernetes cluster.local {\n    kubeconfig " + w.cp.Kubeconfig(t) + "\n  }\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "coredns", nil, built.Tool(t, "coredns"), "-conf", file)
	return &names{&net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, dnsAddress)
	}}}
}

// ask counts each address of each answer: it sees an address that is listed twice. An
// answer without addresses is a failure.
func (c *names) ask(t *testing.T, x *target, family string, n int) answers {
	t.Helper()
	got := newAnswers()
	for range n {
		ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
		addresses, err := c.resolver.LookupNetIP(ctx, family, x.name+headless+"."+namespace+".svc.cluster.local.")
		cancel()
		var missing *net.DNSError
		switch {
		case errors.As(err, &missing) && missing.IsNotFound:
			got.failures["no such host"]++
		case err != nil:
			got.failures[err.Error()]++
		}
		for _, a := range addresses {
			got.by[a.Unmap().String()]++
		}
	}
	return got
}
