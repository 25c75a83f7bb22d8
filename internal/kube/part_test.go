package kube_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// long is a Service that says as much as an API server takes, and what is decoded of it.
func long() (sent, decoded *corev1.Service) {
	decoded = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", UID: "u", ResourceVersion: "7", Generation: 1 << 40,
			CreationTimestamp: metav1.Unix(1, 0), DeletionTimestamp: new(metav1.Unix(2, 0)), DeletionGracePeriodSeconds: new(int64(300)),
			Annotations: map[string]string{"a": strings.Repeat("x", 100_000), "cut": strings.Repeat("x", 10), "empty": "", "few-1": "1", "last": "l"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1", "fd00::1"}, HealthCheckNodePort: 30_000,
			PublishNotReadyAddresses: true, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
			SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(300))}},
			InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyLocal), AllocateLoadBalancerNodePorts: new(false),
			Selector: map[string]string{"label-0000": "v"},
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
	}
	sent = decoded.DeepCopy()
	sent.Annotations["cut"], sent.Annotations["unread"] = strings.Repeat("x", 100_000), strings.Repeat("y", 50_000)
	sent.Annotations["bare"], sent.Annotations["few-2"], sent.Annotations["few-3"] = "", "2", "3"
	sent.Labels, sent.Finalizers = map[string]string{}, []string{"example.org/keep"}
	sent.OwnerReferences = []metav1.OwnerReference{{Name: "owner", Controller: new(true)}}
	sent.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 700_000))}}
	sent.Spec.ExternalIPs, sent.Spec.LoadBalancerSourceRanges = []string{"192.0.2.2"}, []string{"192.0.2.0/24"}
	for i := range 5000 {
		sent.Labels[fmt.Sprintf("label-%04d", i)] = "v"
		sent.Spec.Selector[fmt.Sprintf("label-%04d", i)] = "v"
		sent.Spec.Ports = append(sent.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1), TargetPort: intstr.FromInt32(8080)})
	}
	decoded.Spec.Ports = sent.Spec.Ports[:kube.MostPorts]
	return sent, decoded
}

// reading is a client that reads ten bytes of one annotation, of others all or nothing, and few
// of some.
func reading(t *testing.T, config *rest.Config) *kube.Client {
	t.Helper()
	client, err := kube.New(kube.Options{Way: kube.Fixed(config), Annotations: func(name []byte, before int) int {
		if bytes.HasPrefix(name, []byte("few")) && before > 3 {
			return 0
		}
		return map[string]int{"a": 1 << 20, "empty": 1, "cut": 10, "few-1": 1, "few-2": 1, "few-3": 1, "last": 1}[string(name)]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// encode returns an object in protobuf, as an API server sends it.
func encode(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var buffer bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &buffer); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// event returns an event of a watch, as an API server sends it.
func event(t *testing.T, kind watch.EventType, object runtime.Object) []byte {
	t.Helper()
	gvks, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvks[0])
	var buffer bytes.Buffer
	sent := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: encode(t, object)}}
	if err := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme).Encode(sent, protobuf.LengthDelimitedFramer.NewFrameWriter(&buffer)); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// TestContract170OfAServiceInAListOnlyWhatIsReadIsDecoded: the rest is as it was sent.
func TestContract170OfAServiceInAListOnlyWhatIsReadIsDecoded(t *testing.T) {
	sent, want := long()
	list := &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Items: []corev1.Service{*sent, *sent}}
	var got []*corev1.Service
	if _, err := each(t, body{runtime.ContentTypeProtobuf, bytes.NewReader(encode(t, list))}, func(s *corev1.Service) { got = append(got, s) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*corev1.Service{want, want}, got); diff != "" {
		t.Errorf("Services (-want +got):\n%s", diff)
	}
}

// TestContract170AnAnnotationIsReadInAnyOrder: a server may send the value before its name.
func TestContract170AnAnnotationIsReadInAnyOrder(t *testing.T) {
	list := &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Items: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"a": "value", "cut": "0123456789ab", "bare": "none", "empty": ""},
	}}}}
	answer := encode(t, list)
	for name, value := range list.Items[0].Annotations {
		first, second := fmt.Sprintf("\x0a%c%s", len(name), name), fmt.Sprintf("\x12%c%s", len(value), value)
		if !bytes.Contains(answer, []byte(first+second)) {
			t.Fatalf("no annotation %s in %q", name, answer)
		}
		answer = bytes.Replace(answer, []byte(first+second), []byte(second+first), 1)
	}
	var got map[string]string
	if _, err := each(t, body{runtime.ContentTypeProtobuf, bytes.NewReader(answer)}, func(s *corev1.Service) { got = s.Annotations }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "value", "cut": "0123456789", "empty": ""}, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// TestContract170OfAServiceInAWatchOnlyWhatIsReadIsDecoded: so the end of the list that the
// watch begins with, and an error, are told.
func TestContract170OfAServiceInAWatchOnlyWhatIsReadIsDecoded(t *testing.T) {
	sent, service := long()
	end := &corev1.Service{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	failure := &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}
	answer := slices.Concat(event(t, watch.Added, sent), event(t, watch.Modified, sent), event(t, watch.Bookmark, end), event(t, watch.Error, failure))
	for _, object := range []runtime.Object{service, end, failure} {
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as client-go returns it
	}
	want := []watch.Event{{Type: watch.Added, Object: service}, {Type: watch.Modified, Object: service}, {Type: watch.Bookmark, Object: end}, {Type: watch.Error, Object: failure}}
	if diff := cmp.Diff(want, watched(t, answer)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for _, size := range []int{2, 100, 500_000, len(answer) / 2} {
		if got := watched(t, answer[:size]); len(got) > 1 {
			t.Errorf("%d of %d bytes: got %d events, want one at most", size, len(answer), len(got))
		}
	}
}

// watched returns the events of a watch of Services that was answered so.
func watched(t *testing.T, answer []byte) (events []watch.Event) {
	t.Helper()
	config := &rest.Config{Host: "https://192.0.2.1"}
	config.Wrap(func(http.RoundTripper) http.RoundTripper {
		return body{runtime.ContentTypeProtobuf + ";stream=watch", bytes.NewReader(answer)}
	})
	w, err := reading(t, config).Watch(t.Context(), kube.Services("shop"), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for one := range w.ResultChan() {
		events = append(events, one)
	}
	return events
}
