package xds

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// Options are what a Server is made of.
type Options struct {
	// Address is where clients connect; port 0 takes a free one.
	Address netip.AddrPort
	// TLS reads the certificates of the server and the authority of clients, for each
	// handshake. Nil only on a loopback address, where every client sees everything.
	TLS func() (*tls.Config, error)
	// TrustDomain is that of the clients' certificates; needed with TLS.
	TrustDomain string
	// Accepts says why the certificate of an open stream does not count any more, for example
	// because it has expired.
	Accepts func(*tls.ConnectionState) error
	// Namespaces are those that a client of gRPC may see; "*" is every one.
	Namespaces func(client string) []string
	// Fleets are the listeners of fleets; nil for none.
	Fleets *Fleets
	Cache  *cache.Cache
	// Blind reports whether the cache is cut off from the API server; nil where it never is.
	Blind    func() bool
	Settings envoyconfig.Settings
	// Annotation is the one of Services that are shown, for remedies; that of the endpoint
	// views where it is empty.
	Annotation string
	// MostClients bounds the streams, MostOfOne those of one identity.
	MostClients, MostOfOne int
	// Listening is told the address once clients can connect.
	Listening func(net.Addr)
	Logger    *slog.Logger
}

const (
	// every is how long fleets and identities are used without a look at them.
	every = 2 * time.Second
	// stopTime is how long streams may take to end when the program stops.
	stopTime = 2 * time.Second
	// spareConnections are those beside one for each stream, and how many there may be of
	// which it is not known whose they are.
	spareConnections = 64
)

// Server serves xDS.
type Server struct {
	opts Options
	// news has something when a client has answered or left.
	news  chan struct{}
	stats stats
	room  *transport.Room

	mu       sync.Mutex
	services map[join.Key]*translation // nil before the first join is translated
	shared   [envoyconfig.Kinds]*collection
	traffic  map[string]envoyconfig.Traffic // by fleet
	fleets   map[string]*fleet
	clients  map[*client]struct{}
	of       map[string]*account // by identity
	late     uint64              // of fleets that are gone

	// accounting is the lock of what identities made this program keep.
	accounting sync.Mutex
}

// New checks the options. It does not listen yet.
func New(opts Options) (*Server, error) {
	switch {
	case opts.TLS == nil && !opts.Address.Addr().IsLoopback():
		return nil, errors.New("xds: without certificates only a loopback address may be served")
	case opts.TLS != nil && (opts.Namespaces == nil || opts.Accepts == nil || opts.TrustDomain == ""):
		return nil, errors.New("xds: with certificates a trust domain and the namespaces of each client are needed")
	}
	opts.MostClients = transport.SocketShare(opts.MostClients)
	opts.Fleets = cmp.Or(opts.Fleets, NewFleets())
	opts.Annotation = cmp.Or(opts.Annotation, join.ShownAnnotation)
	s := &Server{
		room: transport.NewRoom(transport.SocketShare(spareConnections), opts.MostClients+transport.SocketShare(spareConnections), opts.MostOfOne+transport.SocketShare(spareConnections)),
		opts: opts, news: make(chan struct{}, 1), stats: stats{of: map[Protocol]*[envoyconfig.Kinds]outcomes{Envoy: {}, GRPC: {}}},
		fleets: make(map[string]*fleet), clients: make(map[*client]struct{}), of: make(map[string]*account),
	}
	for kind := range s.shared {
		s.shared[kind] = newCollection(envoyconfig.Kind(kind))
	}
	return s, nil
}

// Run waits for the first join, listens, and serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	follower := s.opts.Cache.Follow()
	defer follower.Stop()
	if !s.first(ctx, follower) {
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.opts.Address.String())
	if err != nil {
		return fmt.Errorf("XDS_ADDRESS=%s cannot be listened on; set it to another address, for example 127.0.0.1:0 for any free port: %w", s.opts.Address, err)
	}
	streams, end := context.WithCancelCause(ctx)
	defer end(nil)
	server := s.grpc(streams)
	served := make(chan error, 1)
	open := listener
	if s.opts.TLS != nil {
		open = s.room.Listen(listener)
	}
	go func() { served <- server.Serve(open) }()
	s.opts.Listening(listener.Addr())
	s.opts.Logger.Info("serving xDS", "xds_address", listener.Addr().String())
	err = s.follow(ctx, follower, served)
	late := time.AfterFunc(stopTime, server.Stop)
	defer late.Stop()
	server.GracefulStop()
	return err
}

// first waits for the first join, and until it is known which fleets there are, and
// translates that; false where ctx ends before.
func (s *Server) first(ctx context.Context, follower *cache.Follower) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-follower.News():
		case <-s.opts.Fleets.news:
		}
		if !s.opts.Fleets.Complete() {
			continue
		}
		if all, ok := follower.Take(); ok {
			s.list(time.Now())
			s.update(all, time.Now())
			return true
		}
	}
}

// follow sends what changes, until ctx ends or the listener breaks.
func (s *Server) follow(ctx context.Context, follower *cache.Follower, served <-chan error) error {
	look := time.NewTicker(every)
	defer look.Stop()
	late := time.NewTimer(acknowledgeTime)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("serve %s: %w", s.opts.Address, err)
		case <-follower.News():
			if changed, ok := follower.Take(); ok && len(changed) > 0 {
				s.update(changed, time.Now())
			}
		case <-s.opts.Fleets.news:
			s.list(time.Now())
		case <-look.C:
			s.list(time.Now())
			s.review()
		case <-s.news:
		case <-late.C:
		}
		if next := s.step(time.Now()); !next.IsZero() {
			late.Reset(max(0, time.Until(next)))
		}
	}
}

// Why a stream ends.
var (
	errExpired = status.Error(codes.Unauthenticated, "the client certificate has expired, or its authority is no longer trusted; connect again with a current one")
	errRights  = status.Error(codes.PermissionDenied, "the namespaces that this client may see have changed; connect again")
	errStops   = status.Error(codes.Unavailable, "the server stops; connect to another replica")
)

// review ends streams whose client may not see any more what it could see when the stream
// began. It tells what is new of fleets: whoever may write one could change it all the time. It
// forgets identities without streams that have said nothing too much.
func (s *Server) review() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.fleets {
		s.tell(f)
	}
	maps.DeleteFunc(s.of, func(_ string, a *account) bool { return a.streams == 0 && s.rested(a, time.Now()) })
	for c := range s.clients {
		if c.identity.trusted() {
			continue
		}
		if s.opts.Accepts(c.identity.state) != nil {
			c.end(errExpired)
		} else if c.protocol == GRPC && !slices.Equal(c.namespaces, s.opts.Namespaces(c.identity.name)) {
			c.end(errRights)
		}
	}
}
