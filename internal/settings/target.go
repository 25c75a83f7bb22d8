package settings

// DefaultManagedBy is our name: of the binary, of the label value that marks
// our slices, and of the lease.
const DefaultManagedBy = "ionos-endpointslice-controller"

// Target is the Service of the local cluster and how to fill it.
type Target struct {
	Namespace string `envconfig:"TARGET_NAMESPACE" default:"default" format:"dns-label" desc:"namespace of the Service and its slices"`
	// ServiceName is also the value of a label, so 63 characters are the limit.
	ServiceName string `envconfig:"TARGET_SERVICE_NAME" required:"true" format:"dns-label" example:"web" desc:"the selector-less Service, at most 63 characters"`
	// SliceName leaves room for the suffix of further slices. Load fills in the
	// default.
	SliceName string `envconfig:"TARGET_ENDPOINTSLICE_NAME" format:"dns-subdomain" fallback:"<service>-remote" desc:"name of the first slice, at most 243 characters; further ones are <name>-2 and so on, those of IPv6 <name>-ipv6, <name>-ipv6-2 and so on"`
	// ManagedBy decides which slices are ours to touch (contract 23).
	ManagedBy string `envconfig:"TARGET_MANAGED_BY" default:"ionos-endpointslice-controller" format:"label-value" desc:"value of the label endpointslice.kubernetes.io/managed-by; slices with another value are never touched. Not one of Kubernetes' own controllers"`
	// Port is 0 when Ports are given. Exactly one of the two is.
	Port int `envconfig:"TARGET_PORT" min:"1" max:"65535" example:"8080" desc:"TCP port of the endpoints; its name is taken from the Service. Either this or TARGET_PORTS is needed"`
	// Ports are empty when Port is given.
	Ports []string `envconfig:"TARGET_PORTS" format:"port" example:"http=8080,dns=53/UDP" desc:"several ports, as name=port[/protocol] separated by commas, with the names of the Service's ports; protocols are TCP, UDP and SCTP"`
	// MaxEndpointsPerSlice has the upper limit of the EndpointSlice API; its
	// default is that of Kubernetes' own controller.
	MaxEndpointsPerSlice int `envconfig:"MAX_ENDPOINTS_PER_SLICE" default:"100" min:"1" max:"1000" desc:"endpoints in one slice"`
}
