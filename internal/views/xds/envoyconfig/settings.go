package envoyconfig

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// Settings are how proxies treat requests and endpoints. The reference of
// endpoint-views' configuration has the reasons of the defaults.
type Settings struct {
	// ConnectTimeout bounds one attempt to connect to an endpoint.
	ConnectTimeout time.Duration
	// IdleTimeout is how long an idle connection to an endpoint is kept; shorter than
	// the endpoint keeps it.
	IdleTimeout time.Duration
	// RequestTimeout bounds a whole request, TryTimeout one attempt; 0 is no bound.
	RequestTimeout, TryTimeout time.Duration
	// StreamIdleTimeout ends a request in which nothing is sent for so long.
	StreamIdleTimeout time.Duration
	// Retries is how often a request is tried again.
	Retries uint32
	// RetryGatewayErrors also repeats what was answered with 502, 503 or 504.
	RetryGatewayErrors bool
	// BufferBytes is how much of a request is kept to repeat it.
	BufferBytes uint32
	// EjectAfter failed attempts in a row leave an endpoint out for EjectionTime; 0
	// never does. At most MaxEjectionPercent of the endpoints are left out.
	EjectAfter         uint32
	EjectionTime       time.Duration
	MaxEjectionPercent uint32
	// PanicPercent is the share of usable endpoints below which all are used.
	PanicPercent uint32
	// MaxRequests bounds requests, connections and those that wait for one, for each
	// cluster and proxy.
	MaxRequests uint32
	// AccessLog says which requests have a line; empty is those that failed.
	AccessLog v1alpha1.AccessLog
	// Folder is where proxies find the files that name the certificates of listeners;
	// empty is that of the Pods of fleets.
	Folder string
}

const (
	// longestEjection bounds how long an endpoint is left out that failed again and
	// again: Envoy multiplies the time by the number of ejections.
	longestEjection = 30 * time.Second
	// selections is how often another endpoint is chosen where one was tried already.
	selections = 10
	// endpointsWait is how long a new cluster waits for its endpoints: Envoy then uses
	// those that it knows.
	endpointsWait = 2 * time.Second
	// tcpIdle is how long a connection of a TCP listener may be idle: as long as
	// kube-proxy keeps it.
	tcpIdle = 24 * time.Hour
)
