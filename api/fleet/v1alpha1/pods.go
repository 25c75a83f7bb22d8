package v1alpha1

import corev1 "k8s.io/api/core/v1"

// EnvoyService is the Service in front of the Envoys.
//
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type == 'LoadBalancer') || (!has(self.loadBalancerClass) && !has(self.loadBalancerSourceRanges))",message="loadBalancerClass and loadBalancerSourceRanges need type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="(has(self.type) && self.type != 'ClusterIP') || !has(self.externalTrafficPolicy)",message="externalTrafficPolicy needs type NodePort or LoadBalancer"
type EnvoyService struct {
	// Type of the Service.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// Whether the Service has addresses of one family or of both. Default: that of the
	// cluster, which is one.
	// +optional
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
	// Annotations of the Service, for the load balancer of the cloud.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
	// Class of the load balancer.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// Address ranges whose clients the load balancer lets through. Without any: all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// Local keeps the address of the client, and nodes without an Envoy take no
	// connection. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

// EnvoyPodTemplate is what of the Pods is the team's. It is closed: ServiceAccount, volumes,
// security context, and network and namespaces of the host are the operator's, so that who
// may write an Envoy gets no right on the node by it.
type EnvoyPodTemplate struct {
	// Labels of the Pods. Those of the operator win.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Pods. Those of the operator win.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
	// Resources of the container. Default: 100m CPU and 128Mi of memory, and a limit of
	// 512Mi. An Envoy with little memory left refuses connections.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Nodes by their labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Affinity.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// How Pods are spread. Default: over nodes and zones, as far as possible. A constraint
	// without labelSelector is for the Pods of the fleet.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// Priority class.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Secrets of the registry.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
}
