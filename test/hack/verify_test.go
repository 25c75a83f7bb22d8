package hack_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// service makes the Service "web".
func (w *world) service(t *testing.T, spec corev1.ServiceSpec) *corev1.Service {
	t.Helper()
	made, err := w.client.CoreV1().Services(w.namespace).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// right is the slice of a daemon that does its job.
func right(service *corev1.Service) *discoveryv1.EndpointSlice {
	name, protocol, port := "http", corev1.ProtocolTCP, int32(8080)
	endpoint := func(address string, ready, serving, terminating bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}}
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-remote",
			Labels: map[string]string{
				discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: controller,
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: service.UID}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &protocol, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{
			endpoint("10.0.0.11", true, true, false), endpoint("10.0.0.12", false, true, true), endpoint("10.0.0.13", false, false, false),
		},
	}
}

// mistakes are what may be wrong with slices, and what the script says to it.
var mistakes = map[string]struct {
	spoil func(*discoveryv1.EndpointSlice)
	says  string
}{
	"not a name of the daemon":    {func(s *discoveryv1.EndpointSlice) { s.Name = "web-remote-x" }, "slice web-remote-x: a slice of the daemon"},
	"the first slice as number 1": {func(s *discoveryv1.EndpointSlice) { s.Name = "web-remote-1" }, "slice web-remote-1: a slice of the daemon"},
	"no owner":                    {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil }, "its owner is not the Service"},
	"a Service that was before":   {func(s *discoveryv1.EndpointSlice) { s.OwnerReferences[0].UID = "gone" }, "its owner is not the Service"},
	"another port name":           {func(s *discoveryv1.EndpointSlice) { name := "web"; s.Ports[0].Name = &name }, "no port is called 'http' (TCP)"},
	"a port too many": {func(s *discoveryv1.EndpointSlice) {
		name := "more"
		more := s.Ports[0]
		more.Name = &name
		s.Ports = append(s.Ports, more)
	}, "port 'more' (TCP) is no port of the Service"},
	"another protocol":       {func(s *discoveryv1.EndpointSlice) { p := corev1.ProtocolUDP; s.Ports[0].Protocol = &p }, "no port is called 'http' (TCP)"},
	"an address outside":     {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "192.168.0.1" }, "192.168.0.1 is outside SECURED_SUBNET_CIDR"},
	"an address twice":       {func(s *discoveryv1.EndpointSlice) { s.Endpoints[1].Addresses[0] = "10.0.0.11" }, "10.0.0.11 is in slice web-remote as well"},
	"two addresses":          {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.0.0.1", "10.0.0.2"} }, "an endpoint has 2 addresses"},
	"a condition left out":   {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Serving = nil }, "10.0.0.11: ready, serving, terminating are (True, None, False)"},
	"ready though it leaves": {func(s *discoveryv1.EndpointSlice) { *s.Endpoints[0].Conditions.Terminating = true }, "which is no state of an endpoint"},
	"a node of this cluster": {func(s *discoveryv1.EndpointSlice) { n := "worker"; s.Endpoints[0].NodeName = &n }, "10.0.0.11 has a nodeName"},
	"none ready":             {func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] }, "no endpoint is ready"},
	"managed by another":     {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "x" }, "is for the Service too, managed by x"},
	"managed by no program":  {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelManagedBy) }, "is for the Service too, managed by no program"},
	"for another Service":    {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "x" }, "has a name of the daemon, but its labels say Service x"},
}

