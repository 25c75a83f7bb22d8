package fleet_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// scaled is an Envoy that does not say how many Pods there are.
const scaled = `{"apiVersion":"fleet.ablmnzde.github.io/v1alpha1","kind":"Envoy","metadata":{"name":"edge"},
	"spec":{"name":"edge","configMapName":"edge","listeners":[{"name":"http","port":80,"service":"web"}]}}`

// kubectl runs kubectl in a namespace as an administrator of the cluster.
func (w *world) kubectl(t *testing.T, namespace, input string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.api.KubectlPath(), append([]string{"--namespace", namespace}, args...)...)
	command.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + w.api.Kubeconfig(t)}
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// waitSays fails unless this is what `kubectl wait` says now of Synced.
func (w *world) waitSays(t *testing.T, namespace string, want bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.api.KubectlPath(), "--namespace", namespace, "wait", "envoy/edge", "--for=condition=Synced", "--timeout=0")
	command.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + w.api.Kubeconfig(t)}
	out, err := command.CombinedOutput()
	if got := err == nil; got != want || !got && !strings.Contains(string(out), "condition") {
		t.Errorf("kubectl wait for Synced: got %v, %s, want %v", err, out, want)
	}
}

// autoscales has a real HorizontalPodAutoscaler without a server of metrics: it enforces its
// bounds, and looks for the Pods by the selector that the scale says.
func autoscales(t *testing.T, w *world) {
	namespace := w.namespace(t, "autoscales")
	w.kubectl(t, namespace, scaled, "apply", "-f", "-")
	w.pods(t, namespace, "edge", 2)
	w.kubectl(t, namespace, "", "scale", "envoy/edge", "--replicas=3")
	w.pods(t, namespace, "edge", 3)

	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1alpha1.GroupVersion().String(), Kind: "Envoy", Name: "edge"},
			MinReplicas:    ptr.To(int32(5)), MaxReplicas: 6,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(int32(50))},
			}}},
		},
	}
	w.make(t, scaler)
	w.pods(t, namespace, "edge", 5)
	await(t, "the autoscaler asks for the metrics of the Pods", func() string {
		if !w.get(t, namespace, "edge", scaler) {
			return "it is not there"
		}
		for _, c := range scaler.Status.Conditions {
			if c.Type == autoscalingv2.ScalingActive && c.Reason == "FailedGetResourceMetric" && scaler.Status.CurrentReplicas == 5 {
				return ""
			}
		}
		return scaler.Status.String()
	})
	w.kubectl(t, namespace, `{"spec":{"minReplicas":1,"maxReplicas":4}}`, "patch", "hpa/edge", "--type=merge", "--patch-file=/dev/stdin")
	w.pods(t, namespace, "edge", 4)

	w.kubectl(t, namespace, strings.Replace(scaled, `"listeners"`, `"podTemplate":{"labels":{"team":"shop"}},"listeners"`, 1), "apply", "-f", "-")
	w.deployment(t, namespace, "edge", func(d *appsv1.Deployment) bool {
		if *d.Spec.Replicas != 4 {
			t.Errorf("an Envoy without replicas is applied again: got %d Pods, want the 4 of the autoscaler", *d.Spec.Replicas)
		}
		return d.Spec.Template.Labels["team"] == "shop"
	})
	shown := w.kubectl(t, namespace, "", "get", "envoy", "edge")
	if want := regexp.MustCompile(`^NAME +REPLICAS +READY +CONNECTED +SYNCED +AGE\nedge +4 +`); !want.MatchString(shown) {
		t.Errorf("columns: got\n%s", shown)
	}
}
