package traffic

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// Timeout bounds each request, from its start to the last byte of its answer, where [Options]
// say nothing else.
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
	// Methods are those of the requests, in turn; GET where there are none.
	Methods []string
	// Body is how many bytes each PUT and POST has.
	Body int
	// Burst is how many requests begin at the same time; 1 where it is 0. The rate stays.
	Burst int
	// Keep is how many connections carry one request after the other; 0 gives each request
	// a connection of its own. Where all of them are busy a further one is opened.
	Keep int
	// Timeout bounds each request; [Timeout] where it is 0.
	Timeout time.Duration
}

// Result is what became of one request.
type Result struct {
	// Start is when it began, Late how much later than its turn was: more than
	// some milliseconds say that the machine had no time for the load.
	Start time.Time
	Late  time.Duration
	// Took is how long it took until the answer or the failure.
	Took time.Duration
	// Method is that of the request, Source where it came from.
	Method string
	Source netip.AddrPort
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
	if len(options.Methods) == 0 {
		options.Methods = []string{http.MethodGet}
	}
	if options.Timeout == 0 {
		options.Timeout = Timeout
	}
	burst := max(options.Burst, 1)
	g := &generator{options: options, report: report, kept: keptConns{most: options.Keep}}
	source := netip.AddrPortFrom(options.Sources.Masked().Addr(), firstPort)
	begin := time.Now()
	pause := time.NewTimer(time.Hour)
	defer pause.Stop()
	defer g.kept.close()
	defer g.flying.Wait()
	for i := 0; ; i++ {
		due := begin.Add(time.Duration(i/burst*burst) * time.Second / time.Duration(options.Rate))
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
		go g.send(options.Methods[i%len(options.Methods)], source, due)
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
	kept    keptConns

	mu     sync.Mutex
	report func(Result)
	err    error
}

func (g *generator) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

func (g *generator) send(method string, source netip.AddrPort, due time.Time) {
	defer g.flying.Done()
	r := Result{Start: time.Now(), Method: method}
	r.Late = r.Start.Sub(due)
	backend, source, err := g.ask(method, source, r.Start.Add(g.options.Timeout))
	r.Took, r.Backend, r.Source = time.Since(r.Start), backend, source
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

// ask sends one request, on a connection that is kept or on a new one from the source. It
// returns where the connection comes from.
func (g *generator) ask(method string, source netip.AddrPort, deadline time.Time) (backend string, from netip.AddrPort, err error) {
	c, again := g.kept.take(), false
	defer func() { g.kept.give(c, again) }()
	if c == nil {
		if c, err = g.connect(source, deadline); err != nil {
			return "", source, err
		}
	}
	if err := c.SetDeadline(deadline); err != nil {
		return "", c.source, err
	}
	if _, err := c.Write(g.request(method)); err != nil {
		return "", c.source, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return "", c.source, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	if err != nil {
		return "", c.source, err
	}
	again = !response.Close && response.StatusCode == http.StatusOK
	name := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return name, c.source, errStatus{response.Status}
	}
	return name, c.source, nil
}

// connect opens a connection.
func (g *generator) connect(source netip.AddrPort, deadline time.Time) (*connection, error) {
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(source), Deadline: deadline, KeepAlive: -1}
	conn, err := dialer.Dial("tcp", g.options.Target.String())
	if err != nil {
		return nil, err
	}
	// The rest of the connection is not needed when it is closed: it is reset.
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	if g.options.TLS {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // the backend made its own certificate
	}
	return &connection{Conn: conn, source: source, reader: bufio.NewReaderSize(conn, 512)}, nil
}

// request is a request of that method.
func (g *generator) request(method string) []byte {
	text := []byte(method + " / HTTP/1.1\r\nHost: lab\r\nUser-Agent: lab\r\n")
	if method != http.MethodPut && method != http.MethodPost {
		return append(text, "\r\n"...)
	}
	text = fmt.Appendf(text, "Content-Length: %d\r\n\r\n", g.options.Body)
	return append(text, make([]byte, g.options.Body)...)
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
