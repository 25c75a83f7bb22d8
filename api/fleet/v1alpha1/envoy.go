package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Envoy is a fleet: Pods with Envoy that all do the same. Its identity for xDS is
// NAMESPACE/NAME, of the object's metadata: the certificate of its Pods has the URI SAN
// spiffe://TRUST_DOMAIN/ns/NAMESPACE/envoy/NAME, and a Service of another namespace allows it
// by the annotation endpoints.ablmnzde.github.io/fleets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=envoys,singular=envoy,scope=Namespaced,categories=remote-endpoints
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name=Replicas,type=integer,JSONPath=.spec.replicas
// +kubebuilder:printcolumn:name=Ready,type=integer,JSONPath=.status.readyReplicas
// +kubebuilder:printcolumn:name=Connected,type=integer,JSONPath=.status.connectedReplicas
// +kubebuilder:printcolumn:name=Synced,type=string,JSONPath=.status.conditions[?(@.type=="Synced")].status
// +kubebuilder:printcolumn:name=Accepted,type=string,JSONPath=.status.conditions[?(@.type=="Accepted")].status,priority=1
// +kubebuilder:printcolumn:name=Resolved,type=string,JSONPath=.status.conditions[?(@.type=="ResolvedRefs")].status,priority=1
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="metadata.name is a DNS label of at most 63 characters without dots, because the certificate of the Pods contains it"
type Envoy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the team wants.
	Spec EnvoySpec `json:"spec"`
	// What the operator found.
	// +optional
	Status EnvoyStatus `json:"status,omitempty"`
}

// EnvoyList is a list of fleets.
//
// +kubebuilder:object:root=true
type EnvoyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Envoy `json:"items"`
}

// EnvoySpec is what the team wants.
//
// +kubebuilder:validation:XValidation:rule="!has(self.xds) || !has(self.listeners) || size(self.listeners) == 0",message="listeners have no effect beside xds: that control plane says what the Envoys listen on; remove one of the two"
// +kubebuilder:validation:XValidation:rule="has(self.xds) || (has(self.listeners) && size(self.listeners) > 0)",message="the Envoys would listen on nothing; write listeners, or xds for a control plane of your own"
type EnvoySpec struct {
	// Name of the Deployment, the Service and the other objects. It does not change.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.name does not change; make another Envoy, move the clients, and delete this one"
	Name string `json:"name"`
	// Name of the ConfigMap that the operator writes, with the file envoy.yaml that the
	// Envoys start from. It does not change.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.configMapName does not change; make another Envoy, move the clients, and delete this one"
	ConfigMapName string `json:"configMapName"`
	// How many Pods there are. A HorizontalPodAutoscaler may set it. With one Pod, a
	// drained node can cost requests.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// A control plane of your own, with the v3 API and ADS, instead of listeners. The
	// operator then cannot say whether the Envoys follow.
	// +optional
	XDS *EnvoyXDS `json:"xds,omitempty"`
	// Secret with tls.crt, tls.key and ca.crt for the control plane. Default: the name
	// with -xds at its end; with xds, no TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	CertificateSecretName string `json:"certificateSecretName,omitempty"`
	// Image of Envoy, by its digest. Default: that of the operator.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^@\s]+@sha256:[0-9a-f]{64}$`
	Image string `json:"image,omitempty"`
	// What the Envoys listen on. The names and ports of listeners differ.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, (a.port < 1024 ? a.port + 8000 : a.port) == (b.port < 1024 ? b.port + 8000 : b.port)))",message="two listeners have the same port in the Pod, where those below 1024 are 8000 higher; give each one of its own"
	Listeners []Listener `json:"listeners,omitempty"`
	// Addresses of the Pod that the Envoys listen on. DualStack is all of them. IPv4 is
	// for nodes whose kernel has no IPv6.
	// +optional
	// +kubebuilder:default=DualStack
	IPFamily IPFamily `json:"ipFamily,omitempty"`
	// The Service in front of the Envoys, by which clients reach them.
	// +optional
	Service EnvoyService `json:"service,omitempty"`
	// The Pods.
	// +optional
	PodTemplate EnvoyPodTemplate `json:"podTemplate,omitempty"`
	// How many connections of clients one Envoy has at a time. Further ones are closed
	// at once.
	// +optional
	// +kubebuilder:default=50000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000000
	MaxConnections *int32 `json:"maxConnections,omitempty"`
	// How long an Envoy that ends waits for its requests: set it above your slowest
	// answer. It ends earlier without open requests.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('1h')",message="drainTimeout is 5s to 1h"
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// Which requests and connections have a line of JSON in the output of an Envoy:
	// Failures in the Envoy, All or None.
	// +optional
	// +kubebuilder:default=Failures
	AccessLog AccessLog `json:"accessLog,omitempty"`

	// Unread says which fields could not be read, and why; empty where all could. Then
	// nothing of the spec counts.
	Unread string `json:"-"`
}

// UnmarshalJSON reads the fields one by one where they cannot be read at once. The API server
// lets values pass that no program can read, for example the quantity 1e1.5; an error would
// take all Envoys from a program that lists them, because of one.
func (s *EnvoySpec) UnmarshalJSON(text []byte) error {
	type plain EnvoySpec
	if *s = (EnvoySpec{}); json.Unmarshal(text, (*plain)(s)) == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	*s = EnvoySpec{}
	var unread []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err == nil {
			err = json.Unmarshal(alone, (*plain)(s))
		}
		if err != nil {
			unread = append(unread, fmt.Sprintf("spec.%s cannot be read: %v", name, err))
		}
	}
	s.Unread = strings.Join(unread, "; ")
	return nil
}

// AccessLog says which requests have a line.
//
// +kubebuilder:validation:Enum=Failures;All;None
type AccessLog string

// The access logs.
const (
	AccessLogFailures AccessLog = "Failures"
	AccessLogAll      AccessLog = "All"
	AccessLogNone     AccessLog = "None"
)

// IPFamily says which addresses are listened on.
//
// +kubebuilder:validation:Enum=DualStack;IPv4
type IPFamily string

// The families.
const (
	DualStack IPFamily = "DualStack"
	IPv4      IPFamily = "IPv4"
)

// EnvoyXDS is a control plane, in the words of kube-envoy-controller.
type EnvoyXDS struct {
	// Name of its cluster in the bootstrap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Host name, or IP address.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?)*\.?|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)$`
	Host string `json:"host"`
	// Port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}
