package traffic

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Timeout bounds each request, from its start to the last byte of its answer.
const Timeout = time.Second

// Options say what to ask, how often, and from where.
type Options struct {
	Target netip.AddrPort
	// Rate is in requests a second.
	Rate int
	// Sources are the addresses that requests come from: all must be local.
	// Each gives 50,000 requests; when they are used up the run ends.
	Sources netip.Prefix
	// TLS makes it HTTPS; every certificate is accepted.
	TLS bool
}

// Result is what became of one request.
type Result struct {
	// Start is when it began, Late how much later than its turn was: more than
	// some milliseconds say that the machine had no time for the load.
	Start time.Time
	Late  time.Duration
	// Took is how long it took until the answer or the failure.
	Took time.Duration
	// Backend is the name that the answer gave, empty without one.
	Backend string
	// Failure says in a word why the request is lost; empty when it is not.
	Failure string
}

// Lost reports whether the request failed in any way.
func (r Result) Lost() bool { return r.Failure != "" }

// The ports of each source. Programs listen on ports below, such as kube-proxy on
// 10249 and 10256 of every address.
const firstPort, lastPort = 11000, 61000

// Generate sends requests until ctx ends or the sources are used up, and hands
// over each result, one at a time, in the order in which they end. It returns an
// error when it could not send a request for a reason of its own.
func Generate(ctx context.Context, options Options, report func(Result)) error {
	g := &generator{options: options, report: report}
	source := netip.AddrPortFrom(options.Sources.Masked().Addr(), firstPort)
	begin := time.Now()
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	defer g.flying.Wait()
	for i := 0; ; i++ {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(options.Rate))
		pause.Reset(max(time.Until(due), time.Nanosecond))
		select {
		case <-ctx.Done():
			return g.failure()
		case <-pause.C:
		}
		if source = next(source); !options.Sources.Contains(source.Addr()) || g.failure() != nil {
			return errors.Join(g.failure(), errUsedUp(options, source.Addr()))
		}
		g.flying.Add(1)
		go g.send(source, due)
	}
}

// errUsedUp says that no source is left.
func errUsedUp(options Options, next netip.Addr) error {
	if options.Sources.Contains(next) {
		return nil
	}
	return errors.New("every source address and port is used up; give the load more addresses")
}

// next is the source after this one: all ports of an address come before the next
// address, because then the neighbours resolve few addresses.
func next(source netip.AddrPort) netip.AddrPort {
	if source.Port() < lastPort {
		return netip.AddrPortFrom(source.Addr(), source.Port()+1)
	}
	return netip.AddrPortFrom(source.Addr().Next(), firstPort)
}

type generator struct {
	options Options
	flying  sync.WaitGroup

	mu     sync.Mutex
	report func(Result)
	err    error
}

func (g *generator) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *generator) send(source netip.AddrPort, due time.Time) {
	defer g.flying.Done()
	r := Result{Start: time.Now()}
	r.Late = r.Start.Sub(due)
	backend, err := g.ask(source, r.Start.Add(Timeout))
	r.Took, r.Backend = time.Since(r.Start), backend
	if err != nil {
		r.Failure = word(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if ours(err) {
		g.err = err
		return
	}
	g.report(r)
}

// errStatus is an answer that is none.
type errStatus struct{ status string }

func (e errStatus) Error() string { return "status " + e.status }

// ask sends one request on a connection of its own.
func (g *generator) ask(source netip.AddrPort, deadline time.Time) (backend string, err error) {
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(source), Deadline: deadline, KeepAlive: -1}
	conn, err := dialer.Dial("tcp", g.options.Target.String())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	// The rest of the connection is not needed: it is reset.
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	if g.options.TLS {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the backend made its own certificate
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: lab\r\nUser-Agent: lab\r\n\r\n"); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return name, errStatus{response.Status}
	}
	return name, nil
}

// ours reports whether the failure says nothing of the Service: the load itself
// could not do its work.
func ours(err error) bool {
	for _, own := range []error{syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.EACCES, syscall.EPERM} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// word names a failure, in few kinds.
func word(err error) string {
	var status errStatus
	switch {
	case errors.As(err, &status):
		return status.Error()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "time-out"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "cut off"
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "time-out"
	}
	return err.Error()
}
