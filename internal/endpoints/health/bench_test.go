package health_test

import (
	"net"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

func BenchmarkCheckTCP(b *testing.B) {
	benchmarkCheck(b, health.Options{Port: backend(b, loopback, func(conn *net.TCPConn) { readOnce(conn) })})
}

func BenchmarkCheckHTTP(b *testing.B) {
	port := backend(b, loopback, func(conn *net.TCPConn) {
		readOnce(conn)
		_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"))
	})
	benchmarkCheck(b, health.Options{Mode: health.HTTP, Port: port, Path: "/healthz"})
}

// readOnce reads a request, or the end, at little cost.
func readOnce(conn *net.TCPConn) {
	var buffer [512]byte
	_, _ = conn.Read(buffer[:])
}

// benchmarkCheck measures a check together with the backend that answers it, because
// they share the process.
func benchmarkCheck(b *testing.B, options health.Options) {
	b.Helper()
	checker := newChecker(b, options)
	b.ReportAllocs()
	for b.Loop() {
		if got := checker.Check(b.Context(), loopback); got.Outcome != inventory.Pass {
			b.Fatalf("got %s (%s), want Pass", got.Outcome, got.Message)
		}
	}
}
