package envoyconfig

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
)

// HealthName is the name of the listener of health and metrics, of its statistics and of the
// cluster behind it.
const HealthName = "health"

// The pages of a proxy that others may read.
const (
	ReadyPath   = "/ready"
	MetricsPath = "/stats/prometheus"
)

// health is a listener with two pages of the proxy itself. The other pages of the admin
// address change what the proxy does, so that one listens on a loopback address only.
func (b Bootstrap) health() (*listenerv3.Listener, *clusterv3.Cluster) {
	var pages []*routev3.Route
	for _, path := range []string{ReadyPath, MetricsPath} {
		pages = append(pages, to(HealthName, &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}}))
	}
	filter := &hcmv3.HttpConnectionManager{
		StatPrefix:     HealthName,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: anyHost(HealthName, pages...)},
		HttpFilters:    []*hcmv3.HttpFilter{router()},
	}
	l := &listenerv3.Listener{
		Name: HealthName, StatPrefix: HealthName, Address: listening(b.Health),
		FilterChains: []*listenerv3.FilterChain{filtering("http_connection_manager", filter)},
		// A proxy that is full still says how it is, and it works: if all were full, none
		// would be asked any more.
		IgnoreGlobalConnLimit: true, BypassOverloadManager: true,
	}
	return l, static(HealthName, b.Admin.Addr().String(), b.Admin.Port())
}
