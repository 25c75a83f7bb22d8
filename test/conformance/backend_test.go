//go:build lab

package conformance_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
)

// port is where all backends listen.
const port = 8080

// member is a worker with a backend on each of its addresses. A backend always
// answers users with its address, also when its health check fails.
type member struct {
	name      string
	addresses []netip.Addr
	sick      atomic.Bool
}

func (w *world) newMember(t *testing.T, name string, bothFamilies bool) *member {
	t.Helper()
	m := &member{name: name, addresses: []netip.Addr{w.next4}}
	w.next4 = w.next4.Next()
	if bothFamilies {
		m.addresses = append(m.addresses, w.next6)
		w.next6 = w.next6.Next()
	}
	for _, address := range m.addresses {
		addAddress(t, address)
		m.serve(t, address)
	}
	return m
}

func (m *member) serve(t *testing.T, address netip.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, port).String())
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, address.String()) })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if m.sick.Load() {
			http.Error(w, "sick, as told", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

// inventory is the node as an inventory file has it.
func (m *member) inventory(leaving bool) map[string]any {
	return map[string]any{
		"name": m.name, "private_ips": m.addresses, "ready": true, "worker": true, "leaving": leaving,
	}
}

func (s scenario) memberName(i int) string { return fmt.Sprintf("%s-%d", s.name, i) }
