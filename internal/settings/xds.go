package settings

import (
	"net/netip"
	"time"
)

// ViewsXDS is how Envoy and clients of gRPC are served.
type ViewsXDS struct {
	Address     netip.AddrPort `envconfig:"XDS_ADDRESS" fallback:"off" desc:"IP address and port of xDS; port 0 takes any free one; certificates and authority are those of VIEWS_TLS_CERT_FILE, VIEWS_TLS_KEY_FILE and VIEWS_CLIENT_CA_FILE, and every client has to show a certificate" example:"0.0.0.0:18000"`
	Fleets      string         `envconfig:"XDS_FLEETS_FILE" fallback:"no listeners" desc:"YAML file with the listeners of fleets of Envoys, read again when it changes"`
	Watch       bool           `envconfig:"XDS_WATCH_FLEETS" default:"false" desc:"true also reads fleets from the API server, from objects of kind Envoy; needs their definition and the rights get, list and watch of envoys.fleet.ablmnzde.github.io; a fleet that the file names, too, is that of the file"`
	MostClients int            `envconfig:"XDS_MAX_CLIENTS" default:"1000" min:"1" max:"10000" desc:"streams that may be open at a time; at most a quarter of the file descriptors that the process may have"`
	MostOfOne   int            `envconfig:"XDS_MAX_CLIENTS_PER_IDENTITY" default:"250" min:"1" max:"10000" desc:"streams of one fleet or client that may be open at a time"`

	Retries            int           `envconfig:"XDS_RETRIES" default:"5" min:"0" max:"20" desc:"how often a proxy tries a request again, each time at another endpoint; enough where half of the endpoints die at once. GET, HEAD, OPTIONS, PUT and DELETE are repeated whenever the answer has not begun, other methods only where the endpoint got nothing of the request"`
	RetryGatewayErrors bool          `envconfig:"XDS_RETRY_GATEWAY_ERRORS" default:"false" desc:"true also repeats GET, HEAD, OPTIONS, PUT and DELETE that were answered with 502, 503 or 504; off because an application may mean it"`
	BufferBytes        int           `envconfig:"XDS_RETRY_BUFFER_BYTES" default:"1048576" min:"16384" max:"67108864" desc:"how much of a request a proxy keeps to repeat it; a larger one is not repeated once it was begun"`
	TryTimeout         time.Duration `envconfig:"XDS_TRY_TIMEOUT" default:"0s" min:"0s" max:"1h" desc:"time of one attempt, after which GET, HEAD, OPTIONS, PUT and DELETE are sent to another endpoint too; set it above the slowest answer, so that a node that lost power costs no request; 0s is no bound, because only you know how long an answer may take"`
	RequestTimeout     time.Duration `envconfig:"XDS_REQUEST_TIMEOUT" default:"0s" min:"0s" max:"24h" desc:"time of a whole request; 0s is no bound, as with kube-proxy, where Envoy's own default cuts off at 15s"`
	StreamIdleTimeout  time.Duration `envconfig:"XDS_STREAM_IDLE_TIMEOUT" default:"1h" min:"1s" max:"24h" desc:"time after which a request ends in which nothing is sent; Envoy's own default, 5m, cuts off quiet WebSockets and long polls"`
	ConnectTimeout     time.Duration `envconfig:"XDS_CONNECT_TIMEOUT" default:"500ms" min:"10ms" max:"1m" desc:"time of one attempt to connect to an endpoint; short, because a silent endpoint holds up a request for so long before the next is tried"`
	IdleTimeout        time.Duration `envconfig:"XDS_UPSTREAM_IDLE_TIMEOUT" default:"4s" min:"100ms" max:"1h" desc:"how long a proxy keeps an idle connection to an endpoint; below the idle timeout of the endpoints, because a request on a connection that the endpoint is closing is lost, for many servers 5s"`
	EjectAfter         int           `envconfig:"XDS_EJECT_AFTER" default:"2" min:"0" max:"100" desc:"failed connections or resets in a row after which a proxy leaves out an endpoint; 0 never does; answers of the application never count"`
	EjectionTime       time.Duration `envconfig:"XDS_EJECTION_TIME" default:"5s" min:"100ms" max:"1h" desc:"how long it leaves it out the first time, at most 30s for one that fails again and again; long enough for the health checks to take a dead endpoint out of the slices, and short for one that only restarts"`
	MaxEjectionPercent int           `envconfig:"XDS_MAX_EJECTION_PERCENT" default:"50" min:"0" max:"100" desc:"share of the endpoints that may be left out, and at least one; with more out, the fault is probably the proxy's own network"`
	PanicPercent       int           `envconfig:"XDS_PANIC_PERCENT" default:"50" min:"1" max:"100" desc:"share of usable endpoints, those that drain not counted, below which a proxy uses all of them; never 0, because then nothing would be used where all fail"`
	MaxRequests        int           `envconfig:"XDS_MAX_REQUESTS" default:"1000000" min:"1" max:"1000000000" desc:"requests, connections and waiting requests that a proxy or client may have at a time for each port of a Service; Envoy's own default, 1024, refuses requests where a node dies and the others get slower"`
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
	if v.XDS.Address.Port() != 0 && (v.XDS.Address == v.Stream.Address || v.XDS.Address == v.Stream.MetricsAddress) {
		l.mistake(address, "is the address of another listener", "choose another port")
	}
	if v.Stream.Certificate == "" && !v.XDS.Address.Addr().IsLoopback() {
		l.mistake(address, "can be reached by others, who could read and change what is sent", "set "+cert+" and VIEWS_TLS_KEY_FILE, or write 127.0.0.1:18000")
	}
	if v.Stream.Certificate != "" && v.Stream.ClientCA == "" {
		l.mistake(address, "needs an authority of client certificates: a certificate says which client asks", "set "+ca+" and "+list)
	}
}
