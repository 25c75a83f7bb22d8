package manifests

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// Settings are what the operator adds.
type Settings struct {
	// Host and Port are those of xDS of endpoint-views, as the Pods reach it.
	Host string
	Port uint16
	// EnvoyImage is that of fleets without one, DrainImage that of endpoint-views.
	EnvoyImage, DrainImage string
}

// The labels and annotations of children.
const (
	// EnvoyLabel has the name of the Envoy. It selects the Pods, and it is how the
	// operator finds what it made.
	EnvoyLabel = v1alpha1.GroupName + "/envoy"
	// BootstrapAnnotation of a Pod says which file it was started from.
	BootstrapAnnotation = v1alpha1.GroupName + "/bootstrap"
)

// The ports of a fleet whose control plane says what it listens on.
const (
	externalPort    = 80
	externalPodPort = 8080
)

// Children are the objects of a fleet.
type Children struct {
	ConfigMap     *corev1.ConfigMap
	Deployment    *appsv1.Deployment
	Service       *corev1.Service
	Budget        *policyv1.PodDisruptionBudget
	NetworkPolicy *networkingv1.NetworkPolicy
}

// Of returns the children of a fleet. Kept are files of the ConfigMap, by key, that Pods
// were started from and may be started from again.
func Of(e *v1alpha1.Envoy, s Settings, kept map[string]string) (Children, error) {
	files, hash, err := bootstrap(e, s)
	if err != nil {
		return Children{}, err
	}
	return Children{
		ConfigMap: &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: objectMeta(e, e.Spec.ConfigMapName), Data: over(kept, files),
		},
		Deployment:    deployment(e, s, hash),
		Service:       service(e),
		Budget:        budget(e),
		NetworkPolicy: networkPolicy(e),
	}, nil
}

// Selector are the labels of the Pods of a fleet.
func Selector(e *v1alpha1.Envoy) map[string]string {
	return map[string]string{EnvoyLabel: e.Name}
}

// Owner is the reference to the Envoy that its children have. It does not block the
// deletion of the Envoy: that would need a right to change Envoys.
func Owner(e *v1alpha1.Envoy) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindEnvoy, Name: e.Name, UID: e.UID, Controller: new(true),
	}
}

// objectMeta is what all children have.
func objectMeta(e *v1alpha1.Envoy, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.Namespace, Name: name, Labels: labelsOf(e), OwnerReferences: []metav1.OwnerReference{Owner(e)}}
}

// labelsOf are those of children and Pods.
func labelsOf(e *v1alpha1.Envoy) map[string]string {
	all := Selector(e)
	all["app.kubernetes.io/name"] = "envoy"
	all["app.kubernetes.io/instance"] = e.Spec.Name
	all["app.kubernetes.io/managed-by"] = "endpoint-views"
	return all
}

// over returns what the team or running Pods have with what the operator has, which wins.
func over(theirs, ours map[string]string) map[string]string {
	all := make(map[string]string, len(theirs)+len(ours))
	maps.Copy(all, theirs)
	maps.Copy(all, ours)
	return all
}
