package envoyconfig

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	proxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/proxy_protocol/v3"
	rawv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// transportSocket is a way of sending bytes, by the short name of it.
func transportSocket(name string, config proto.Message) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name: "envoy.transport_sockets." + name, ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: packed(config)},
	}
}

// upstream is the way to the endpoints of a port, nil where bytes are sent as they are.
func upstream(service *join.Service, port join.Port, encrypted bool) *corev3.TransportSocket {
	var inner *corev3.TransportSocket
	if encrypted {
		inner = transportSocket("tls", toEndpoints(service.TLS, port))
	}
	header := service.ProxyProtocol
	if header == "" {
		return inner
	}
	if inner == nil {
		inner = transportSocket("raw_buffer", &rawv3.RawBuffer{})
	}
	config := &corev3.ProxyProtocolConfig{Version: corev3.ProxyProtocolConfig_V1}
	if header == join.ProxyV2 {
		config.Version = corev3.ProxyProtocolConfig_V2
	}
	return transportSocket("upstream_proxy_protocol", &proxyv3.ProxyProtocolUpstreamTransport{Config: config, TransportSocket: inner})
}

// toEndpoints is TLS in which the certificates of endpoints are checked as the Service says.
// The authorities are in the cluster itself: they are no secret, and a proxy that rejects
// them keeps the ones that it had.
func toEndpoints(check join.TLS, port join.Port) *tlsv3.UpstreamTlsContext {
	spoken := "http/1.1"
	if HTTP2(port) {
		spoken = "h2"
	}
	common := &tlsv3.CommonTlsContext{
		TlsParams: &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2}, AlpnProtocols: []string{spoken},
	}
	context := &tlsv3.UpstreamTlsContext{CommonTlsContext: common}
	if check.ServerName != "" && !isAddress(check.ServerName) {
		context.Sni = check.ServerName
	}
	if check.Authorities == "" {
		return context
	}
	validation := &tlsv3.CertificateValidationContext{
		TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: check.Authorities}},
	}
	if check.ServerName != "" {
		validation.MatchTypedSubjectAltNames = []*tlsv3.SubjectAltNameMatcher{names(check.ServerName)}
	}
	common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation}
	return context
}

// toName says which name a connection in TLS is for where the Service names none: the host
// that the client asks for. The certificate has to have it, if it is checked.
func toName(check join.TLS) *corev3.UpstreamHttpProtocolOptions {
	if check.ServerName != "" {
		return nil
	}
	return &corev3.UpstreamHttpProtocolOptions{AutoSni: true, AutoSanValidation: check.Authorities != ""}
}
