package settings

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Views is the configuration of endpoint-views. LoadViews is the only way to get a
// valid one.
type Views struct {
	Cluster ViewsCluster
	Stream  ViewsStream
	XDS     ViewsXDS
	Fleet   ViewsFleet
	Log     Log

	// origins and warnings are as in Config.
	origins  map[string]Origin
	warnings Mistakes
}

// ViewsCluster is what is watched.
type ViewsCluster struct {
	// Kubeconfig is empty for the ServiceAccount of the Pod we run in.
	Kubeconfig string   `envconfig:"KUBECONFIG" fallback:"in-cluster" desc:"kubeconfig of the cluster whose endpoints are shown"`
	Namespaces []string `envconfig:"VIEWS_NAMESPACES" format:"dns-label" fallback:"all" desc:"namespaces to watch, separated by commas; the rights are needed in these only" example:"shop,blog"`
	// Annotation selects Services: the default one by the value true, another one by
	// being there.
	Annotation string `envconfig:"VIEWS_ANNOTATION" default:"endpoints.ablmnzde.github.io/views" format:"annotation" desc:"annotation of the Services that are shown; the default one has to be true, any other one only has to be there"`
}

// ViewsStream is how clients are served.
type ViewsStream struct {
	Address        netip.AddrPort `envconfig:"VIEWS_ADDRESS" default:"127.0.0.1:8082" desc:"IP address and port of the stream and of lists; port 0 takes any free one"`
	MetricsAddress netip.AddrPort `envconfig:"METRICS_ADDRESS" default:"127.0.0.1:8083" desc:"IP address and port of /livez, /readyz and /metrics; port 0 takes any free one"`
	Certificate    string         `envconfig:"VIEWS_TLS_CERT_FILE" fallback:"no TLS" desc:"file with the certificate of the server, read again at each handshake"`
	Key            string         `envconfig:"VIEWS_TLS_KEY_FILE" desc:"file with its key"`
	ClientCA       string         `envconfig:"VIEWS_CLIENT_CA_FILE" fallback:"no client certificates" desc:"file with the authority of clients' certificates, read again when it changes; the URI SAN names the client"`
	TrustDomain    string         `envconfig:"VIEWS_TRUST_DOMAIN" default:"cluster.local" format:"dns-subdomain" desc:"trust domain of the clients' certificates; one of another trust domain is refused"`
	Identities     string         `envconfig:"VIEWS_IDENTITIES_FILE" fallback:"everything, on a loopback address only" desc:"YAML file with the namespaces that each client may see, read again when it changes"`
	MostClients    int            `envconfig:"VIEWS_MAX_CLIENTS" default:"500" min:"1" max:"10000" desc:"streams that may be open at once; at most a quarter of the file descriptors of the process"`
	MostOfOne      int            `envconfig:"VIEWS_MAX_CLIENTS_PER_IDENTITY" default:"50" min:"1" max:"10000" desc:"streams of one client that may be open at a time"`
}

// OwnAnnotation is the one that has to be true.
const OwnAnnotation = "endpoints.ablmnzde.github.io/views"

// Selects reports whether a Service with these annotations is shown.
func (c ViewsCluster) Selects(annotations map[string]string) bool {
	value, there := annotations[c.Annotation]
	return there && (value == "true" || c.Annotation != OwnAnnotation)
}

func annotation(value string) error {
	return demand(len(content.IsLabelKey(value)) == 0, "is no name of an annotation", "write for example "+OwnAnnotation)
}

// LoadViews is Load for endpoint-views.
func LoadViews(environ []string) (Views, error) {
	var v Views
	l := newLoader(environ, &Config{}, variablesOf(&v))
	l.checkViews(&v)
	l.checkXDS(&v)
	l.checkFleet(&v)
	if len(l.mistakes) > 0 {
		return Views{}, l.mistakes.sorted(l.place)
	}
	v.origins, v.warnings = l.origins, l.warnings
	return v, nil
}

// checkViews holds variables against each other.
func (l *loader) checkViews(v *Views) {
	const cert, key, ca, list, address = "VIEWS_TLS_CERT_FILE", "VIEWS_TLS_KEY_FILE", "VIEWS_CLIENT_CA_FILE", "VIEWS_IDENTITIES_FILE", "VIEWS_ADDRESS"
	s := v.Stream
	l.needs(key, cert, s.Certificate != "")
	l.needs(cert, key, s.Key != "")
	l.needs(cert, ca, s.ClientCA != "")
	l.needs(list, ca, s.ClientCA != "")
	l.apart("METRICS_ADDRESS", s.MetricsAddress, address, s.Address)
	if !l.sound(address) || s.Address.Addr().IsLoopback() {
		return
	}
	l.refuse(s.Certificate == "", address, "can be reached by others, who could read and change what is sent", "set "+cert+" and "+key+", or write 127.0.0.1:8082")
	l.refuse(s.Identities == "", address, "can be reached by others, and no list says what they may see", "set "+list+", or write 127.0.0.1:8082")
}

