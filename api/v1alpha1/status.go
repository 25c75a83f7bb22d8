package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EndpointPoolStatus is what the controller found about a pool.
type EndpointPoolStatus struct {
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The field of spec.source that is set: kubernetes, ionos, static, file or command.
	// +optional
	Source string `json:"source,omitempty"`
	// Nodes in the last inventory.
	// +optional
	Nodes int32 `json:"nodes"`
	// Services that the pool backs.
	// +optional
	Services int32 `json:"services"`
	// Accepted, SourceReady and Held.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EndpointBindingStatus is what the controller found about a binding.
type EndpointBindingStatus struct {
	// The generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Endpoints by state, over all pools.
	// +optional
	Endpoints EndpointCounts `json:"endpoints,omitempty"`
	// Ready endpoints of all endpoints, for people: 99/100.
	// +optional
	Ready string `json:"ready,omitempty"`
	// Accepted, Programmed, Ready and Held.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// EndpointCounts counts endpoints by state.
type EndpointCounts struct {
	// Endpoints that get traffic.
	Ready int32 `json:"ready"`
	// Endpoints that leave and still pass their health check.
	Draining int32 `json:"draining"`
	// Endpoints that fail their health check.
	Down int32 `json:"down"`
}

// The types of conditions.
const (
	// ConditionAccepted says whether the document is valid and permitted.
	ConditionAccepted = "Accepted"
	// ConditionSourceReady says whether the source of a pool can be read.
	ConditionSourceReady = "SourceReady"
	// ConditionProgrammed says whether the slices of a binding say what was decided.
	ConditionProgrammed = "Programmed"
	// ConditionReady says whether a binding has a ready endpoint.
	ConditionReady = "Ready"
	// ConditionHeld says whether something is published otherwise than it was observed.
	ConditionHeld = "Held"
)

// The reasons of Accepted, of pools and bindings.
const (
	ReasonAccepted = "Accepted"
	// ReasonInvalid is also a reason of Held, of bindings: the document of a pool has a
	// mistake.
	ReasonInvalid = "Invalid"
	// ReasonShadowed is for a document in the API server that a file has too: the file
	// counts.
	ReasonShadowed = "Shadowed"
	// ReasonOutsideBounds is for a document in the API server beyond what the installation
	// permits.
	ReasonOutsideBounds = "OutsideBounds"
	// ReasonOutdated is for a document in the API server that went back in time, as after
	// the restore of a backup: what was in effect stays.
	ReasonOutdated = "Outdated"
)

// The reasons of Accepted, of pools.
const (
	// ReasonCredentialsMissing is for a pool whose credentials lack a file that its source
	// needs.
	ReasonCredentialsMissing = "CredentialsMissing"
)

// The reasons of Accepted, of bindings.
const (
	// ReasonPoolNotAllowed is one reason for a pool that does not exist and for one that
	// the namespace may not use, so that nothing tells a team which pools exist.
	ReasonPoolNotAllowed = "PoolNotAllowed"
	ReasonPortNotAllowed = "PortNotAllowed"
	// ReasonRemoteNamespaceNotAllowed is for a remote Service that the pool does not let the
	// namespace follow, whether or not there is such a Service.
	ReasonRemoteNamespaceNotAllowed = "RemoteNamespaceNotAllowed"
	ReasonLimitReached              = "LimitReached"
	ReasonHealthCheckPortAmbiguous  = "HealthCheckPortAmbiguous"
	ReasonServiceMissing            = "ServiceMissing"
	ReasonServiceDeleting           = "ServiceDeleting"
	ReasonServiceHasSelector        = "ServiceHasSelector"
	ReasonServiceExternalName       = "ServiceExternalName"
	ReasonPortMismatch              = "PortMismatch"
	ReasonSliceOwnedByOther         = "SliceOwnedByOther"
)

// The reasons of SourceReady.
const (
	ReasonSourceRead         = "Read"
	ReasonSourceReadFailed   = "ReadFailed"
	ReasonSourceIncomplete   = "Incomplete"
	ReasonSourceUnauthorized = "Unauthorized"
	// ReasonNotRead is for a pool that no Service uses, or that was not read yet.
	ReasonNotRead = "NotRead"
)

// The reasons of Programmed.
const (
	ReasonProgrammed  = "Programmed"
	ReasonPending     = "Pending"
	ReasonWriteFailed = "WriteFailed"
	ReasonDryRun      = "DryRun"
	ReasonReleasing   = "Releasing"
)

// The reasons of Ready.
const (
	ReasonEndpointsReady = "EndpointsReady"
	ReasonFailOpen       = "FailOpen"
	// ReasonNoEndpointReady is also a reason of Held, of pools and bindings.
	ReasonNoEndpointReady = "NoEndpointReady"
)

// The reasons of Held, of pools and bindings.
const (
	ReasonInventoryRejected = "InventoryRejected"
	ReasonCutOff            = "CutOff"
	ReasonNotHeld           = "NotHeld"
)

// The reasons of Held, of bindings.
const (
	// ReasonManyReleased is for a binding whose endpoints stay because so many Services
	// lost their binding or their pool at once that it may be a mistake.
	ReasonManyReleased = "ManyReleased"
)
