package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Options are what a Server is made of. All of them are needed.
type Options struct {
	// Admin is ADMIN_ADDRESS, Metrics METRICS_ADDRESS. Port 0 takes a free one.
	Admin, Metrics netip.AddrPort
	// Services, Service and Explain make the answers about the Services of the process, anew
	// for every request, at most two at a time: the list, one of them, and what they know of
	// a node. An error of Service is a report.NoService.
	Services func(report.Query) *report.Services
	Service  func(namespace, service string) (*report.Document, error)
	Explain  func(subject string, q report.Query) *report.Explanation
	// Home returns the Service that the first page shows, nothing where it lists all of them.
	Home func() (namespace, service string)
	// Ask gets what the leader answers to a path below LeaderPath, where another replica
	// leads. It reports false where this replica leads, or where none does. An error may
	// be a report.NoService.
	Ask func(ctx context.Context, path string, into report.Answer) (led bool, err error)
	// Identity is what the election calls this process while it leads, and empty while
	// it does not.
	Identity func() string
	// Configuration returns the effective configuration without secrets: its
	// text is for people, and it can be marshalled as JSON.
	Configuration func() fmt.Stringer
	// Live and Ready are what /livez and /readyz ask.
	Live, Ready []Check
	// Scrape is /metrics.
	Scrape http.Handler
	Logger *slog.Logger
}

// Server listens on both addresses.
type Server struct {
	opts Options
	// rendering bounds the answers that are made at once, sending those that are
	// kept until their readers have taken them.
	rendering, sending gate
	admin, metrics     net.Listener
}

// New makes a server that does not listen yet.
func New(opts Options) *Server {
	return &Server{opts: opts, rendering: make(gate, maxRendering), sending: make(gate, maxSending)}
}

// Listen takes both addresses, or none. Nothing is served before Run.
func (s *Server) Listen(ctx context.Context) error {
	var err error
	if s.admin, err = listen(ctx, "ADMIN_ADDRESS", s.opts.Admin); err != nil {
		return err
	}
	if s.metrics, err = listen(ctx, "METRICS_ADDRESS", s.opts.Metrics); err != nil {
		return errors.Join(err, s.admin.Close())
	}
	s.opts.Logger.Info("listening", "admin_address", s.admin.Addr().String(), "metrics_address", s.metrics.Addr().String())
	return nil
}

// Addresses returns where the server listens, after Listen.
func (s *Server) Addresses() (admin, metrics net.Addr) { return s.admin.Addr(), s.metrics.Addr() }

// listen takes the address that a variable names.
func listen(ctx context.Context, variable string, address netip.AddrPort) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address.String())
	if err == nil {
		return listener, nil
	}
	rule, remedy := "cannot be listened on", "set it to another address, for example 127.0.0.1:0 for any free port"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		rule, remedy = "is taken by another program", "stop that, or set it to another port; 127.0.0.1:0 takes any free one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		rule, remedy = "is no address of this machine", fmt.Sprintf("write 127.0.0.1:%d, or 0.0.0.0:%d for every address of this machine", address.Port(), address.Port())
	case errors.Is(err, syscall.EACCES):
		rule, remedy = "is not allowed to this user", "set it to a port above 1023"
	}
	return nil, fmt.Errorf("%s=%s %s; %s: %w", variable, address, rule, remedy, err)
}

// Run serves until ctx ends; then requests under way have stopTime to end. It
// closes both listeners. A listener that breaks is logged and returned, and does
// not end the other.
func (s *Server) Run(ctx context.Context) error {
	servers := []struct {
		*http.Server
		listener net.Listener
	}{
		{s.server(s.opts.Admin, s.adminRoutes()), s.admin},
		{s.server(s.opts.Metrics, s.metricsRoutes()), s.metrics},
	}
	errs := make([]error, len(servers))
	var running sync.WaitGroup
	for i, server := range servers {
		running.Go(func() {
			if err := server.Serve(server.listener); !errors.Is(err, http.ErrServerClosed) {
				s.opts.Logger.Error("a listener broke; the program runs on without it", "address", server.listener.Addr().String(), "error", err)
				errs[i] = fmt.Errorf("serve %s: %w", server.listener.Addr(), err)
			}
		})
	}
	<-ctx.Done()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	for _, server := range servers {
		running.Go(func() {
			if server.Shutdown(stopping) != nil {
				_ = server.Close() // what is still open is cut off
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// server makes the HTTP server of one address.
func (s *Server) server(address netip.AddrPort, routes http.Handler) *http.Server {
	return &http.Server{
		Handler:           withHeaders(routes, address.Addr().IsLoopback()),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ConnState:         transport.NewRoom(maxConnections, 0, 0).Note,
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
}

// The bounds of both listeners.
const (
	// headerTime is how long a client may take to send its headers, requestTime
	// for the whole request, answerTime for taking the answer.
	headerTime, requestTime, answerTime = 5 * time.Second, 10 * time.Second, 15 * time.Second
	// idleTime is how long a connection may lie idle between two requests.
	idleTime = time.Minute
	// stopTime is how long requests under way may take when the program stops:
	// well within the ten seconds of contract 30.
	stopTime = 2 * time.Second
	// maxHeader bounds the headers of a request, in bytes.
	maxHeader = 16 << 10
	// maxConnections bounds the connections of one listener that had time for a request.
	maxConnections = 64
)