// Warnings returns the variables that look like ours and are not.
func (v Views) Warnings() []Mistake { return slices.Clone(v.warnings) }

// ViewsXDS is how Envoy and clients of gRPC are served.
type ViewsXDS struct {
	Address     netip.AddrPort `envconfig:"XDS_ADDRESS" fallback:"off" desc:"IP address and port of xDS; port 0 takes any free one" example:"0.0.0.0:18000"`
	Fleets      string         `envconfig:"XDS_FLEETS_FILE" fallback:"no listeners" desc:"YAML file with the listeners of fleets of Envoys, read again when it changes"`
	Watch       bool           `envconfig:"XDS_WATCH_FLEETS" default:"false" desc:"true reads fleets from objects of kind Envoy, too; needs the right to get, list and watch them"`
	MostClients int            `envconfig:"XDS_MAX_CLIENTS" default:"1000" min:"1" max:"10000" desc:"streams that may be open at once; at most a quarter of the file descriptors of the process"`
	MostOfOne   int            `envconfig:"XDS_MAX_CLIENTS_PER_IDENTITY" default:"250" min:"1" max:"10000" desc:"streams of one fleet or client that may be open at a time"`

	Retries            int           `envconfig:"XDS_RETRIES" default:"5" min:"0" max:"20" desc:"how often a proxy repeats a failed request, each time at another endpoint"`
	RetryGatewayErrors bool          `envconfig:"XDS_RETRY_GATEWAY_ERRORS" default:"false" desc:"true also repeats GET, HEAD, OPTIONS, PUT and DELETE that were answered with 502, 503 or 504"`
	BufferBytes        int           `envconfig:"XDS_RETRY_BUFFER_BYTES" default:"1048576" min:"16384" max:"67108864" desc:"bytes of a request that a proxy keeps to repeat it; larger ones are not repeated"`
	TryTimeout         time.Duration `envconfig:"XDS_TRY_TIMEOUT" default:"0s" min:"0s" max:"1h" desc:"time of one attempt, after which another endpoint is tried; 0s is no bound"`
	RequestTimeout     time.Duration `envconfig:"XDS_REQUEST_TIMEOUT" default:"0s" min:"0s" max:"24h" desc:"time of a whole request; 0s is no bound, as with kube-proxy"`
	StreamIdleTimeout  time.Duration `envconfig:"XDS_STREAM_IDLE_TIMEOUT" default:"1h" min:"1s" max:"24h" desc:"time without data after which a request ends; quiet WebSockets and long polls need more"`
	ConnectTimeout     time.Duration `envconfig:"XDS_CONNECT_TIMEOUT" default:"500ms" min:"10ms" max:"1m" desc:"time of one attempt to connect to an endpoint; a silent endpoint delays a request that long"`
	IdleTimeout        time.Duration `envconfig:"XDS_UPSTREAM_IDLE_TIMEOUT" default:"4s" min:"100ms" max:"1h" desc:"how long a proxy keeps an idle connection; shorter than the idle timeout of the endpoints"`
	EjectAfter         int           `envconfig:"XDS_EJECT_AFTER" default:"2" min:"0" max:"100" desc:"failed connections or resets in a row after which a proxy leaves out an endpoint; 0: never"`
	EjectionTime       time.Duration `envconfig:"XDS_EJECTION_TIME" default:"5s" min:"100ms" max:"1h" desc:"how long a proxy leaves out an endpoint the first time; later at most 30s"`
	MaxEjectionPercent int           `envconfig:"XDS_MAX_EJECTION_PERCENT" default:"50" min:"0" max:"100" desc:"share of the endpoints that a proxy may leave out, and at least one"`
	PanicPercent       int           `envconfig:"XDS_PANIC_PERCENT" default:"50" min:"1" max:"100" desc:"share of usable endpoints below which a proxy uses all of them; draining ones do not count"`
	MaxRequests        int           `envconfig:"XDS_MAX_REQUESTS" default:"1000000" min:"1" max:"1000000000" desc:"requests, connections and waiting requests of a proxy or client at once, for each Service port"`
}

// On reports whether xDS is served.
func (x ViewsXDS) On() bool { return x.Address.IsValid() }

// checkXDS holds variables against each other.
func (l *loader) checkXDS(v *Views) {
	const address, fleets, cert, ca, list = "XDS_ADDRESS", "XDS_FLEETS_FILE", "VIEWS_TLS_CERT_FILE", "VIEWS_CLIENT_CA_FILE", "VIEWS_IDENTITIES_FILE"
	l.needs(address, fleets, v.XDS.Fleets != "")
	l.needs(address, "XDS_WATCH_FLEETS", v.XDS.Watch)
	if !v.XDS.On() || !l.sound(address) {
		return
	}
	l.apart(address, v.XDS.Address, "VIEWS_ADDRESS", v.Stream.Address)
	l.apart(address, v.XDS.Address, "METRICS_ADDRESS", v.Stream.MetricsAddress)
	l.refuse(v.Stream.Certificate == "" && !v.XDS.Address.Addr().IsLoopback(), address,
		"can be reached by others, who could read and change what is sent", "set "+cert+" and VIEWS_TLS_KEY_FILE, or write 127.0.0.1:18000")
	l.refuse(v.Stream.Certificate != "" && v.Stream.ClientCA == "", address, "needs an authority of client certificates: a certificate says which client asks", "set "+ca+" and "+list)
}

