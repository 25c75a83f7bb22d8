package envoyconfig

import (
	"cmp"
	"net/netip"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

const (
	// headersTime is how long the headers of a request may take to arrive, and
	// handshakeTime how long that of TLS: a client that sends nothing holds a connection,
	// and no request, for so long.
	headersTime   = 10 * time.Second
	handshakeTime = 10 * time.Second
	// streamsOfOne is how many requests one connection of HTTP/2 may have at a time, and
	// the windows are how much of each and of all a proxy keeps that the endpoint has not
	// taken yet: they bound what one client costs.
	streamsOfOne     = 100
	streamWindow     = 64 << 10
	connectionWindow = 1 << 20
)

// build is the listener with one filter, by the short name of it.
func (l *Listener) build(name string, filter proto.Message, s Settings) *listenerv3.Listener {
	chain := filtering(name, filter)
	if len(l.Certificates) > 0 {
		chain.TransportSocket = l.socket(s)
		chain.TransportSocketConnectTimeout = durationpb.New(handshakeTime)
	}
	listener := &listenerv3.Listener{
		Name: l.Name(), Address: listening(netip.AddrPortFrom(l.Address, l.Port)),
		FilterChains: []*listenerv3.FilterChain{chain},
		// What is kept of a request to repeat it is bounded by it.
		PerConnectionBufferLimitBytes: number(s.BufferBytes),
	}
	if l.ProxyProtocol {
		listener.ListenerFilters = []*listenerv3.ListenerFilter{{
			Name:       "envoy.filters.listener.proxy_protocol",
			ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: packed(&proxyv3.ProxyProtocol{})},
		}}
	}
	return listener
}

// filtering is a chain of one filter.
func filtering(name string, config proto.Message) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{Filters: []*listenerv3.Filter{
		{Name: "envoy.filters.network." + name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(config)}},
	}}
}

// manager is the filter of a listener of HTTP. What a client writes into the headers of
// Envoy, or into X-Forwarded-For beyond the trusted proxies, counts for nothing. "." and
// ".." in paths are resolved before a route is chosen; slashes stay as they are, because
// applications use // and %2F in names.
func (l *Listener) manager(s Settings) *hcmv3.HttpConnectionManager {
	return &hcmv3.HttpConnectionManager{
		StatPrefix:                 l.Name(),
		RouteSpecifier:             &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: ads(0), RouteConfigName: l.Name()}},
		HttpFilters:                []*hcmv3.HttpFilter{router()},
		UseRemoteAddress:           wrapperspb.Bool(true),
		XffNumTrustedHops:          l.TrustedHops,
		InternalAddressConfig:      &hcmv3.HttpConnectionManager_InternalAddressConfig{},
		NormalizePath:              wrapperspb.Bool(true),
		RequestHeadersTimeout:      durationpb.New(headersTime),
		StreamIdleTimeout:          durationpb.New(s.StreamIdleTimeout),
		AccessLog:                  accessLog(httpFields(), s.AccessLog),
		ServerHeaderTransformation: hcmv3.HttpConnectionManager_PASS_THROUGH,
		UpgradeConfigs:             []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
		Http2ProtocolOptions: &corev3.Http2ProtocolOptions{
			MaxConcurrentStreams: number(streamsOfOne), InitialStreamWindowSize: number(streamWindow), InitialConnectionWindowSize: number(connectionWindow),
		},
	}
}

// socket is the TLS of the listener. The certificates are in files of the proxy, so they
// never pass through the control plane.
func (l *Listener) socket(s Settings) *corev3.TransportSocket {
	context := &tlsv3.CommonTlsContext{TlsParams: &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2}}
	if l.OnlyTLS13 {
		context.TlsParams.TlsMinimumProtocolVersion = tlsv3.TlsParameters_TLSv1_3
	}
	if l.Protocol == v1alpha1.ListenerHTTP {
		context.AlpnProtocols = []string{"h2", "http/1.1"}
	}
	for _, name := range l.Certificates {
		context.TlsCertificateSdsSecretConfigs = append(context.TlsCertificateSdsSecretConfigs, secretIn(cmp.Or(s.Folder, PodBootstrapFolder), name, PodSecretFile(name)))
	}
	return transportSocket("tls", &tlsv3.DownstreamTlsContext{CommonTlsContext: context})
}
