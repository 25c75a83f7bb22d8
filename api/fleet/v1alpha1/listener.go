package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ListenerProtocol is what a listener speaks.
//
// +kubebuilder:validation:Enum=HTTP;TCP
type ListenerProtocol string

// The protocols of listeners.
const (
	// ListenerHTTP is HTTP/1.1 and HTTP/2, with TLS where tls is set.
	ListenerHTTP ListenerProtocol = "HTTP"
	// ListenerTCP passes on bytes.
	ListenerTCP ListenerProtocol = "TCP"
)

// Listener is a port of the fleet, and where it leads to: one Service, or routes to several
// and a redirect to HTTPS.
//
// +kubebuilder:validation:XValidation:rule="has(self.service) != ((has(self.routes) && size(self.routes) > 0) || has(self.httpsRedirectPort))",message="a listener leads to one Service, or to routes and a redirect: write either service, or routes, httpsRedirectPort or both"
// +kubebuilder:validation:XValidation:rule="!has(self.protocol) || self.protocol != 'TCP' || (!has(self.routes) && !has(self.httpsRedirectPort) && !has(self.trustedHops))",message="routes, httpsRedirectPort and trustedHops need protocol HTTP"
// +kubebuilder:validation:XValidation:rule="!has(self.httpsRedirectPort) || !has(self.tls)",message="a listener with tls is HTTPS already; remove httpsRedirectPort"
// +kubebuilder:validation:XValidation:rule="!has(self.servicePort) || has(self.service)",message="servicePort needs service"
type Listener struct {
	// Name of the listener, and of the port of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'health'",message="health is the port of Envoy's own pages; choose another name"
	Name string `json:"name"`
	// Port of the Service, to which clients connect. In the Pod, a port below 1024 is 8000
	// higher: 443 is 8443.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 9901 && self != 9902",message="the ports 9901 and 9902 are those of Envoy's own pages; choose another one"
	Port int32 `json:"port"`
	// HTTP is HTTP/1.1 and HTTP/2. TCP passes on bytes, also TLS that the endpoints end.
	// +optional
	// +kubebuilder:default=HTTP
	Protocol ListenerProtocol `json:"protocol,omitempty"`
	// The Service that the listener leads to: its name, or NAMESPACE/NAME where its
	// annotation endpoints.ablmnzde.github.io/fleets names this fleet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	Service string `json:"service,omitempty"`
	// Number of the port of that Service. Default: its first port of TCP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ServicePort *int32 `json:"servicePort,omitempty"`
	// Where requests go, by host and path, instead of service. The most specific route
	// counts. A request without a route is answered with 404.
	// +optional
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	Routes []Route `json:"routes,omitempty"`
	// Redirect requests without a route to HTTPS at this port, as clients know it, with
	// 308. A redirected request keeps its method and body.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HTTPSRedirectPort *int32 `json:"httpsRedirectPort,omitempty"`
	// TLS towards clients.
	// +optional
	TLS *ListenerTLS `json:"tls,omitempty"`
	// Required: every connection begins with a PROXY header, version 1 or 2, of a load
	// balancer. Connections without the header are closed.
	// +optional
	// +kubebuilder:default=None
	ProxyProtocol ProxyProtocol `json:"proxyProtocol,omitempty"`
	// How many proxies in front are trusted to add to X-Forwarded-For. With 0, the client
	// is the other end of the connection.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	TrustedHops *int32 `json:"trustedHops,omitempty"`
}

// ProxyProtocol says whether connections begin with a header of the PROXY protocol.
//
// +kubebuilder:validation:Enum=None;Required
type ProxyProtocol string

// The uses of the PROXY protocol.
const (
	ProxyProtocolNone     ProxyProtocol = "None"
	ProxyProtocolRequired ProxyProtocol = "Required"
)

// lowPorts are those that need a right of the node, and shift is what an Envoy adds to them.
const (
	lowPorts = 1024
	shift    = 8000
)

// PodPort is the port in the Pod.
func (l *Listener) PodPort() int32 {
	if l.Port < lowPorts {
		return l.Port + shift
	}
	return l.Port
}

// ListenerTLS is TLS towards clients.
type ListenerTLS struct {
	// Secrets of type kubernetes.io/tls. The host that the client asks for chooses;
	// otherwise the first one is shown. Renewed ones need no restart.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=atomic
	SecretNames []string `json:"secretNames"`
	// Oldest version of TLS that is accepted.
	// +optional
	// +kubebuilder:default="1.2"
	// +kubebuilder:validation:Enum="1.2";"1.3"
	MinVersion string `json:"minVersion,omitempty"`
}

// Route leads requests to a Service.
type Route struct {
	// Hosts in small letters, without a port: shop.example.com, or *.example.com for
	// every host below it. Default: every host.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +listType=set
	Hosts []string `json:"hosts,omitempty"`
	// Beginning of the path, in whole elements: /api is for /api and /api/users, not for
	// /apis.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^?#\s]*$`
	PathPrefix string `json:"pathPrefix,omitempty"`
	// The Service: its name, or NAMESPACE/NAME where its annotation
	// endpoints.ablmnzde.github.io/fleets names this fleet.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=127
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`
	Service string `json:"service"`
	// Number of the port of that Service. Default: its first port of TCP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ServicePort *int32 `json:"servicePort,omitempty"`
	// Time of a whole request; 0s is no limit. Default: XDS_REQUEST_TIMEOUT.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="requestTimeout is 0s to 24h, where 0s is no bound"
	RequestTimeout *metav1.Duration `json:"requestTimeout,omitempty"`
	// Time after which a silent request ends, also a WebSocket or a stream; 0s is no
	// limit. Default: XDS_STREAM_IDLE_TIMEOUT.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="idleTimeout is 0s to 24h, where 0s is no bound"
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`
}
