package manifests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// full is an Envoy with most fields.
func full() *v1alpha1.Envoy {
	return &v1alpha1.Envoy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "1"},
		Spec: v1alpha1.EnvoySpec{
			Name: "front", ConfigMapName: "front-files", Replicas: ptr.To(int32(3)), DrainTimeout: &metav1.Duration{Duration: 90 * time.Second},
			Listeners: []v1alpha1.Listener{
				{Name: "http", Port: 80, HTTPSRedirectPort: ptr.To(int32(443))},
				{Name: "https", Port: 443, Service: "web", TLS: &v1alpha1.ListenerTLS{SecretNames: []string{"b", "a"}}},
				{Name: "db", Port: 5432, Protocol: v1alpha1.ListenerTCP, Service: "db", TLS: &v1alpha1.ListenerTLS{SecretNames: []string{"a"}}},
			},
			Service: v1alpha1.EnvoyService{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a/b"), Annotations: map[string]string{"a": "b"},
				ExternalTrafficPolicy: ptr.To(corev1.ServiceExternalTrafficPolicyLocal),
			},
			PodTemplate: v1alpha1.EnvoyPodTemplate{
				Labels: map[string]string{"team": "shop", manifests.EnvoyLabel: "theirs"}, Annotations: map[string]string{manifests.BootstrapAnnotation: "theirs"},
				Resources:                 &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "rack", MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule}},
			},
		},
	}
}

var operator = manifests.Settings{Host: "views.infra", Port: 18000, EnvoyImage: "envoy@sha256:0", DrainImage: "views:1"}

func of(t *testing.T, e *v1alpha1.Envoy, kept map[string]string) manifests.Children {
	t.Helper()
	all, err := manifests.Of(e, operator, kept)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestContract86TheSameEnvoyGivesTheSameObjectsAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	e := full()
	one, err := json.Marshal(of(t, e, map[string]string{"envoy-old.yaml": "old", "envoy.yaml": "of another time"}))
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(of(t, full(), map[string]string{"envoy.yaml": "", "envoy-old.yaml": "old"}))
	if err != nil || string(one) != string(other) {
		t.Errorf("two Envoys that are the same give other objects: %s", cmp.Diff(string(one), string(other)))
	}
	if diff := cmp.Diff(full(), e); diff != "" {
		t.Errorf("the Envoy was changed:\n%s", diff)
	}
}