// ViewsFleet is how `endpoint-views fleet` makes fleets of Envoys.
type ViewsFleet struct {
	Namespaces []string `envconfig:"FLEET_NAMESPACES" format:"dns-label" fallback:"all" desc:"namespaces whose Envoys are looked after, separated by commas; the rights are needed in these only" example:"shop,blog"`
	Server     string   `envconfig:"FLEET_XDS_SERVER" fleet:"needed" format:"host-port" desc:"HOST:PORT of XDS_ADDRESS as the Envoys reach it; a headless Service, so that they spread over the replicas; needed by fleet" example:"endpoint-views-xds.infra:18000"`
	EnvoyImage string   `envconfig:"FLEET_ENVOY_IMAGE" fleet:"needed" format:"image" desc:"image of Envoy by its digest, for fleets without spec.image; needed by fleet" example:"envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	Image      string   `envconfig:"FLEET_IMAGE" fleet:"needed" desc:"image of endpoint-views, which drains an Envoy that ends; needed by fleet" example:"ghcr.io/ablmnzde/ionoscloud-endpointslice-controller@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	ServeURL   string   `envconfig:"FLEET_SERVE_URL" format:"server-url" fallback:"Synced stays Unknown" desc:"address of VIEWS_ADDRESS of endpoint-views; the operator asks each replica there what the Envoys acknowledged" example:"https://endpoint-views-replicas.infra:8443"`
	ServeCA    string   `envconfig:"FLEET_SERVE_CA_FILE" fallback:"authorities of the system" desc:"file with the authority of its certificate, read again for each question"`
	ServeToken string   `envconfig:"FLEET_SERVE_TOKEN_FILE" fallback:"no token" desc:"file with the operator's token, read again for each question; its identity needs the namespace \"*\""`
	Election   bool     `envconfig:"FLEET_LEADER_ELECTION" default:"false" desc:"true lets only one of several operators act"`
	LeaseNS    string   `envconfig:"FLEET_LEASE_NAMESPACE" format:"dns-label" fallback:"namespace of the Pod" desc:"namespace of the Lease of the operators"`
	LeaseName  string   `envconfig:"FLEET_LEASE_NAME" default:"endpoint-views-fleet" format:"dns-subdomain" desc:"name of that Lease"`
}

// CheckFleet says what `endpoint-views fleet` is missing; the other commands need none of
// it.
func (v Views) CheckFleet() error {
	var missing Mistakes
	for _, one := range variablesOf(&v.Fleet) {
		if one.tags.Get("fleet") == "needed" && one.field.IsZero() {
			missing = append(missing, Mistake{Variable: one.name, Rule: "is not set, and fleet needs it", Remedy: "set it, for example to " + one.tags.Get("example")})
		}
	}
	if len(missing) > 0 {
		return missing
	}
	return nil
}

// HostPort is FLEET_XDS_SERVER in parts. The configuration is valid, so it has both.
func (f ViewsFleet) HostPort() (host string, port uint16) {
	host, text, _ := net.SplitHostPort(f.Server)
	number, _ := strconv.ParseUint(text, 10, 16)
	return host, uint16(number)
}

func hostPort(value string) error {
	name, text, err := net.SplitHostPort(value)
	number, wrong := strconv.ParseUint(text, 10, 16)
	return demand(err == nil && wrong == nil && number > 0 && host(name) == nil, "is no HOST:PORT", "write for example endpoint-views-xds.infra:18000")
}

var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

func image(value string) error {
	return demand(byDigest.MatchString(value), "is no image by its digest", "write REPOSITORY@sha256: and 64 of 0-9 and a-f: a tag may become another image")
}

func serverURL(value string) error {
	_, err := webURL(value, "https://endpoint-views.infra:8443")
	return err
}

// checkFleet holds variables against each other.
func (l *loader) checkFleet(v *Views) {
	const address, token, ca = "FLEET_SERVE_URL", "FLEET_SERVE_TOKEN_FILE", "FLEET_SERVE_CA_FILE" //nolint:gosec // names, no secrets
	l.needs(address, token, v.Fleet.ServeToken != "")
	l.needs(address, ca, v.Fleet.ServeCA != "")
	if server, err := url.Parse(v.Fleet.ServeURL); err == nil && v.Fleet.ServeToken != "" && server.Scheme == "http" && server.Hostname() != "127.0.0.1" && server.Hostname() != "localhost" {
		l.mistake(address, "would send the token without TLS", "write a URL of scheme https")
	}
}
