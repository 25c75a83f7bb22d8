package envoyconfig

import (
	"net/netip"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	formatterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/formatter/req_without_query/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// socket is an address of TCP.
func socket(address string, port uint16) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(port)},
	}}}
}

// listening is an address to listen on. That of all addresses of IPv6 takes those of IPv4
// too: a proxy need not know which of them its cluster has.
func listening(at netip.AddrPort) *corev3.Address {
	address := socket(at.Addr().String(), at.Port())
	address.GetSocketAddress().Ipv4Compat = at.Addr().Is6() && at.Addr().IsUnspecified()
	return address
}

// proxy is the filter of a listener of TCP.
func (l *Listener) proxy(cluster string, s Settings) *tcpv3.TcpProxy {
	return &tcpv3.TcpProxy{
		StatPrefix: l.Name(), ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: cluster},
		MaxConnectAttempts: number(s.Retries + 1), IdleTimeout: durationpb.New(tcpIdle), AccessLog: accessLog(tcpFields(), s.AccessLog),
	}
}

// accessLog writes lines of JSON. Failures, the default, are those that went wrong in the
// proxy: a request that was lost has a line, and the others cost nothing.
func accessLog(fields map[string]string, which v1alpha1.AccessLog) []*accesslogv3.AccessLog {
	if which == v1alpha1.AccessLogNone {
		return nil
	}
	format := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(fields))}
	for name, command := range fields {
		format.Fields[name] = structpb.NewStringValue(command)
	}
	log := &streamv3.StdoutAccessLog{AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
		Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
		Formatters: []*corev3.TypedExtensionConfig{{
			Name: "envoy.formatter.req_without_query", TypedConfig: packed(&formatterv3.ReqWithoutQuery{}),
		}},
	}}}
	one := &accesslogv3.AccessLog{
		Name:       "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: packed(log)},
	}
	if which != v1alpha1.AccessLogAll {
		one.Filter = &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
			ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{}, // any flag
		}}
	}
	return []*accesslogv3.AccessLog{one}
}

// tcpFields are the fields of a line of a connection.
func tcpFields() map[string]string {
	return map[string]string{
		"start_time": "%START_TIME%", "duration_ms": "%DURATION%", "flags": "%RESPONSE_FLAGS%", "details": "%CONNECTION_TERMINATION_DETAILS%",
		"cluster": "%UPSTREAM_CLUSTER%", "endpoint": "%UPSTREAM_HOST%", "endpoint_failure": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
		"client": "%DOWNSTREAM_REMOTE_ADDRESS%", "bytes_received": "%BYTES_RECEIVED%", "bytes_sent": "%BYTES_SENT%",
	}
}

// httpFields are those of a request. A query may hold a secret, so it is left out.
func httpFields() map[string]string {
	fields := tcpFields()
	fields["details"] = "%RESPONSE_CODE_DETAILS%"
	fields["code"] = "%RESPONSE_CODE%"
	fields["method"] = "%REQ(:METHOD)%"
	fields["path"] = "%REQ_WITHOUT_QUERY(X-ENVOY-ORIGINAL-PATH?:PATH)%"
	fields["attempts"] = "%UPSTREAM_REQUEST_ATTEMPT_COUNT%"
	fields["request_id"] = "%REQ(X-REQUEST-ID)%"
	return fields
}
