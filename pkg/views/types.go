package views

import (
	"encoding/json"
	"time"
)

// APIVersion is that of every object of this package.
const APIVersion = "endpoints.ablmnzde.github.io/v1alpha1"

// The kinds of objects.
const (
	KindEndpointView    = "EndpointView"
	KindServicePortView = "ServicePortView"
)

// State says what an endpoint may be used for.
type State string

// The states of an endpoint.
const (
	// Ready may be sent new connections. Where no endpoint of a family is ready, an
	// endpoint that is shutting down and still answers is Ready too, as for kube-proxy.
	Ready State = "ready"
	// Draining is shutting down and still answers: finish what is under way, send
	// nothing new.
	Draining State = "draining"
	// Down must not be sent anything.
	Down State = "down"
)

// Metadata names an object. Its fields mean what they mean in Kubernetes.
type Metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// EndpointView is one endpoint of one port of one Service.
type EndpointView struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   Metadata         `json:"metadata"`
	Spec       EndpointViewSpec `json:"spec"`
}

// EndpointViewSpec is what there is to say of an endpoint. Service, port name,
// address and target port are its identity: where one of them changes, one view goes
// and another comes.
type EndpointViewSpec struct {
	ServicePort
	Endpoint
}

// ServicePort is one port of a Service.
type ServicePort struct {
	ServiceName string `json:"serviceName"`
	// Type is that of the Service, such as ClusterIP.
	Type string `json:"type"`
	// PortName is empty for the only port of a Service where that has no name.
	PortName string `json:"portName,omitempty"`
	// Port is the number that clients of the Service use.
	Port        int32  `json:"port"`
	Protocol    string `json:"protocol"`
	AppProtocol string `json:"appProtocol,omitempty"`
}

// Endpoint is what one endpoint is, and where.
type Endpoint struct {
	Address string `json:"address"`
	// TargetPort is the number that the endpoint listens on.
	TargetPort int32  `json:"targetPort"`
	State      State  `json:"state"`
	Zone       string `json:"zone,omitempty"`
	Node       string `json:"node,omitempty"`
	// TargetRef is what is behind the address, mostly a Pod.
	TargetRef *TargetRef `json:"targetRef,omitempty"`
	// Since is when the server saw the endpoint come into its state. It is missing
	// where that was before the server began. Replicas may differ in it.
	Since *time.Time `json:"since,omitempty"`
}

// TargetRef names an object.
type TargetRef struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// ServicePortView is one port of one Service with all its endpoints, also where
// there are none.
type ServicePortView struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Metadata   Metadata            `json:"metadata"`
	Spec       ServicePortViewSpec `json:"spec"`
}

// ServicePortViewSpec is the port, and its endpoints by address and target port.
type ServicePortViewSpec struct {
	ServicePort
	Endpoints []Endpoint `json:"endpoints"`
}

// ListMetadata says where a list stands.
type ListMetadata struct {
	// ResourceVersion is where a stream that follows the list goes on.
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// The annotations of lists and bookmarks.
const (
	// AnnotationInitialEventsEnd is "true" on the bookmark after the initial state.
	AnnotationInitialEventsEnd = "k8s.io/initial-events-end"
	// AnnotationStaleSince is there while the server does not see its API server. It
	// says since when; the last state is kept.
	AnnotationStaleSince = "endpoints.ablmnzde.github.io/stale-since"
)

// EventType says what became of an object.
type EventType string

// The types of events, those of a Kubernetes watch.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	// Deleted carries the last state.
	Deleted EventType = "DELETED"
	// Bookmark says how far the stream is.
	Bookmark EventType = "BOOKMARK"
	// Error ends the stream with a Status.
	Error EventType = "ERROR"
)

// wireEvent is one line of the stream.
type wireEvent struct {
	Type   EventType       `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Status is what the server answers where it does not answer with objects.
type Status struct {
	Kind       string         `json:"kind"`
	APIVersion string         `json:"apiVersion"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Reason     string         `json:"reason"`
	Code       int            `json:"code"`
	Details    *StatusDetails `json:"details,omitempty"`
}

// StatusDetails is what a program needs of a Status.
type StatusDetails struct {
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
}

// Error is the message, with the code.
func (s *Status) Error() string { return s.Message + " (" + s.Reason + ")" }
