package stream_test

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// A FIFO that nobody writes is a file that hangs.
func TestContract181ACertificateThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "tls.crt")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (stream.TLS{CertificateFile: fifo, KeyFile: fifo}).Check(); err == nil {
		t.Error("a FIFO is taken for a certificate")
	}
}

// dial opens a connection with TLS, that says what it says.
func (s *tlsServer) dial(t *testing.T, protocol, text string) *tls.Conn {
	t.Helper()
	config := s.client(t, nil).Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // made there
	config.NextProtos = []string{protocol}
	conn, err := tls.Dial("tcp", s.Address().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// patient has streams over HTTP/1.1, behind a list on the same connection, and HTTP/2. They go
// on however long nothing happens.
func (s *tlsServer) patient(t *testing.T, c *cluster) (goesOn func()) {
	t.Helper()
	var all []lines
	for _, two := range []bool{false, true} {
		client := s.client(t, s.ca, haproxyURI)
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = two //nolint:forcetypeassert // made there
		if code, text := get(t, client, s.url+"/api/v1/views", ""); code != http.StatusOK {
			t.Fatalf("got %d %s, want a list", code, text)
		}
		all = append(all, watch(t, client, s.url+"/api/v1/views?watch=true"))
		all[len(all)-1].mark(t)
	}
	return func() {
		t.Helper()
		c.slice("shop", 1, 2)
		for _, one := range all {
			one.change(t)
		}
	}
}

// frame is one of HTTP/2.
func frame(kind, flags byte, id uint32, payload string) string {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)), flags)
	return string(binary.BigEndian.AppendUint32(head, id)) + payload
}

// TestContract143AStrangerThatTakesNoAnswerIsCutOff: it asks over HTTP/2 and has no room for what
// is refused.
func TestContract143AStrangerThatTakesNoAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a deadline of seconds")
	}
	const (
		headers, reset, settings = 1, 3, 4 // kinds of frames
		asks                     = 100
	)
	c := newCluster(t, "shop")
	s := startWith(t, c, identities, stream.Options{Take: 300 * time.Millisecond})
	goesOn := s.patient(t, c)
	text := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, "\x00\x04\x00\x00\x00\x00") // a window of nothing
	for i := range asks {
		path := []string{"/api/v1/views", "/api/v1/views?watch=true", "/", "/style.css", "/nothing"}[i%5]
		text += frame(headers, 1|4, uint32(2*i+1), "\x82\x87\x01\x01x\x04"+string(rune(len(path)))+path)
	}
	conn, held := s.dial(t, "h2", text), 0
	for ended := 0; ended < asks; {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			t.Fatalf("%d of %d requests ended: %v", ended, asks, err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(head[:])>>8)
		if _, err := io.ReadFull(conn, payload); err != nil {
			t.Fatal(err)
		}
		if head[3] != reset {
			continue
		}
		ended++
		if payload[3] == 2 { // it was answered, and the answer not taken
			held++
		}
	}
	if held == 0 || held > 16 {
		t.Errorf("%d requests of one connection are answered at a time, want 16 at the most", held)
	}
	goesOn()
}

// TestContract44ABodyThatNeverComesHoldsNoPlace: a server reads the body before it answers.
func TestContract44ABodyThatNeverComesHoldsNoPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a deadline of seconds")
	}
	c := newCluster(t, "shop")
	s := secure(t, c)
	goesOn := s.patient(t, c)
	for _, query := range []string{"", "", "?watch=true", "?watch=true", "?watch=true"} { // all places of the client
		s.dial(t, "http/1.1", fmt.Sprintf("GET /api/v1/views%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 10\r\n\r\n", query, token))
	}
	s.until(t, "these and those of the other client are answered", func() bool {
		now := s.Stats()
		return now.Lists == 2+2 && now.Events[views.Added] == 2+3
	})
	client := s.client(t, nil)
	for _, query := range []string{"", "?watch=true&timeoutSeconds=1"} {
		s.until(t, "the client has a place again", func() bool {
			code, _ := get(t, client, s.url+"/api/v1/views"+query, token)
			return code == http.StatusOK
		})
	}
	goesOn()
}

// TestContract40AStreamEndsInTimeHoweverMuchIsToBeTold: a client takes nothing until its time is over.
func TestContract40AStreamEndsInTimeHoweverMuchIsToBeTold(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "shop", "blog")
	endpoints := make([]int, 5_000)
	for i := range endpoints {
		endpoints[i] = i + 10
	}
	c.slice("shop", endpoints...)
	s := startWith(t, c, identities, stream.Options{Take: 2 * time.Minute})
	client := s.client(t, s.ca, dnsURI)
	client.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10} //nolint:forcetypeassert // made there
	slow := watch(t, client, s.url+"/api/v1/views?watch=true&timeoutSeconds=1")
	other := watch(t, client, s.url+"/api/v1/views?watch=true&timeoutSeconds=1&namespace=blog")
	for other.Scan() { // until it ends
	}
	told := 0
	for slow.Scan() {
		told++
	}
	if told > len(endpoints)/2 || slow.Err() != nil {
		t.Errorf("got %d endpoints of %d after the end, and %v", told, len(endpoints), slow.Err())
	}
}
