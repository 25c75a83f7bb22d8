package envoyconfig

import (
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// Envoy are the clusters and assignments that Envoy needs of one Service. A port whose
// endpoints speak TLS has two: one that passes on the TLS of clients, for listeners of TCP,
// and one that adds it, if the Service says how certificates are checked.
func Envoy(service *join.Service, all []join.Endpoint, s Settings) Set {
	set := NewSet()
	for _, port := range Ports(service) {
		of := zones(service, port, all)
		add := func(name string, encrypted bool) {
			cluster := envoyCluster(name, s)
			cluster.TransportSocket = upstream(service, port, encrypted)
			cluster.TypedExtensionProtocolOptions = speaking(protocol(service, port, encrypted, s))
			endpoints := assignment(name, of)
			mark(endpoints, cluster)
			set[Clusters][name], set[Endpoints][name] = cluster, endpoints
		}
		if add(Name(service.Key, port.Number), false); TLS(port) && service.TLS.Said() {
			add(overTLS(service.Key, port.Number), true)
		}
	}
	return set
}

// cluster is one whose endpoints come from the same stream.
func cluster(name string, breakers *clusterv3.CircuitBreakers_Thresholds) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads(endpointsWait)},
		// Not least request: an endpoint that fails at once would get the most.
		LbPolicy:        clusterv3.Cluster_ROUND_ROBIN,
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{breakers}},
	}
}

func envoyCluster(name string, s Settings) *clusterv3.Cluster {
	c := cluster(name, breakers(s))
	c.AltStatName = statName(name)
	c.ConnectTimeout = durationpb.New(s.ConnectTimeout)
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{
		HealthyPanicThreshold: &typev3.Percent{Value: float64(s.PanicPercent)},
		// Otherwise a change of health alone waits for a second.
		UpdateMergeWindow: durationpb.New(0),
	}
	c.OutlierDetection = outliers(s)
	c.PerConnectionBufferLimitBytes = number(s.BufferBytes)
	c.IgnoreHealthOnHostRemoval = true
	c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{
		TcpKeepalive: &corev3.TcpKeepalive{KeepaliveTime: number(10), KeepaliveInterval: number(5), KeepaliveProbes: number(3)},
	}
	return c
}

// breakers bounds what a proxy does at a time. The defaults of Envoy, 1,024 requests and
// three retries at a time, lose requests where a node dies.
func breakers(s Settings) *clusterv3.CircuitBreakers_Thresholds {
	return &clusterv3.CircuitBreakers_Thresholds{
		MaxConnections: number(s.MaxRequests), MaxPendingRequests: number(s.MaxRequests), MaxRequests: number(s.MaxRequests),
		RetryBudget: &clusterv3.CircuitBreakers_Thresholds_RetryBudget{
			BudgetPercent: &typev3.Percent{Value: 100}, MinRetryConcurrency: number(1024),
		},
	}
}

// outliers leaves out an endpoint for a time that cannot be connected to, or resets. What
// an endpoint answers never does: an application that answers with errors is there.
func outliers(s Settings) *clusterv3.OutlierDetection {
	if s.EjectAfter == 0 {
		return nil
	}
	return &clusterv3.OutlierDetection{
		SplitExternalLocalOriginErrors:         true,
		ConsecutiveLocalOriginFailure:          number(s.EjectAfter),
		EnforcingConsecutiveLocalOriginFailure: number(100),
		EnforcingConsecutive_5Xx:               number(0),
		EnforcingConsecutiveGatewayFailure:     number(0),
		EnforcingSuccessRate:                   number(0),
		EnforcingLocalOriginSuccessRate:        number(0),
		Interval:                               durationpb.New(time.Second),
		BaseEjectionTime:                       durationpb.New(s.EjectionTime),
		MaxEjectionTime:                        durationpb.New(max(s.EjectionTime, longestEjection)),
		MaxEjectionPercent:                     number(s.MaxEjectionPercent),
		// Without it nothing would be left out where there are few endpoints.
		AlwaysEjectOneHost: wrapperspb.Bool(true),
	}
}

// protocol says how endpoints are spoken to.
func protocol(service *join.Service, port join.Port, encrypted bool, s Settings) *upstreamv3.HttpProtocolOptions {
	options := explicit(&upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{HttpProtocolOptions: &corev3.Http1ProtocolOptions{}},
	})
	if HTTP2(port) {
		options = http2(10 * time.Second)
	}
	options.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(s.IdleTimeout)}
	if encrypted {
		options.UpstreamHttpProtocolOptions = toName(service.TLS)
	}
	return options
}

func explicit(config *upstreamv3.HttpProtocolOptions_ExplicitHttpConfig) *upstreamv3.HttpProtocolOptions {
	return &upstreamv3.HttpProtocolOptions{UpstreamProtocolOptions: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: config}}
}

// http2 is HTTP/2. Keep-alives, so far apart, notice another end that vanished.
func http2(every time.Duration) *upstreamv3.HttpProtocolOptions {
	return explicit(&upstreamv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: &corev3.KeepaliveSettings{
				Interval: durationpb.New(every), Timeout: durationpb.New(5 * time.Second),
			}},
		},
	})
}

// speaking are these options of HTTP, as a cluster has them.
func speaking(options *upstreamv3.HttpProtocolOptions) map[string]*anypb.Any {
	return map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": packed(options)}
}

// statName is what the metrics of Envoy call a cluster. Envoy takes what comes before the
// first dot as the value of a label, and the rest as part of the name of the metric.
func statName(cluster string) string { return strings.NewReplacer(".", "/", ":", "/").Replace(cluster) }
