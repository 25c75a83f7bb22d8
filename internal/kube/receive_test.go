package kube_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// TestContract170AnAnswerIsNotReceivedLongBeforeItIsRead: the window of a stream, which the
// client sends in its first frame, is what a server may send ahead.
func TestContract170AnAnswerIsNotReceivedLongBeforeItIsRead(t *testing.T) {
	windows := make(chan uint32, 1)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{NextProtos: []string{"h2"}}
	server.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { windows <- initialWindow(t, conn) },
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	wrapped := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	wrapped.Wrap(func(inner http.RoundTripper) http.RoundTripper { return through{inner} }) // as metrics do
	c := newClient(t, kube.Fixed(wrapped), time.Minute)
	if err := get(t, c); err == nil {
		t.Fatal("got an answer of a server that hangs up")
	}
	if got := <-windows; got == 0 || got > 1<<20 {
		t.Errorf("a server may send %d bytes before one is read, want at most 1 MiB", got)
	}
}

// through is a transport around another.
type through struct{ http.RoundTripper }

// WrappedRoundTripper lets client-go find the transport within.
func (w through) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

// initialWindow reads SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113, 6.5.2), 0 where there is none.
func initialWindow(t *testing.T, conn net.Conn) uint32 {
	const preface, head, setting, window = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 9, 6, 4
	begin := make([]byte, preface+head)
	if _, err := io.ReadFull(conn, begin); err != nil {
		t.Error(err)
		return 0
	}
	length := binary.BigEndian.Uint32(append([]byte{0}, begin[preface:preface+3]...))
	settings := make([]byte, length)
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Error(err)
	}
	for ; len(settings) >= setting; settings = settings[setting:] {
		if binary.BigEndian.Uint16(settings) == window {
			return binary.BigEndian.Uint32(settings[2:])
		}
	}
	return 0
}