func TestContract86TheObjectsAreAsTheSpecSays(t *testing.T) {
	t.Parallel()
	all := of(t, full(), map[string]string{"envoy-old.yaml": "old"})
	files := all.ConfigMap.Data
	hash := all.Deployment.Spec.Template.Annotations[manifests.BootstrapAnnotation]
	for _, name := range []string{"envoy.yaml", "certificate.yaml", "authority.yaml", "secret-a.yaml", "secret-b.yaml", "envoy-old.yaml", manifests.FileOf(hash)} {
		if files[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	for _, want := range []string{"cluster: shop/edge", "address: views.infra", "port_value: 18000", "port_value: 9902", "DELTA_GRPC", "'::'", "ipv4_compat: true"} {
		if !strings.Contains(files["envoy.yaml"], want) {
			t.Errorf("envoy.yaml has no %q:\n%s", want, files["envoy.yaml"])
		}
	}
	var ports []int32
	for _, p := range all.Service.Spec.Ports {
		ports = append(ports, p.Port, p.TargetPort.IntVal)
	}
	if want := []int32{80, 8080, 443, 8443, 5432, 5432}; !slices.Equal(ports, want) {
		t.Errorf("Service: got ports %v, want %v", ports, want)
	}
	if s := all.Service.Spec; s.ExternalTrafficPolicy != "Local" || *s.LoadBalancerClass != "a/b" || all.Service.Annotations["a"] != "b" || all.Service.Name != "front" {
		t.Errorf("Service: got %+v", s)
	}
	var open []int32
	for _, p := range all.NetworkPolicy.Spec.Ingress[0].Ports {
		open = append(open, p.Port.IntVal)
	}
	if want := []int32{8080, 8443, 5432, 9902}; !slices.Equal(open, want) {
		t.Errorf("NetworkPolicy: got %v, want %v", open, want)
	}
}

func TestContract86And90APodIsReplacedAfterItsFollowerIsReadyAndDrains(t *testing.T) {
	t.Parallel()
	d := of(t, full(), nil).Deployment
	if u := d.Spec.Strategy.RollingUpdate; u.MaxUnavailable.IntVal != 0 || u.MaxSurge.IntVal != 1 {
		t.Errorf("got %v", u)
	}
	pod := d.Spec.Template.Spec
	envoy := pod.Containers[0]
	if got := envoy.Lifecycle.PreStop.Exec.Command; !slices.Equal(got, []string{"/opt/endpoint-views/endpoint-views", "drain", "--timeout", "1m30s"}) {
		t.Errorf("preStop: got %v", got)
	}
	if *pod.TerminationGracePeriodSeconds <= 90 {
		t.Errorf("the Pod is ended after %d s, before it has drained", *pod.TerminationGracePeriodSeconds)
	}
	hash := d.Spec.Template.Annotations[manifests.BootstrapAnnotation]
	if !slices.Contains(envoy.Args, envoyconfig.PodBootstrapFolder+"/"+manifests.FileOf(hash)) || hash == "theirs" {
		t.Errorf("the Pod does not start from the file of its hash: %v", envoy.Args)
	}
	if i := slices.Index(envoy.Args, "--concurrency"); i < 0 || envoy.Args[i+1] != "2" {
		t.Errorf("1500m of CPU: got %v, want two threads", envoy.Args)
	}
	if l := d.Spec.Template.Labels; l["team"] != "shop" || l[manifests.EnvoyLabel] != "edge" {
		t.Errorf("labels: got %v", l)
	}
	if s := pod.TopologySpreadConstraints; len(s) != 1 || s[0].LabelSelector.MatchLabels[manifests.EnvoyLabel] != "edge" {
		t.Errorf("spread: got %+v", s)
	}
	var mounted []string
	for _, m := range envoy.VolumeMounts {
		mounted = append(mounted, m.MountPath)
	}
	for _, want := range []string{envoyconfig.PodCertificateFolder, envoyconfig.PodSecretFolder("a"), envoyconfig.PodSecretFolder("b")} {
		if !slices.Contains(mounted, want) {
			t.Errorf("%s is not mounted: %v", want, mounted)
		}
	}
}

func TestContract86ASpecOfWhichNothingCanBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	e := full()
	e.Spec.Listeners = nil
	e.Spec.XDS = &v1alpha1.EnvoyXDS{Name: "a"}
	if _, err := manifests.Of(e, operator, nil); err == nil || !strings.Contains(err.Error(), "no host or no port") {
		t.Errorf("got %v, want what is missing", err)
	}
}

func TestContract110WhereTheKernelHasNoIPv6NothingListensOnIt(t *testing.T) {
	t.Parallel()
	e := full()
	e.Spec.IPFamily = v1alpha1.IPv4
	e.Spec.Service.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack)
	all := of(t, e, nil)
	if text := all.ConfigMap.Data["envoy.yaml"]; strings.Contains(text, "ipv4_compat") || !strings.Contains(text, "address: 0.0.0.0") {
		t.Errorf("got\n%s", text)
	}
	if got := all.Service.Spec.IPFamilyPolicy; got == nil || *got != corev1.IPFamilyPolicyPreferDualStack {
		t.Errorf("Service: got %v", got)
	}
	traffic, err := envoyconfig.FromObject(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range traffic.Listeners {
		if !l.Address.Is4() {
			t.Errorf("port %d listens on %s", l.Port, l.Address)
		}
	}
}

func TestContract127ABudgetNeverKeepsAPodThatDoesNotWork(t *testing.T) {
	t.Parallel()
	b := of(t, full(), nil).Budget.Spec
	if p := b.UnhealthyPodEvictionPolicy; p == nil || *p != policyv1.AlwaysAllow {
		t.Errorf("got %v, want AlwaysAllow: otherwise an Envoy that is not ready keeps its node from being drained", p)
	}
	if b.MaxUnavailable == nil || b.MaxUnavailable.IntVal != 1 || b.MinAvailable != nil {
		t.Errorf("got %+v, want one Pod at a time", b)
	}
}

func TestContract88And150ThePodsOfAFleet(t *testing.T) {
	t.Parallel()
	pod := of(t, full(), nil).Deployment.Spec.Template.Spec
	for what, is := range map[string]*bool{"service links": pod.EnableServiceLinks, "a token of the ServiceAccount": pod.AutomountServiceAccountToken} {
		if is == nil || *is {
			t.Errorf("the Pods have %s: got %v", what, is)
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
			t.Errorf("container %s: its last words are lost when it ends", c.Name)
		}
	}
}
