package page_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/page"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// dial opens a connection that says what it says.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// awaitEnd waits until the server has closed the connection, at most for the given
// time.
func awaitEnd(t *testing.T, conn net.Conn, most time.Duration) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(most)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection was not closed: %v", err)
	}
}

func TestWhoNeverEndsARequestIsCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a deadline of seconds")
	}
	w := newWorld(t)
	var slow []net.Conn
	for _, text := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nx"} {
		slow = append(slow, dial(t, w.admin, text), dial(t, w.metrics, text))
	}
	for _, conn := range slow {
		awaitEnd(t, conn, 40*time.Second)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, address := range []string{w.admin, w.metrics} {
		conn := dial(t, address, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Long: "+strings.Repeat("x", 64<<10))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("got %d, want 431", answer.StatusCode)
		}
	}
}

// Open connections, idle or in the middle of a request, must not keep Kubernetes from
// asking: it would restart a program that is well.
func TestContract31ProbesAreAnsweredHoweverManyConnectionsAreHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 300 {
		dial(t, w.metrics, []string{"", "GET /livez HTTP/1.1\r\nX-Slow: ", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"}[i%3])
		if i%10 == 9 {
			if got := w.ask(http.MethodGet, w.metrics, "/livez", [2]string{"Connection", "close"}); got.code != http.StatusOK {
				t.Fatalf("with %d connections held: got %d, want 200", i+1, got.code)
			}
		}
	}
}

func TestTheConnectionsOfAListenerAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const most, more = 64, 10
	// Each has had an answer and lies idle, which it may for a minute.
	ended := make(chan struct{}, most+more)
	for range most + more {
		conn := dial(t, w.admin, "GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n")
		reader := bufio.NewReader(conn)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		go func() {
			_, _ = reader.ReadByte() // until it is closed, by the server or at last by the test
			ended <- struct{}{}
		}()
	}
	for i := range more {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("with %d connections: got %d closed, want %d", most+more, i, more)
		}
	}
	select {
	case <-ended:
		t.Errorf("more than %d connections were closed", more)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestFewAnswersAreMadeAtOnceAndOthersAreAskedToComeAgain(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var mu sync.Mutex
	making, most := 0, 0
	w := newWorld(t, func(o *page.Options) {
		document := o.Service
		o.Service = func(namespace, service string) (*report.Document, error) {
			mu.Lock()
			making++
			most = max(most, making)
			mu.Unlock()
			<-gate
			mu.Lock()
			making--
			mu.Unlock()
			return document(namespace, service)
		}
	})
	codes := make(chan int, 40)
	for i := range 40 {
		go func() {
			got := w.ask(http.MethodGet, w.admin, []string{"/", "/api/v1/services/default/web"}[i%2])
			if got.code == http.StatusServiceUnavailable && got.header.Get("Retry-After") == "" {
				t.Error("got 503 without Retry-After")
			}
			codes <- got.code
		}()
	}
	for range 38 { // while two hold their places
		if code := <-codes; code != http.StatusServiceUnavailable {
			t.Errorf("got %d, want 503", code)
		}
	}
	// What costs nothing is answered all the same.
	if got := w.ask(http.MethodGet, w.metrics, "/livez"); got.code != http.StatusOK {
		t.Errorf("/livez: got %d, want 200", got.code)
	}
	close(gate)
	for range 2 {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("got %d, want 200", code)
		}
	}
	if most != 2 {
		t.Errorf("got %d documents made at once, want 2", most)
	}
}

func TestContract30StoppingLetsAnswersUnderWayEndButNotForLong(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, func(o *page.Options) {
		o.Scrape = http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			begun <- struct{}{}
			<-gate
			_, _ = io.WriteString(out, "done")
		})
	})
	silent := dial(t, w.metrics, "GET /livez HTTP/1.1\r\nX-Slow: ")
	got := make(chan answer, 1)
	go func() { got <- w.ask(http.MethodGet, w.metrics, "/metrics") }()
	<-begun
	w.stop()
	close(gate)
	if a := <-got; a.body != "done" {
		t.Errorf("the answer under way: got %d %q, want done", a.code, a.body)
	}
	select {
	case <-w.ended:
	case <-time.After(10 * time.Second): // contract 30
		t.Error("Run has not returned within ten seconds")
	}
	awaitEnd(t, silent, time.Second) // it is closed, and not left to its deadline
	if conn, err := net.Dial("tcp", w.admin); err == nil {
		conn.Close()
		t.Error("the address is still taken")
	}
}

func TestAnAddressThatCannotBeHadSaysWhichVariableAndWhatToDo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	inUse := netip.MustParseAddrPort(taken.Addr().String())
	foreign := netip.MustParseAddrPort("192.0.2.1:8080")
	for name, test := range map[string]struct {
		admin, metrics netip.AddrPort
		want           []string
	}{
		"page":    {inUse, anyPort(), []string{fmt.Sprintf("ADMIN_ADDRESS=%s is taken by another program", inUse), "set it to another port"}},
		"metrics": {anyPort(), inUse, []string{fmt.Sprintf("METRICS_ADDRESS=%s is taken by another program", inUse)}},
		"foreign": {foreign, anyPort(), []string{"ADMIN_ADDRESS=192.0.2.1:8080 is no address of this machine", "127.0.0.1:8080"}},
	} {
		var log bytes.Buffer
		server := page.New(page.Options{
			Admin: test.admin, Metrics: test.metrics,
			Configuration: func() fmt.Stringer { return settings{} }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		err = server.Listen(t.Context())
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", name, err, want)
			}
		}
		if log.Len() > 0 {
			t.Errorf("%s: says that it listens: %s", name, log.String())
		}
	}
}

func TestAServerTakesBothAddressesOrNone(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	// No other test uses this address, so the port stays free.
	free, err := net.Listen("tcp", "127.0.0.77:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	server := page.New(page.Options{
		Admin: netip.MustParseAddrPort(free.Addr().String()), Metrics: netip.MustParseAddrPort(taken.Addr().String()),
		Configuration: func() fmt.Stringer { return settings{} },
	})
	if err := server.Listen(t.Context()); err == nil {
		t.Fatal("got no error of a taken port")
	}
	again, err := net.Listen("tcp", free.Addr().String())
	if err != nil {
		t.Fatalf("the first address was kept: %v", err)
	}
	again.Close()
}
