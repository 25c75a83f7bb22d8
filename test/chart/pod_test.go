package chart_test

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// environment is the values of a container's variables, except those that the kubelet
// takes from elsewhere.
func environment(container corev1.Container) map[string]string {
	env := map[string]string{}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			env[variable.Name] = variable.Value
		}
	}
	return env
}

// TestTheProgramAcceptsTheEnvironmentOfEveryCombination starts the built program
// with the variables and the files of the rendered Pod.
func TestTheProgramAcceptsTheEnvironmentOfEveryCombination(t *testing.T) {
	eachCombination(t, []string{chartDir}, func(t *testing.T, _, version string, args []string) {
		objects := documents(t, renderOnce(t, chartDir, version, args))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "edge"}, Spec: daemonPod(t, objects)}
		k := kubelet.Kubelet{
			Client: fake.NewClientset(beside(pod.Spec, objects)...), Server: netip.MustParseAddrPort("10.96.0.1:443"), Program: built.Program(t),
		}
		pod.Spec.InitContainers = nil // they put programs into volumes, and none is run here
		pod.Spec.Containers[0].Args = []string{"config", "validate"}
		if out, err := k.Command(t, pod, nil).CombinedOutput(); err != nil {
			t.Errorf("config validate: %v\n%s", err, out)
		}
	})
}

// beside are the Secrets that a Pod asks for, and the ConfigMaps that are rendered
// with it.
func beside(pod corev1.PodSpec, objects []any) []runtime.Object {
	var found []runtime.Object
	for _, volume := range pod.Volumes {
		if volume.Secret == nil {
			continue
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: volume.Secret.SecretName, Namespace: "edge"},
			Data:       map[string][]byte{"kubeconfig": []byte("apiVersion: v1\nkind: Config\n")},
		}
		for _, item := range volume.Secret.Items {
			secret.Data[item.Key] = []byte("secret")
		}
		found = append(found, secret)
	}
	for _, object := range objects {
		if rendered, ok := object.(*corev1.ConfigMap); ok {
			found = append(found, rendered)
		}
	}
	return found
}

// sample is a value that the schema allows for a variable.
func sample(v variable) string {
	if m := oneOf.FindStringSubmatch(v.meaning); m != nil {
		return strings.Trim(strings.Split(m[1], ", ")[0], "`")
	}
	if m := limits.FindStringSubmatch(v.meaning); m != nil {
		return m[1]
	}
	fallback := strings.Trim(v.fallback, "`")
	switch {
	case v.name == "SECURED_SUBNET_CIDR":
		return "10.0.0.0/24"
	case v.name == "METRICS_ADDRESS":
		return "0.0.0.0:8081"
	case v.name == "LEADER_ELECTION":
		return "true"
	case fallback == "true" || fallback == "false" || duration.MatchString(fallback):
		return fallback
	}
	if value, ok := samples[v.name]; ok {
		return value
	}
	return "sample-" + strings.ToLower(v.key())
}

// samples are of variables whose values have a form.
var samples = map[string]string{
	"ADMIN_ADDRESS": "127.0.0.1:9090", "STATIC_NODES": "sample=10.0.0.1", "INVENTORY_COMMAND_ENV": "SAMPLE",
	"IONOS_API_URL": "https://api.example.com", "IONOS_CLUSTER_ID": stage.Datacenter, "IONOS_DATACENTER_ID": stage.Datacenter,
	"HEALTH_CHECK_PATH": "/sample", "REMOTE_SERVICE": "shop/web", "HEALTH_CHECK_EXPECTED_STATUS": "200-299",
}
