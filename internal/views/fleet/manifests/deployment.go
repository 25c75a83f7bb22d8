package manifests

import (
	"cmp"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

const (
	defaultReplicas = 2
	defaultDrain    = time.Minute
	// drainMargin is how long after the drain a Pod may take to end.
	drainMargin = 15
	// user is that of the images.
	user = 65532
)

// deployment replaces one Pod after the other, and none before the next is ready.
func deployment(e *v1alpha1.Envoy, s Settings, hash string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: objectMeta(e, e.Spec.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(Replicas(e)),
			RevisionHistoryLimit: new(int32(3)),
			Selector:             &metav1.LabelSelector{MatchLabels: Selector(e)},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1))},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      over(e.Spec.PodTemplate.Labels, labelsOf(e)),
					Annotations: over(e.Spec.PodTemplate.Annotations, map[string]string{BootstrapAnnotation: hash}),
				},
				Spec: pod(e, s, hash),
			},
		},
	}
}

// Replicas is how many Pods a fleet is to have.
func Replicas(e *v1alpha1.Envoy) int32 { return ptr.Deref(e.Spec.Replicas, defaultReplicas) }

// pod satisfies the Pod Security Standard restricted, and has no token of the API server.
func pod(e *v1alpha1.Envoy, s Settings, hash string) corev1.PodSpec {
	theirs := &e.Spec.PodTemplate
	volumes, mounts := volumes(e)
	return corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(int64(math.Ceil(drainTimeout(e).Seconds())) + drainMargin),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(user)), RunAsGroup: new(int64(user)), FSGroup: new(int64(user)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		InitContainers:            []corev1.Container{install(s, hash)},
		Containers:                []corev1.Container{envoy(e, s, hash, mounts)},
		Volumes:                   volumes,
		NodeSelector:              theirs.NodeSelector,
		Tolerations:               theirs.Tolerations,
		Affinity:                  theirs.Affinity,
		TopologySpreadConstraints: spread(e),
		PriorityClassName:         theirs.PriorityClassName,
		ImagePullSecrets:          theirs.ImagePullSecrets,
	}
}

// spread puts Pods on different nodes and zones, as far as possible.
func spread(e *v1alpha1.Envoy) []corev1.TopologySpreadConstraint {
	pods := &metav1.LabelSelector{MatchLabels: Selector(e)}
	if theirs := e.Spec.PodTemplate.TopologySpreadConstraints; len(theirs) > 0 {
		all := make([]corev1.TopologySpreadConstraint, len(theirs))
		for i := range theirs {
			all[i] = *theirs[i].DeepCopy()
			all[i].LabelSelector = cmp.Or(all[i].LabelSelector, pods)
		}
		return all
	}
	// While Pods are replaced, those that go must not keep a new one from their node: then the
	// new ones would share nodes.
	version := []string{appsv1.DefaultDeploymentUniqueLabelKey}
	var all []corev1.TopologySpreadConstraint
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		all = append(all, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: pods, MatchLabelKeys: version,
		})
	}
	return all
}

func drainTimeout(e *v1alpha1.Envoy) time.Duration {
	return ptr.Deref(e.Spec.DrainTimeout, metav1.Duration{Duration: defaultDrain}).Duration
}
