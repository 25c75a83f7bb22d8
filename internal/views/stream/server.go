package stream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// Options are what a Server is made of.
type Options struct {
	// Address is where clients connect; port 0 takes a free one.
	Address netip.AddrPort
	TLS     TLS
	// Identities are the clients; nil only on a loopback address, where every client
	// sees everything.
	Identities *Identities
	Cache      *cache.Cache
	// Stale says since when the cache is not current, and why; a nil error while it
	// is.
	Stale func(time.Time) (time.Time, error)
	// MostClients bounds the streams, MostOfOne those of one identity.
	MostClients, MostOfOne int
	// Proxies are the clients of xDS and what they were sent, as fields that are encoded to
	// JSON; nil where xDS is not served.
	Proxies func() map[string]any
	// Fleets say in short how far the proxies of fleets follow, and what becomes of their
	// objects; nil as Proxies.
	Fleets func() map[string]any
	// Take is how long a client may take nothing; 20 s by default.
	Take   time.Duration
	Logger *slog.Logger
}

// The bounds of the listener.
const (
	// headerTime is how long a client may take for the handshake and its headers.
	headerTime = 5 * time.Second
	// takeTime is the default of Options.Take.
	takeTime = 20 * time.Second
	// idleTime is how long a connection may lie idle between two requests.
	idleTime = time.Minute
	// stopTime is how long requests under way may take when the program stops.
	stopTime  = 2 * time.Second
	maxHeader = 16 << 10
	// mostLists is how many lists are sent at the same time, mostListsOfOne to one identity.
	mostLists, mostListsOfOne = 8, 2
	// spareConnections are those beside one for each client, and how many there may be of
	// which it is not known whose they are.
	spareConnections = 64
	// mostRequests is how many requests of one connection are answered at a time.
	mostRequests = 16
)

// Server serves the views.
type Server struct {
	opts     Options
	clients  clients
	lists    clients
	listener net.Listener
	room     *transport.Room
	stats    stats
	// current makes the configuration of a connection with TLS.
	current func() (*tls.Config, error)
	// authority is that of clients' certificates.
	authority authority
}

// New checks the options. It does not listen yet.
func New(opts Options) (*Server, error) {
	switch {
	case opts.Identities == nil && !opts.Address.Addr().IsLoopback():
		return nil, errors.New("viewserver: without a list of identities only a loopback address may be served")
	case opts.Identities != nil && !opts.TLS.on() && !opts.Address.Addr().IsLoopback():
		return nil, errors.New("viewserver: without TLS a token could be read on the way")
	}
	if err := opts.TLS.Check(); err != nil {
		return nil, err
	}
	opts.Take = cmp.Or(opts.Take, takeTime)
	opts.MostClients = transport.SocketShare(opts.MostClients)
	spare, ofOne := transport.SocketShare(spareConnections), mostLists
	if opts.Identities != nil {
		ofOne = mostListsOfOne
	}
	return &Server{
		room: transport.NewRoom(spare, opts.MostClients+spare, opts.MostOfOne+spare),
		opts: opts, current: opts.TLS.Current(func(*tls.Config) {}), authority: authority{file: opts.TLS.ClientCAFile},
		clients: clients{most: opts.MostClients, mostOfOne: opts.MostOfOne, again: 5, of: make(map[string]int), full: fullOfStreams, crowded: ownStreams},
		lists:   clients{most: mostLists, mostOfOne: ofOne, again: 1, of: make(map[string]int), full: "%d lists are being sent; ask again", crowded: ownLists},
	}, nil
}

// Listen takes the address. Nothing is served before Run.
func (s *Server) Listen(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.opts.Address.String())
	if err != nil {
		return fmt.Errorf("VIEWS_ADDRESS=%s cannot be listened on; set it to another address, for example 127.0.0.1:0 for any free port: %w", s.opts.Address, err)
	}
	s.listener = listener
	return nil
}

// Accepts says why the certificate of a connection does not count any more: its authority
// is another one now.
func (s *Server) Accepts(state *tls.ConnectionState) error { return s.authority.accepts(state) }

// Address is where the server listens, after Listen.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Run serves until ctx ends. Then streams end, and requests under way have a moment.
func (s *Server) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		WriteTimeout: catchUp + s.opts.Take, // of each answer, whatever it says, until a stream begins
		HTTP2:        &http.HTTP2Config{MaxConcurrentStreams: mostRequests},
		ConnState:    s.note,
		BaseContext:  func(net.Listener) context.Context { return ctx }, // streams end with it
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, conn)
		},
		ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	listener := s.listener
	if s.opts.TLS.on() {
		server.TLSConfig = &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current() },
		}
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if server.Shutdown(bounded) != nil {
		_ = server.Close() // what is still open is cut off
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// note takes over what becomes of a connection. Without a list of identities nobody is a
// stranger, and one connection too many is closed at once.
func (s *Server) note(conn net.Conn, state http.ConnState) {
	s.room.Note(conn, state)
	if state == http.StateNew && s.opts.Identities == nil && !s.room.Know(conn, "") {
		_ = conn.Close()
	}
}

// connectionKey is where the context of a request has its connection.
type connectionKey struct{}

// routes are those of the address.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/views", s.refusing(s.views))
	mux.HandleFunc("GET /api/v1/xds", s.proxies(s.opts.Proxies))
	mux.HandleFunc("GET /api/v1/fleets", s.proxies(s.opts.Fleets))
	mux.HandleFunc("GET /{$}", s.refusing(s.page))
	mux.HandleFunc("GET /style.css", style)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.opts.Identities == nil && !isLocalName(r.Host) {
			refuse(http.StatusMisdirectedRequest, "BadRequest",
				"this listens on the machine itself and answers only to localhost and to IP addresses").write(w)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host header names no host that someone else could
// have resolve to us, as a web page could that somebody on this machine looks at.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(host) > 1 && host[0] == '[' {
		host = host[1 : len(host)-1]
	}
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost"
}
