package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EnvoyStatus is what the operator found.
type EnvoyStatus struct {
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Pods of the fleet.
	// +optional
	Replicas int32 `json:"replicas"`
	// Pods that have been ready for a while.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// Ready Pods that have a stream to endpoint-views.
	// +optional
	ConnectedReplicas int32 `json:"connectedReplicas"`
	// Label selector of the Pods, for a HorizontalPodAutoscaler.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Accepted, ResolvedRefs, Ready, Progressing, Synced and Rejected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The types of conditions.
const (
	// ConditionAccepted says whether the spec is in effect. While it is not, Pods and
	// listeners stay as they were.
	ConditionAccepted = "Accepted"
	// ConditionResolvedRefs says whether every listener and route leads to a port of a
	// Service that is there and may be used. It says nothing of endpoints.
	ConditionResolvedRefs = "ResolvedRefs"
	// ConditionReady says whether as many Pods take traffic as are wanted.
	ConditionReady = "Ready"
	// ConditionProgressing says whether Pods are being replaced.
	ConditionProgressing = "Progressing"
	// ConditionSynced says whether every Ready Pod has acknowledged the clusters,
	// listeners and routes of this generation.
	ConditionSynced = "Synced"
	// ConditionRejected says whether a Pod keeps what it had, because it rejected what it
	// was sent. The message has the words of Envoy.
	ConditionRejected = "Rejected"
)

// The reasons of Accepted. Invalid is one of them, too.
const (
	ReasonAccepted = "Accepted"
	// ReasonNotInEffect is for a spec that endpoint-views serve does not take.
	ReasonNotInEffect = "NotInEffect"
)

// The reasons of ResolvedRefs; those of the Gateway API, where it has them.
const (
	ReasonResolvedRefs = "ResolvedRefs"
	// ReasonBackendNotFound is for a Service of this namespace that is not there.
	ReasonBackendNotFound = "BackendNotFound"
	// ReasonNotShown is for one that endpoint-views does not show.
	ReasonNotShown = "NotShown"
	// ReasonRefNotPermitted is for one of another namespace that does not name the Envoy,
	// is not shown, or is not there.
	ReasonRefNotPermitted = "RefNotPermitted"
	// ReasonPortNotFound is for a Service without the port.
	ReasonPortNotFound = "PortNotFound"
	// ReasonUnsupportedProtocol is for a port whose endpoints speak TLS where nothing says
	// how their certificates are checked.
	ReasonUnsupportedProtocol = "UnsupportedProtocol"
	// ReasonPending is for a generation that endpoint-views does not know yet.
	ReasonPending = "Pending"
)

// The reasons of Ready.
const (
	ReasonPodsReady    = "PodsReady"
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonNameTaken is for an object of that name that is not this Envoy's: it is left
	// alone.
	ReasonNameTaken = "NameTaken"
	// ReasonRefused is for an object that the API server refuses.
	ReasonRefused = "Refused"
	// ReasonInvalid is for a spec of which nothing can be made.
	ReasonInvalid = "Invalid"
)

// The reasons of Progressing.
const (
	ReasonReplacing        = "Replacing"
	ReasonComplete         = "Complete"
	ReasonDeadlineExceeded = "DeadlineExceeded"
)

// The reasons of Synced and Rejected.
const (
	ReasonAcknowledged    = "Acknowledged"
	ReasonNotAcknowledged = "NotAcknowledged"
	ReasonNotConnected    = "NotConnected"
	ReasonNoReadyPod      = "NoReadyPod"
	ReasonNotRejected     = "NotRejected"
	ReasonRejected        = "Rejected"
	// ReasonNotAccepted is for a generation that no Pod is told of, because it is not in
	// effect.
	ReasonNotAccepted = "NotAccepted"
	// ReasonControlPlaneUnreachable is for endpoint-views serve that does not answer the
	// operator.
	ReasonControlPlaneUnreachable = "ControlPlaneUnreachable"
	// ReasonExternalControlPlane is for spec.xds.
	ReasonExternalControlPlane = "ExternalControlPlane"
)
