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
	// every namespace by accident.
	//
	// To allow every namespace, write {matchExpressions: [{key:
	// kubernetes.io/metadata.name, operator: Exists}]}.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Ports that these namespaces may publish and check, such as "30080" or "31000-31999".
	//
	// A range includes both ends.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +format=ports
	Ports []string `json:"ports"`
	// Namespaces of the remote cluster whose Services these namespaces may follow by
	// remoteService. Without any: none.
	//
	// Needs a source with a kubeconfig: kubernetes, or ionos with a kubeconfig in the
	// credentials.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +format=dns-label
	RemoteNamespaces []string `json:"remoteNamespaces,omitempty"`
	// How many Services of each namespace the pool may back. With several entries the
	// largest number counts.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxServices *int32 `json:"maxServices,omitempty"`
	// How many distinct checks the bindings of each namespace may cause in the pool.
	//
	// A distinct check is an address and a health check. Checks that the pool does anyway
	// do not count. With remoteService only nodes with a Pod count. With several entries
	// for a namespace the largest number counts.
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
	// How an endpoint is checked. TCP: connect. HTTP, HTTPS: GET. None: every endpoint
	// counts as passing.
	// +optional
	// +kubebuilder:default=TCP
	Mode HealthCheckMode `json:"mode,omitempty"`
	// TCP port to check. Without one: the only TCP port of the Service.
	//
	// A port of the whole node, such as kube-proxy's 10256, costs one check for all
	// Services of the pool. It does not notice that the port of one Service is dead.
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
	// Host header of the request, without a port. Default: the address of the endpoint.
	// For HTTP and HTTPS.
	//
	// It never decides where to connect to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +format=host
	// +modes=HTTP;HTTPS
	Host string `json:"host,omitempty"`
	// HTTP statuses that pass, as numbers and ranges separated by commas. Default for HTTP
	// and HTTPS: 200-399.
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
	// Timeout of one check, at most the interval. Default: 1s, or the interval if that is
	// shorter.
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
	// Hold one idle connection per endpoint; its loss starts a check. Wrong for servers
	// that handle one connection at a time.
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
	// Percentage of the endpoints that one inventory may remove, and at least one
	// endpoint. More rejects the inventory.
	//
	// The endpoints that a rejected inventory leaves out stay.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRemovalPercent *int32 `json:"maxRemovalPercent,omitempty"`
	// Percentage of the endpoints that may be silent at once. With more, silence takes no
	// endpoint down.
	//
	// With more silent endpoints the controller is presumed cut off.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxSilentPercent *int32 `json:"maxSilentPercent,omitempty"`
	// Rejected inventories in a row after which endpoints that they leave out may be
	// removed. 0 means never.
	//
	// Removed are endpoints that were down at each, and endpoints that as many new ones
	// replace; with mode None all.
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
