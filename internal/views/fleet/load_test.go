package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// metricsOf stands for metrics-server behind the API server: the Pods of one namespace
// that are ready share the load, and no other Pod uses anything.
type metricsOf struct {
	t         *testing.T
	w         *world
	namespace string
	// load is in thousandths of a CPU.
	load atomic.Int64
}

const metricsGroup = "/apis/metrics.k8s.io/v1beta1"

func (m *metricsOf) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	var answer any
	switch path := request.URL.Path; path {
	case metricsGroup:
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		}
	case metricsGroup + "/namespaces/" + m.namespace + "/pods":
		answer = m.pods(request)
	default:
		http.NotFound(out, request)
		return
	}
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		m.t.Log(err) // the API server is gone
	}
}

// pods is what each ready Pod of a selector uses: its part of the load.
func (m *metricsOf) pods(request *http.Request) any {
	items := []any{}
	selector, err := labels.Parse(request.URL.Query().Get("labelSelector"))
	list := &corev1.PodList{}
	if err == nil {
		err = m.w.client.List(request.Context(), list, client.InNamespace(m.namespace), client.MatchingLabelsSelector{Selector: selector})
	}
	if err != nil {
		m.t.Log(err)
		return nil
	}
	var ready []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && isReady(&pod) {
			ready = append(ready, pod)
		}
	}
	load := m.load.Load() // once: of a load half before and half after a change may come 11 Pods, which is near enough to 12 to stay
	for _, pod := range ready {
		used := resource.NewMilliQuantity(load/int64(len(ready)), resource.DecimalSI)
		items = append(items, map[string]any{
			"metadata": metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels}, "timestamp": metav1.Now(), "window": "1s",
			"containers": []any{map[string]any{"name": "envoy", "usage": corev1.ResourceList{corev1.ResourceCPU: *used}}},
		})
	}
	return map[string]any{"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "metadata": metav1.ListMeta{}, "items": items}
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// serveMetrics makes the API server ask us for metrics, until the test ends.
func serveMetrics(t *testing.T, w *world, namespace string) *metricsOf {
	t.Helper()
	m := &metricsOf{t: t, w: w, namespace: namespace}
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	at := netip.MustParseAddrPort(server.Listener.Addr().String())
	w.make(t, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "metrics"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: at.Addr().String()},
	})
	service := parse(t, `{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.metrics.k8s.io"},
		"spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": true}}`)
	service.Object["spec"].(map[string]any)["service"] = map[string]any{"namespace": namespace, "name": "metrics", "port": int64(at.Port())}
	w.make(t, service)
	t.Cleanup(func() {
		if err := w.client.Delete(context.WithoutCancel(t.Context()), service); err != nil {
			t.Error(err)
		}
	})
	return m
}

// documented is the first object of a kind that the how-to shows.
func documented(t *testing.T, kind string, into any) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/how-to/fleets.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], "\nkind: "+kind+"\n") {
			if err := yaml.UnmarshalStrict([]byte(block[1]), into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("the how-to shows no %s", kind)
}

// followsLoad has the HorizontalPodAutoscaler of the how-to, which reads real metrics of
// Pods: more of them when the load rises, and fewer when it falls.
func followsLoad(t *testing.T, w *world) {
	namespace := w.namespace(t, "load")
	metrics := serveMetrics(t, w, namespace)
	w.kubectl(t, namespace, scaled, "apply", "-f", "-")
	w.ready(t, w.pods(t, namespace, "edge", 2))

	scaler := &autoscalingv2.HorizontalPodAutoscaler{}
	documented(t, "HorizontalPodAutoscaler", scaler)
	scaler.Namespace = namespace
	none := int32(0) // do not wait five minutes before there are fewer
	scaler.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &none}}
	w.make(t, scaler)
	for _, now := range []struct {
		load int64
		pods int
	}{
		{100, 3}, // the least
		{350, 6}, // each Pod requests 100m, of which 60 of 100 are the aim
		{700, 12},
		{100, 3},
	} {
		metrics.load.Store(now.load)
		w.follows(t, namespace, now.pods)
		await(t, "the autoscaler is content", func() string {
			w.get(t, namespace, "edge", scaler)
			for _, c := range scaler.Status.Conditions {
				if c.Type == autoscalingv2.ScalingActive && c.Reason == "ValidMetricFound" && int(scaler.Status.DesiredReplicas) == now.pods {
					return ""
				}
			}
			return scaler.Status.String()
		})
	}
}

// follows waits for so many Pods, and does meanwhile what a kubelet does.
func (w *world) follows(t *testing.T, namespace string, want int) {
	t.Helper()
	await(t, "all Pods are ready", func() string {
		list := &corev1.PodList{}
		if err := w.client.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{manifests.EnvoyLabel: "edge"}); err != nil {
			return err.Error()
		}
		started := 0
		for i, pod := range list.Items {
			if pod.DeletionTimestamp == nil && !isReady(&pod) {
				w.ready(t, list.Items[i:i+1])
			}
			if pod.DeletionTimestamp == nil {
				started++
			}
		}
		if started != want {
			return fmt.Sprintf("there are %d", started)
		}
		return ""
	})
}
