package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EndpointBinding fills the Service of the same name in the same namespace from pools.
// There is one for each Service, because it is named like it. A team writes it. It only
// chooses: a pool that does not allow the namespace or a port is not used.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ebind,categories=remote-endpoints
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=Pools,type=string,JSONPath=`.spec.pools`
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name=State,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name=Accepted,type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`,priority=1
// +kubebuilder:printcolumn:name=Programmed,type=string,JSONPath=`.status.conditions[?(@.type=="Programmed")].reason`,priority=1
// +kubebuilder:printcolumn:name=Held,type=string,JSONPath=`.status.conditions[?(@.type=="Held")].reason`,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",message="metadata.name is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write the name of the Service"
type EndpointBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the team wants.
	Spec EndpointBindingSpec `json:"spec"`
	// What the controller found. Files have no status.
	// +optional
	Status EndpointBindingStatus `json:"status,omitempty"`
}

// EndpointBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type EndpointBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EndpointBinding `json:"items"`
}

// EndpointBindingSpec is what the team wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.adopt) || self.adopt.size() == 0 || self.pools.size() == 1",message="is set with several pools, and a slice belongs to one; remove it, or bind one pool first and add the others later",fieldPath=".adopt"
// +kubebuilder:validation:XValidation:rule="!has(self.healthCheck) || has(self.healthCheck.port) || has(self.healthCheck.mode) && self.healthCheck.mode == 'None' || !has(self.ports) || self.ports.size() == 0 || self.ports.exists_one(p, !has(p.protocol) || p.protocol == 'TCP')",message="is required, because spec.ports has several TCP ports or none; write the TCP port to check",fieldPath=".healthCheck.port",reason=FieldValueRequired
type EndpointBindingSpec struct {
	// The pools that fill the Service. Each has its own slices and its own guard.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=map
	// +listMapKey=name
	Pools []BindingPool `json:"pools"`
	// Ports of the endpoints. Without any: the numeric target ports of the Service.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self.all(p, has(p.name) && p.name.size() > 0)",message="has several entries, of which one has no name; give each the name of its Service port"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.name) || self.filter(q, has(q.name) && q.name == p.name).size() == 1)",message="has a name twice; give each entry the name of its Service port"
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.filter(q, q.port == p.port && (has(q.protocol) ? q.protocol : 'TCP') == (has(p.protocol) ? p.protocol : 'TCP')).size() == 1)",message="has a port and protocol twice; remove one of them"
	Ports []BindingPort `json:"ports,omitempty"`
	// A check of its own instead of mode, port, path, host and expected status of the
	// pools.
	//
	// Intervals, timeouts and counts are always the pool's.
	// +optional
	HealthCheck *BindingHealthCheck `json:"healthCheck,omitempty"`
	// Publish writes the slices. DryRun decides and reports, and writes none.
	// +optional
	// +kubebuilder:default=Publish
	Mode BindingMode `json:"mode,omitempty"`
	// Name of an existing slice to take over, such as web-remote. Needs the only pool of
	// the binding.
	//
	// The further slices of that name (web-remote-2, web-remote-ipv6) go with it. The
	// installation by variables made them.
	// +optional
	// +kubebuilder:validation:MaxLength=243
	// +format=dns-subdomain
	Adopt string `json:"adopt,omitempty"`
}

// PoolNames returns the names of the pools that fill the Service.
func (s *EndpointBindingSpec) PoolNames() []string {
	names := make([]string, len(s.Pools))
	for i := range s.Pools {
		names[i] = s.Pools[i].Name
	}
	return names
}

// BindingPool is one pool that fills the Service.
type BindingPool struct {
	// Name of the pool, different from all others of the list.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +format=dns-label
	Name string `json:"name"`
	// Service of the remote cluster: only nodes with a ready Pod of it are published. The
	// pool must allow its namespace.
	// +optional
	RemoteService *RemoteServiceReference `json:"remoteService,omitempty"`
}

// RemoteServiceReference names a Service of the remote cluster.
type RemoteServiceReference struct {
	// Namespace of the Service in the remote cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +format=dns-label
	Namespace string `json:"namespace"`
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +format=dns-label
	Name string `json:"name"`
}

// Protocol is a transport protocol.
//
// +kubebuilder:validation:Enum=TCP;UDP;SCTP
type Protocol string

// The protocols of ports.
const (
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
	ProtocolSCTP Protocol = "SCTP"
)

// BindingPort is one port of the endpoints.
type BindingPort struct {
	// Name of the port in the Service. Where there is one port, it may be left out.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +format=dns-label
	Name string `json:"name,omitempty"`
	// The number on the endpoints, which the pools must allow.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// The protocol of the port.
	// +optional
	// +kubebuilder:default=TCP
	Protocol Protocol `json:"protocol,omitempty"`
}

// BindingHealthCheck replaces how the endpoints of one Service are checked. Nothing in
// it is taken from the pool: a field that is left out has its default.
type BindingHealthCheck struct {
	// How an endpoint is checked, as in a pool.
	// +optional
	// +kubebuilder:default=TCP
	Mode HealthCheckMode `json:"mode,omitempty"`
	// TCP port to check, which the pools must allow. Without one: the only TCP port of
	// the Service.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
	// Path of the request, without a query. For HTTP and HTTPS, where / is the default.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('?')",message="holds a query; write the path alone"
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
}

// BindingMode says whether slices are written.
//
// +kubebuilder:validation:Enum=Publish;DryRun
type BindingMode string

// The modes of a binding.
const (
	BindingPublish BindingMode = "Publish"
	BindingDryRun  BindingMode = "DryRun"
)
