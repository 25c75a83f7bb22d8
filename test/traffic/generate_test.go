package traffic_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// generate sends so many requests to a handler.
func generate(t *testing.T, count int, handler http.HandlerFunc, change ...func(*traffic.Options)) []traffic.Result {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return collect(t, netip.MustParseAddrPort(listener.Addr().String()), count, change...)
}

func collect(t *testing.T, target netip.AddrPort, count int, change ...func(*traffic.Options)) []traffic.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var results []traffic.Result
	// A busy machine answers late, and an answer that is late is none of these tests' matter.
	options := traffic.Options{Target: target, Rate: 200, Sources: sources(), Timeout: 30 * time.Second}
	for _, set := range change {
		set(&options)
	}
	err := traffic.Generate(ctx, options, func(r traffic.Result) {
		if results = append(results, r); len(results) >= count {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// used counts the ranges of addresses that were given away.
var used atomic.Uint32

// sources returns addresses of a loopback network that no test before has used, and most
// likely no other process: a port whose connection this side closed is not free for a minute.
func sources() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{127, byte(64 + os.Getpid()%128), byte(used.Add(1)), 0}), 24)
}

func TestEveryRequestComesFromAnAddressAndPortOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	results := generate(t, 50, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.RemoteAddr] {
			t.Errorf("%s came twice", r.RemoteAddr)
		}
		seen[r.RemoteAddr] = true
		_, _ = w.Write([]byte("worker-1\n"))
	})
	for _, r := range results {
		if r.Lost() || r.Backend != "worker-1" {
			t.Fatalf("got %+v, want an answer of worker-1", r)
		}
	}
}

func TestMethodsTakeTurnsAndPutAndPostHaveABody(t *testing.T) {
	const size = 100_000
	results := generate(t, 30, func(w http.ResponseWriter, r *http.Request) {
		length, err := io.Copy(io.Discard, r.Body)
		if want := map[string]int64{"GET": 0, "PUT": size, "POST": size}[r.Method]; err != nil || length != want {
			t.Errorf("%s: got a body of %d bytes, %v, want %d", r.Method, length, err, want)
		}
		_, _ = io.WriteString(w, r.Method+" "+r.RemoteAddr)
	}, func(o *traffic.Options) { o.Methods, o.Body = []string{"GET", "PUT", "POST"}, size })
	methods := map[string]int{}
	for _, r := range results {
		methods[r.Method]++
		if want := r.Method + " " + r.Source.String(); r.Lost() || r.Backend != want {
			t.Errorf("got %+v, want an answer to %s", r, want)
		}
	}
	for _, method := range []string{"GET", "PUT", "POST"} {
		if methods[method] < len(results)/4 {
			t.Errorf("got %v, want a third of each", methods)
		}
	}
}

func TestABurstBeginsAtOnceAndKeepsTheRate(t *testing.T) {
	const burst = 20 // at 200 a second, so every 100 ms
	results := generate(t, 3*burst, func(http.ResponseWriter, *http.Request) {}, func(o *traffic.Options) { o.Burst = burst })
	dues := map[time.Time]int{}
	for _, r := range results {
		dues[r.Start.Add(-r.Late).Round(time.Millisecond)]++
	}
	for due, count := range dues {
		if count > burst {
			t.Errorf("%d requests were due at %v, want %d", count, due, burst)
		}
	}
	if len(dues) > len(results)/4 {
		t.Errorf("%d requests were due at %d moments, want bursts of %d", len(results), len(dues), burst)
	}
}

func TestConnectionsAreKeptUntilTheServerAsksToCloseThem(t *testing.T) {
	const keep, count, closing = 3, 60, 10
	var mu sync.Mutex
	answered := map[string]int{}
	results := generate(t, count, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if answered[r.RemoteAddr]++; answered[r.RemoteAddr] == closing {
			w.Header().Set("Connection", "close")
		}
		_, _ = io.WriteString(w, r.RemoteAddr)
	}, func(o *traffic.Options) { o.Keep = keep })
	for _, r := range results {
		if r.Lost() || r.Backend != r.Source.String() {
			t.Fatalf("got %+v, want an answer to the connection that it was sent on", r)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	full := 0
	for source, requests := range answered {
		if requests > closing {
			t.Errorf("%s carried %d requests, and the server asked to close it after %d", source, requests, closing)
		}
		if requests == closing {
			full++
		}
	}
	if full < keep {
		t.Errorf("%d connections carried %d requests, want at least %d: %v", full, closing, keep, answered)
	}
}

func TestASlowAnswerDelaysNoOtherRequest(t *testing.T) {
	var stuck atomic.Bool
	results := generate(t, 20, func(_ http.ResponseWriter, r *http.Request) {
		if stuck.CompareAndSwap(false, true) {
			<-r.Context().Done()
		}
	}, func(o *traffic.Options) { o.Timeout = 5 * time.Second })
	quick := 0
	for _, r := range results {
		if !r.Lost() {
			quick++
		}
	}
	if quick < 19 {
		t.Errorf("got %d answers beside a stuck one, want 19", quick)
	}
}

func TestWhatIsLostIsNamed(t *testing.T) {
	if r := generate(t, 1, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})[0]; r.Failure != "status 503 Service Unavailable" {
		t.Errorf("a 503: got %q", r.Failure)
	}
	if r := generate(t, 1, func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})[0]; r.Failure != "cut off" {
		t.Errorf("a connection that ends: got %q, want cut off", r.Failure)
	}
	hung := generate(t, 1, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(o *traffic.Options) { o.Timeout = 0 })[0]
	if hung.Failure != "time-out" || hung.Took < traffic.Timeout {
		t.Errorf("no answer: got %q after %v, want a time-out after %v", hung.Failure, hung.Took, traffic.Timeout)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := netip.MustParseAddrPort(listener.Addr().String())
	listener.Close()
	if r := collect(t, target, 1)[0]; r.Failure != "refused" {
		t.Errorf("nothing listens: got %q, want refused", r.Failure)
	}
}

func TestALongerTimeoutWaitsForALateAnswer(t *testing.T) {
	late := generate(t, 1, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(traffic.Timeout + 100*time.Millisecond):
		case <-r.Context().Done():
		}
	}, func(o *traffic.Options) { o.Timeout = time.Minute })[0]
	if late.Lost() || late.Took < traffic.Timeout {
		t.Errorf("got %q after %v, want an answer after more than %v", late.Failure, late.Took, traffic.Timeout)
	}
}

func TestALoadThatCannotSendSaysSo(t *testing.T) {
	options := traffic.Options{Target: netip.MustParseAddrPort("127.0.0.1:1"), Rate: 100, Sources: netip.MustParsePrefix("192.0.2.0/24")}
	err := traffic.Generate(t.Context(), options, func(r traffic.Result) { t.Errorf("got %+v as a result", r) })
	if err == nil {
		t.Error("got no error for an address that is not local")
	}
}
