package envoyconfig

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previousv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

const (
	// neverReached are the reasons to repeat a request of any method: the endpoint got
	// nothing of it.
	neverReached = "connect-failure,refused-stream,reset-before-request"
	// cutOff is one for methods that may be repeated: the connection ended before the
	// answer began.
	cutOff = ",reset"
	// answered are those that an application may mean.
	answered = ",gateway-error"
)

// routes are those of the listener: for each host its routes, the longest path first, and
// behind them what is done with a request that none is for.
func (l *Listener) routes(service func(join.Key) *join.Service, s Settings) *routev3.RouteConfiguration {
	byHost := map[string][]*Route{everyHost: nil}
	for i := range l.Routes {
		r := &l.Routes[i]
		hosts := r.Hosts
		if len(hosts) == 0 {
			hosts = []string{everyHost}
		}
		for _, host := range hosts {
			byHost[host] = append(byHost[host], r)
		}
	}
	config := &routev3.RouteConfiguration{Name: l.Name(), IgnorePortInHostMatching: true}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		own := byHost[host]
		slices.SortStableFunc(own, func(a, b *Route) int { return len(b.Prefix) - len(a.Prefix) })
		one := &routev3.VirtualHost{Name: host, Domains: []string{host}}
		for _, r := range own {
			one.Routes = append(one.Routes, lead(r.Prefix, r.Backend(), service, r.settings(s))...)
		}
		one.Routes = append(one.Routes, l.otherwise(service, s)...)
		config.VirtualHosts = append(config.VirtualHosts, one)
	}
	return config
}

// everyHost is the host of routes that name none.
const everyHost = "*"

// settings are those of requests of the route.
func (r *Route) settings(s Settings) Settings {
	if r.RequestTimeout != nil {
		s.RequestTimeout = *r.RequestTimeout
	}
	if r.IdleTimeout != nil {
		s.StreamIdleTimeout = *r.IdleTimeout
	}
	return s
}

// otherwise is what is done with a request that no route is for.
func (l *Listener) otherwise(service func(join.Key) *join.Service, s Settings) []*routev3.Route {
	switch {
	case l.Service.Name != "":
		return lead("/", l.Backend(), service, s)
	case l.RedirectPort != 0:
		return []*routev3.Route{{Match: below("/"), Action: &routev3.Route_Redirect{Redirect: toHTTPS(l.RedirectPort)}}}
	}
	return []*routev3.Route{{Match: below("/"), Action: answer(404, "There is no route for this host and path.\n")}}
}

// toHTTPS keeps method and body of the request. The port of HTTPS is left out of the
// address.
func toHTTPS(port uint16) *routev3.RedirectAction {
	redirect := &routev3.RedirectAction{
		SchemeRewriteSpecifier: &routev3.RedirectAction_HttpsRedirect{HttpsRedirect: true}, ResponseCode: routev3.RedirectAction_PERMANENT_REDIRECT,
	}
	if port != 443 {
		redirect.PortRedirect = uint32(port)
	}
	return redirect
}

// lead sends the requests below a path to a backend, or answers 503 where there is none.
// Requests of methods that may be repeated are repeated for more reasons.
func lead(prefix string, b Backend, service func(join.Key) *join.Service, s Settings) []*routev3.Route {
	cluster, found := b.Cluster(service(b.Service))
	if !found {
		name := b.Service.Namespace + "/" + b.Service.Name
		text := "This proxy knows no Service " + name + " with this port.\n"
		if cluster != "" {
			text = "Service " + name + " speaks TLS and does not say how certificates are checked; annotate it with " + join.AuthorityAnnotation + ".\n"
		}
		return []*routev3.Route{{Match: below(prefix), Action: answer(503, text)}}
	}
	return []*routev3.Route{
		{Match: repeatable(below(prefix)), Action: &routev3.Route_Route{Route: action(cluster, neverReached+cutOff, true, s)}},
		{Match: below(prefix), Action: &routev3.Route_Route{Route: action(cluster, neverReached, false, s)}},
	}
}

// answer is one of the proxy itself.
func answer(code uint32, text string) *routev3.Route_DirectResponse {
	return &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
		Status: code, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}},
	}}
}

// below matches a path and everything below it: /api and /api/users, not /apis.
func below(prefix string) *routev3.RouteMatch {
	if prefix = strings.TrimRight(prefix, "/"); prefix == "" {
		return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
	}
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: prefix}}
}

// repeatable narrows a match to the methods that mean the same when a request is repeated.
func repeatable(match *routev3.RouteMatch) *routev3.RouteMatch {
	match.Headers = []*routev3.HeaderMatcher{{
		Name: ":method",
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: "GET|HEAD|OPTIONS|PUT|DELETE"}},
		}},
	}}
	return match
}

// action sends to the cluster. Repeat says that the method may be repeated.
func action(cluster, retryOn string, repeat bool, s Settings) *routev3.RouteAction {
	a := &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
		Timeout:          durationpb.New(s.RequestTimeout), // 0 is no bound; nothing said is 15 s
		IdleTimeout:      durationpb.New(s.StreamIdleTimeout),
	}
	if repeat && s.RetryGatewayErrors {
		retryOn += answered
	}
	if s.Retries == 0 {
		return a
	}
	a.RetryPolicy = &routev3.RetryPolicy{
		RetryOn: retryOn, NumRetries: number(s.Retries),
		RetryHostPredicate: []*routev3.RetryPolicy_RetryHostPredicate{{
			Name:       "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: packed(&previousv3.PreviousHostsPredicate{})},
		}},
		HostSelectionRetryMaxAttempts: selections,
		RetryBackOff: &routev3.RetryPolicy_RetryBackOff{
			BaseInterval: durationpb.New(25 * time.Millisecond), MaxInterval: durationpb.New(250 * time.Millisecond),
		},
	}
	if s.TryTimeout > 0 && repeat {
		a.RetryPolicy.PerTryTimeout = durationpb.New(s.TryTimeout)
		a.HedgePolicy = &routev3.HedgePolicy{HedgeOnPerTryTimeout: true}
	}
	return a
}
