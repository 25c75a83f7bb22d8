package envoyconfig

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// GRPC are the resources that clients of gRPC need of one Service. A client dials
// xds:///web.shop:80, or xds:///web.shop for the first port: a port that is added behind
// it takes nothing away.
func GRPC(service *join.Service, all []join.Endpoint, s Settings) Set {
	set := NewSet()
	for i, port := range Ports(service) {
		name := Name(service.Key, port.Number)
		set[Clusters][name] = cluster(name, &clusterv3.CircuitBreakers_Thresholds{MaxRequests: number(s.MaxRequests)})
		set[Endpoints][name] = assignment(name, zones(service, port, all))
		set[Routes][name] = grpcRoutes(name)
		set[Listeners][name] = grpcListener(name, name)
		if i == 0 {
			set[Listeners][host(service.Key)] = grpcListener(host(service.Key), name)
		}
	}
	return set
}

func grpcListener(name, routes string) *listenerv3.Listener {
	manager := &hcmv3.HttpConnectionManager{
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: ads(0), RouteConfigName: routes}},
		HttpFilters:    []*hcmv3.HttpFilter{router()},
	}
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: packed(manager)}}
}

// router is the filter that sends requests to clusters.
func router() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})}}
}

func grpcRoutes(name string) *routev3.RouteConfiguration {
	return anyHost(name, to(name, &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: ""}}))
}

// anyHost are routes for every host.
func anyHost(name string, all ...*routev3.Route) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{Name: name, Domains: []string{everyHost}, Routes: all}}}
}

// to sends what matches to a cluster.
func to(cluster string, match *routev3.RouteMatch) *routev3.Route {
	return &routev3.Route{Match: match, Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster}}}}
}