func findsMistakes(t *testing.T, w *world) {
	service := w.service(t, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}})
	slices := w.client.DiscoveryV1().EndpointSlices(w.namespace)
	verify := w.script("verify-endpointslice.sh")
	verify.run(t).want(1, "no slice for web is managed by "+controller+": does the daemon run?", "remedy: ")
	with := func(t *testing.T, s *discoveryv1.EndpointSlice, then func()) {
		t.Helper()
		if _, err := slices.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		then()
		if err := slices.Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, mistake := range mistakes {
		s := right(service)
		mistake.spoil(s)
		with(t, s, func() {
			got := verify.run(t)
			got.call += " with " + name
			got.want(1, "wrong: ", mistake.says).lacks("Traceback")
		})
	}
	with(t, right(service), func() {
		verify.run(t).want(0, "1 slices, 1 ready, 1 draining, 1 down", "the slices are right")
		six := right(service)
		six.Name, six.AddressType = "web-remote-ipv6", discoveryv1.AddressTypeIPv6
		six.Endpoints = six.Endpoints[:1]
		six.Endpoints[0].Addresses[0] = "fd00:10::1"
		with(t, six, func() {
			verify.run(t).want(1, "fd00:10::1 is outside SECURED_SUBNET_CIDR").lacks("a slice of the daemon")
			verify.with(map[string]string{"SECURED_SUBNET_CIDR": "10.0.0.0/8, fd00:10::/64"}).run(t).want(0, "2 slices, 2 ready")
		})
		other := right(service)
		other.Name, other.Labels[discoveryv1.LabelManagedBy] = "web-mirrored", "endpointslicemirroring-controller.k8s.io"
		with(t, other, func() { verify.run(t).want(1, "slice web-mirrored is for the Service too") })
		twice := right(service)
		twice.Name = "web-remote-2"
		with(t, twice, func() { verify.run(t).want(1, "10.0.0.12 is in slice web-remote as well") })
		verify.with(map[string]string{"SECURED_SUBNET_CIDR": "10.0.0.0"}).run(t).want(1, "10.0.0.11 is outside")
		verify.with(map[string]string{"SECURED_SUBNET_CIDR": "10.0.0.1/24"}).run(t).want(1, "wrong: SECURED_SUBNET_CIDR: ")
		verify.with(map[string]string{"TARGET_MANAGED_BY": "other"}).run(t).want(1, "managed by other: does the daemon run?")

		service.Spec.Selector = map[string]string{"app": "x"}
		if _, err := w.client.CoreV1().Services(w.namespace).Update(t.Context(), service, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		verify.run(t).want(1, "Service web has a selector")
	})
	w.unchanged(t, "verifying")
}

// verified runs the script on a Service and its slice, without a cluster.
func verified(t *testing.T, service *corev1.Service, slice *discoveryv1.EndpointSlice, env map[string]string) did {
	t.Helper()
	answers := t.TempDir()
	for name, object := range map[string]any{"service": service, "endpointslices": discoveryv1.EndpointSliceList{Items: []discoveryv1.EndpointSlice{*slice}}} {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(answers, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := fake(t, "kubectl", fmt.Sprintf(`case "$*" in
  *"config view"*) echo "t, https://127.0.0.1:1" ;;
  *"get service "*) cat %[1]q/service ;;
  *"get endpointslices "*) cat %[1]q/endpointslices ;;
esac
`, answers))
	s := script{name: "verify-endpointslice.sh", env: map[string]string{
		"KUBECTL_PATH": filepath.Join(dir, "kubectl"), "SECURED_SUBNET_CIDR": "10.0.0.0/24", "TARGET_SERVICE_NAME": "web",
	}}
	return s.with(env).run(t)
}

func TestContract186VerifyKnowsThePortThatIsPicked(t *testing.T) {
	both := corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "metrics", Port: 9090, TargetPort: intstr.FromInt32(9090)},
	}}
	for name, test := range map[string]struct {
		env    map[string]string
		spoil  func(*discoveryv1.EndpointSlice)
		status int
		says   string
	}{
		"by its targetPort":             {env: map[string]string{"TARGET_PORT": "8080"}, says: "the slices are right"},
		"another one":                   {map[string]string{"TARGET_PORT": "9090"}, nil, 1, "no port is called 'metrics' (TCP)"},
		"one that fits none":            {map[string]string{"TARGET_PORT": "7000"}, nil, 1, "TARGET_PORT=7000 fits none or several of the ports of Service web: set TARGET_PORTS"},
		"no number":                     {map[string]string{"TARGET_PORT": "http"}, nil, 1, "TARGET_PORT=http fits none or several"},
		"some of the Service's by name": {env: map[string]string{"TARGET_PORTS": "http=8080"}, says: "the slices are right"},
		"with spaces":                   {env: map[string]string{"TARGET_PORTS": "http = 8080 / tcp"}, says: "the slices are right"},
		"one by name that is missing":   {map[string]string{"TARGET_PORTS": "http=8080, metrics=9090/tcp"}, nil, 1, "no port is called 'metrics' (TCP)"},
		"not said which":                {says: "the slices are right"},
		"not said which, and none":      {nil, func(s *discoveryv1.EndpointSlice) { s.Ports = nil }, 1, "no port is called 'http' (TCP)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}, Spec: both}
			slice := right(service)
			if test.spoil != nil {
				test.spoil(slice)
			}
			verified(t, service, slice, test.env).want(test.status, test.says).lacks("Traceback")
		})
	}
}

func TestContract186VerifyKnowsPublishNotReadyAddresses(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u"}, Spec: corev1.ServiceSpec{PublishNotReadyAddresses: true, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	slice := right(service)
	for i := range slice.Endpoints {
		*slice.Endpoints[i].Conditions.Ready = true
	}
	const old = "web-remote: it is written for publishNotReadyAddresses: false, but the Service has true"
	verified(t, service, slice, nil).want(1, old)
	slice.Annotations = map[string]string{"endpoints.ablmnzde.github.io/publish-not-ready-addresses": "true"}
	verified(t, service, slice, nil).want(0, "1 slices, 1 ready, 1 draining, 1 down", "the slices are right")
	down := slice.DeepCopy()
	down.Endpoints = down.Endpoints[2:]
	verified(t, service, down, nil).want(0, "1 slices, 0 ready, 0 draining, 1 down")
	*slice.Endpoints[2].Conditions.Ready = false
	verified(t, service, slice, nil).want(1, "10.0.0.13: ready, serving, terminating are (False, False, False), which is no state of an endpoint")
}

func TestContract186SetImageNamesTheOptionThatNeedsNoCluster(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	folder, _ := manifests(t, "")
	s := script{name: "set-image.sh", args: []string{"--folder", folder, "v1.2.3"}}
	for name, env := range map[string]map[string]string{
		"no kubectl":             {"KUBECTL_PATH": none},
		"no kubeconfig":          {"KUBECTL_PATH": "false"},
		"a kubeconfig not there": {"KUBECTL_PATH": "true", "KUBECONFIG": none},
		"an API server away":     {"KUBECTL_PATH": filepath.Join(fake(t, "kubectl", `case "$*" in *"config view"*) echo "t, https://127.0.0.1:1" ;; *) exit 1 ;; esac`), "kubectl")},
	} {
		got := s.with(env).run(t)
		got.call = name
		got.want(1, "remedy: ", "or --manifest-only")
	}
}
