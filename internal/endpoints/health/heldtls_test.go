package health_test

import (
	"bytes"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
)

// handshakeTimeout is how long the server waits for a handshake.
const handshakeTimeout = 100 * time.Millisecond

// said is the log of a server.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

// lines returns what was logged so far.
func (s *said) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSpace(s.text.String()), "\n")
}

// A TLS server waits for a handshake that never comes, and closes the connection. That
// is an alarm, and the next connection comes after a longer pause each time.
func TestATLSServerIsHeldWithoutAHandshakeAndEverMoreRarely(t *testing.T) {
	opened := make(chan time.Time, 10)
	complaints := &said{}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ReadHeaderTimeout = handshakeTimeout // bounds the handshake, too
	server.Config.ErrorLog = log.New(complaints, "", 0)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened <- time.Now()
		}
	}
	server.StartTLS()
	defer server.Close()
	peer := netip.MustParseAddrPort(server.Listener.Addr().String())
	alarms := make(chan health.Alarm, 10)
	_, end := begun(t, peer, func(a health.Alarm) { alarms <- a }, peer.Addr())
	defer end()

	last := <-opened
	for _, shortest := range []time.Duration{time.Second, 2 * time.Second} {
		alarm := <-alarms
		if got := alarm.At.Sub(last); alarm.Kind != health.Closed || got < handshakeTimeout/2 {
			t.Errorf("got %s after %v, want closed when the time for a handshake is over", alarm.Kind, got)
		}
		last = <-opened
		if pause := last.Sub(alarm.At); pause < shortest {
			t.Errorf("got a connection %v after the loss, want a pause of at least %v", pause, shortest)
		}
	}
	for _, line := range complaints.lines() {
		if !strings.Contains(line, "TLS handshake error") || !strings.Contains(line, "i/o timeout") {
			t.Errorf("the server says %q, want nothing but handshakes that were never begun", line)
		}
	}
}
