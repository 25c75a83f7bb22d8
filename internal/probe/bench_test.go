package probe_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

func BenchmarkCheckTCP(b *testing.B) {
	benchmarkCheck(b, probe.Options{Port: backend(b, loopback, hang)})
}

func BenchmarkCheckHTTP(b *testing.B) {
	serve := answer("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
	benchmarkCheck(b, probe.Options{Mode: probe.HTTP, Port: backend(b, loopback, serve), Path: "/healthz"})
}

// benchmarkCheck measures a check together with the backend that answers it, for
// they share the process.
func benchmarkCheck(b *testing.B, options probe.Options) {
	b.Helper()
	checker := newChecker(b, options)
	b.ReportAllocs()
	for b.Loop() {
		if got := checker.Check(b.Context(), loopback); got.Outcome != inventory.Pass {
			b.Fatalf("got %s (%s), want Pass", got.Outcome, got.Message)
		}
	}
}
