package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PoolAllowance lets namespaces use ports. The namespaces of one entry trust each other
// on its ports: each may send traffic to what the others run there. Exactly one of
// namespaces and namespaceSelector is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.namespaceSelector)",message="names no namespace; write namespaces or namespaceSelector; an entry for every namespace is not assumed"
// +kubebuilder:validation:XValidation:rule="!has(self.namespaces) || !has(self.namespaceSelector)",message="has both namespaces and namespaceSelector; make two entries of it"
type PoolAllowance struct {
	// Namespaces by name.
	// +optional
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +format=dns-label
	Namespaces []string `json:"namespaces,omitempty"`
	// Namespaces by their labels. An empty selector is refused, because it would select
	// every namespace by accident: write {matchExpressions: [{key:
	// kubernetes.io/metadata.name, operator: Exists}]} to allow all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Ports of the endpoints that these namespaces may publish and check: a number, or a
	// range with both ends included. "30080", "31000-31999".
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +format=ports
	Ports []string `json:"ports"`
	// Namespaces of the remote cluster whose Services the bindings of these namespaces
	// may follow by remoteService: without any, none. Needs a source with a kubeconfig:
	// kubernetes, or ionos with a kubeconfig in the credentials.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +format=dns-label
	RemoteNamespaces []string `json:"remoteNamespaces,omitempty"`
	// How many Services of each of these namespaces the pool may back. Where several
	// entries are for a namespace, the largest number counts.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxServices *int32 `json:"maxServices,omitempty"`
	// How many distinct checks, an address and a health check each, the bindings of each
	// of these namespaces may cause in the pool. Checks that the pool does anyway do not
	// count. With remoteService only nodes with a Pod count. Where several entries are for
	// a namespace, the largest number counts.
	// +optional
	// +kubebuilder:default=2000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20000
	MaxChecks *int32 `json:"maxChecks,omitempty"`
}

// HealthCheckMode is how an endpoint is checked. The modes are words, because YAML
// reads an unquoted off as false.
//
// +kubebuilder:validation:Enum=None;TCP;HTTP;HTTPS
type HealthCheckMode string

// The modes of a health check.
const (
	// HealthCheckNone checks nothing: every endpoint counts as passing.
	HealthCheckNone HealthCheckMode = "None"
	// HealthCheckTCP passes when the endpoint accepts a connection.
	HealthCheckTCP HealthCheckMode = "TCP"
	// HealthCheckHTTP and HealthCheckHTTPS pass when the endpoint answers a GET with an
	// expected status.
	HealthCheckHTTP  HealthCheckMode = "HTTP"
	HealthCheckHTTPS HealthCheckMode = "HTTPS"
)

// PoolHealthCheck is how the endpoints of a pool are checked.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeout) || !has(self.interval) || duration(self.timeout) <= duration(self.interval)",message="is longer than the interval; write at most the interval",fieldPath=".timeout"
type PoolHealthCheck struct {
	// How an endpoint is checked. None: not at all, every endpoint counts as passing.
	// TCP: it accepts a connection. HTTP and HTTPS: it answers a GET with an expected
	// status.
	// +optional
	// +kubebuilder:default=TCP
	Mode HealthCheckMode `json:"mode,omitempty"`
	// TCP port to check. Without one: the only TCP port of the Service. A port of the
	// whole node, such as kube-proxy's 10256, costs one check for all Services of the
	// pool, but does not notice that the port of one Service is dead.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Path, and query if need be, of the request. For HTTP and HTTPS, where / is the
	// default.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +format=url-path
	// +modes=HTTP;HTTPS
	Path string `json:"path,omitempty"`
	// Host header of the request, without a port. Without one: the address of the
	// endpoint. It never decides where to connect to. For HTTP and HTTPS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +format=host
	// +modes=HTTP;HTTPS
	Host string `json:"host,omitempty"`
	// HTTP statuses that pass, as numbers from 100 to 599 and ranges, separated by
	// commas. For HTTP and HTTPS, where 200-399 is the default.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +format=status
	// +modes=HTTP;HTTPS
	ExpectedStatus string `json:"expectedStatus,omitempty"`
	// Time from the start of one round of checks to the start of the next.
	// +optional
	// +kubebuilder:default="2s"
	// +limits=100ms to 1h
	Interval *metav1.Duration `json:"interval,omitempty"`
	// Timeout of one check, at most the interval. Where the interval is shorter than 1s,
	// the interval is the default.
	// +optional
	// +fallback=1s
	// +limits=10ms to 1h
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Passes in a row after which an endpoint that is down is ready again.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Rise *int32 `json:"rise,omitempty"`
	// Failures in a row after which an endpoint is down.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Fall *int32 `json:"fall,omitempty"`
	// Hold one idle TCP connection to each endpoint; when it is lost the endpoint is
	// checked at once. Wrong for servers that handle one connection at a time.
	// +optional
	// +kubebuilder:default=false
	HoldConnection *bool `json:"holdConnection,omitempty"`
	// Name that the certificate must be for. Without one: the host, else the address.
	// For HTTPS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +format=host
	// +modes=HTTPS
	TLSServerName string `json:"tlsServerName,omitempty"`
	// Accept any certificate. The check then proves that something answers, not what.
	// For HTTPS.
	// +optional
	// +kubebuilder:default=false
	// +modes=HTTPS
	TLSInsecure *bool `json:"tlsInsecure,omitempty"`
}

// PoolGuard is how much may be taken away.
type PoolGuard struct {
	// Percentage of the endpoints that may leave at a time. An inventory that takes more
	// away is rejected, and what it leaves out is kept. One endpoint may always leave.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRemovalPercent *int32 `json:"maxRemovalPercent,omitempty"`
	// Percentage of the endpoints that may be silent at once. If more are, the controller
	// is presumed cut off, and silence takes no endpoint down.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxSilentPercent *int32 `json:"maxSilentPercent,omitempty"`
	// Rejected inventories in a row after which endpoints that they leave out are
	// removed: those that were down at each, and those that as many new ones replace;
	// with mode None all. 0 means never.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	EmptyResultThreshold *int32 `json:"emptyResultThreshold,omitempty"`
	// Publish all endpoints that stay as ready when none passes its health check. false
	// publishes them as down.
	// +optional
	// +kubebuilder:default=true
	FailOpen *bool `json:"failOpen,omitempty"`
	// How long a leaving endpoint that still passes stays draining, at least until
	// another one passes.
	// +optional
	// +kubebuilder:default="30s"
	// +limits=0s to 24h
	DrainPeriod *metav1.Duration `json:"drainPeriod,omitempty"`
}
