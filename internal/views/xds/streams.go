package xds

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const (
	// leastPing is the shortest time between two keep-alives of a client.
	leastPing = 15 * time.Second
	// longestConnection is how long a connection lasts at the least, so that clients
	// spread over replicas again; up to a fifth more.
	longestConnection = 10 * time.Hour
	// unreadStream and unreadConnection are how much of what clients send waits to be read,
	// in bytes. Without them gRPC lets it grow to 16 MiB for each stream.
	unreadStream, unreadConnection = 64 << 10, 1 << 20
	// connectionBuffer is how much of a connection is read or written at once, in bytes.
	connectionBuffer = 8 << 10
)

// grpc makes the server of gRPC. Streams end when ctx does.
func (s *Server) grpc(ctx context.Context) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: 30 * time.Second, Timeout: 10 * time.Second,
			MaxConnectionAge: longestConnection + rand.N(longestConnection/5), MaxConnectionAgeGrace: 30 * time.Second,
		}),
		grpc.ForceServerCodecV2(newSharing()), grpc.MaxConcurrentStreams(16), grpc.MaxHeaderListSize(16 << 10), grpc.ConnectionTimeout(10 * time.Second),
		grpc.StaticStreamWindowSize(unreadStream), grpc.StaticConnWindowSize(unreadConnection),
		grpc.ReadBufferSize(connectionBuffer), grpc.WriteBufferSize(connectionBuffer),
	}
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(clientCounts{credentials.NewTLS(&tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.opts.TLS() },
		}), s}))
	}
	server := grpc.NewServer(options...)
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, &aggregatedService{server: s, streams: ctx})
	return server
}

// clientCounts counts the clients whose certificate is not accepted, and the connections of those
// whose is.
type clientCounts struct {
	credentials.TransportCredentials

	server *Server
}

// ServerHandshake implements credentials.TransportCredentials. A connection that ends
// without a word is no client.
func (c clientCounts) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	connection, info, err := c.TransportCredentials.ServerHandshake(raw)
	if shown, ok := info.(credentials.TLSInfo); ok && err == nil && len(shown.State.VerifiedChains) > 0 {
		name := "" // without one it is refused with words
		if who, no := certificates.ClientOf(shown.State.PeerCertificates[0], c.server.opts.TrustDomain); no == nil {
			name = who.String()
		}
		if !c.server.room.Know(raw, name) {
			err = errors.New("there are more connections than XDS_MAX_CLIENTS and XDS_MAX_CLIENTS_PER_IDENTITY allow")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.server.stats.refused.Add(1)
	}
	return connection, info, err
}

// aggregatedService is the service of gRPC.
type aggregatedService struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	server *Server
	// streams ends when all streams have to; gRPC gives its handlers contexts that know
	// nothing of that.
	streams context.Context //nolint:containedctx // see above
}

// DeltaAggregatedResources serves an Envoy.
func (a *aggregatedService) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return a.serve(stream, Envoy)
}

// StreamAggregatedResources serves a client of gRPC.
func (a *aggregatedService) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return a.serve(stream, GRPC)
}

// serve serves one stream.
func (a *aggregatedService) serve(stream grpc.ServerStream, protocol Protocol) error {
	s, from := a.server, stream.Context()
	other, _ := peer.FromContext(from) // gRPC always says who it is
	identity, err := s.identify(other)
	if err != nil {
		s.stats.refused.Add(1)
		return status.Error(codes.Unauthenticated, err.Error())
	}
	if !identity.trusted() && identity.protocol != protocol {
		s.stats.refused.Add(1)
		return status.Errorf(codes.PermissionDenied, "the certificate is that of a %s, and this protocol is for a %s", identity.protocol, protocol)
	}
	ctx, end := context.WithCancelCause(from)
	defer end(nil)
	defer context.AfterFunc(a.streams, func() { end(errStops) })()
	below, ok := grpc.ServerTransportStreamFromContext(from).(transportStream)
	if !ok {
		return status.Error(codes.Internal, "this program was built with a version of gRPC that it does not know")
	}
	// A stream that waits for its client to read or to send ends only with the one below.
	defer context.AfterFunc(ctx, func() {
		if why, ours := status.FromError(context.Cause(ctx)); ours {
			_ = below.WriteStatus(why) // the client may have left
		}
	})()
	c := &client{
		server: s, protocol: protocol, identity: identity, address: other.Addr.String(), since: time.Now(), wire: stream, below: below,
		nonces: strconv.FormatUint(uint64(rand.Uint32()), 36) + ".", end: end, ended: ctx.Done(), replies: make(chan reply, 2*envoyconfig.Kinds),
	}
	if protocol == GRPC && !identity.trusted() {
		c.namespaces = s.opts.Namespaces(identity.name)
	}
	if err := s.enter(c); err != nil {
		s.stats.refused.Add(1)
		return err
	}
	defer s.leave(c)
	err = c.run()
	why := context.Cause(ctx)
	if _, ours := status.FromError(why); !ours {
		return err // the client has left
	}
	err = cmp.Or(why, err)
	if err != nil && !slices.Contains([]error{errExpired, errRights, errStops}, err) {
		s.stats.refused.Add(1)
	}
	return err
}

// enter takes a place for a stream.
func (s *Server) enter(c *client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := c.identity.name
	switch {
	case len(s.clients) >= s.opts.MostClients:
		return status.Errorf(codes.ResourceExhausted, "there are %d streams, as many as XDS_MAX_CLIENTS allows; ask another replica", len(s.clients))
	case !c.identity.trusted() && s.of[name] != nil && s.of[name].streams >= s.opts.MostOfOne:
		return status.Errorf(codes.ResourceExhausted, "%s has %d streams, as many as XDS_MAX_CLIENTS_PER_IDENTITY allows; end one of them", name, s.of[name].streams)
	}
	s.clients[c] = struct{}{}
	if s.of[name] == nil {
		s.of[name] = &account{slot: make(chan struct{}, 1)}
	}
	c.account = s.of[name]
	c.account.streams++
	return nil
}
