package metrics_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
)

// long runs a server whose metrics are too long for what the kernel takes of an answer.
func long(t *testing.T) (server *httptest.Server, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	m, err := metrics.New(metrics.Options{Version: strings.Repeat("v", 8<<20), Broken: func(why string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, why)
	}})
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(m.Handler())
	t.Cleanup(server.Close)
	return server, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// slow is a client that takes the first byte of an answer.
func slow(t *testing.T, server *httptest.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// TestContract143WhoDoesNotTakeItsMetricsMakesWay: as many as are scraped at a time keep no other
// one out, and of more the first one is cut off.
func TestContract143WhoDoesNotTakeItsMetricsMakesWay(t *testing.T) {
	server, _ := long(t)
	first := slow(t, server)
	for range 7 {
		slow(t, server)
	}
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || len(text) < 8<<20 {
		t.Errorf("beside slow clients: got status %d, %d bytes and %v, want the metrics", response.StatusCode, len(text), err)
	}
	if _, err := io.CopyN(io.Discard, first, 8<<20); err == nil {
		t.Error("the first of nine clients got its answer, want that it made way")
	}
}

// TestContract187AClientThatGoesAwayIsNoMistakeOfTheMetrics: it resets its connection.
func TestContract187AClientThatGoesAwayIsNoMistakeOfTheMetrics(t *testing.T) {
	server, told := long(t)
	for range 3 {
		conn := slow(t, server)
		if err := conn.SetLinger(0); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	server.Close() // waits for the answers
	for _, why := range told() {
		t.Errorf("got told %.200s", why)
	}
}
