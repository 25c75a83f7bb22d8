package deploy_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// all are the objects of every manifest, decoded strictly.
func all(t *testing.T) []runtime.Object {
	t.Helper()
	var objects []runtime.Object
	for _, file := range examples(t, folder) {
		objects = append(objects, documents(t, read(t, filepath.Join(folder, file)))...)
	}
	return objects
}

// label is kind and name of an object.
func label(t *testing.T, object runtime.Object) string {
	t.Helper()
	return object.GetObjectKind().GroupVersionKind().Kind + "/" + metaOf(t, object).GetName()
}

func metaOf(t *testing.T, object runtime.Object) metav1.Object {
	t.Helper()
	accessor, ok := object.(metav1.ObjectMetaAccessor)
	if !ok {
		t.Fatalf("got a %T", object)
	}
	return accessor.GetObjectMeta()
}

func TestTheManifestsAreWhatTheyClaim(t *testing.T) {
	var got []string
	for _, object := range all(t) {
		got = append(got, label(t, object))
		m := metaOf(t, object)
		if m.GetNamespace() != "" {
			t.Errorf("%s: got namespace %s; kubectl -n is to say it", label(t, object), m.GetNamespace())
		}
		for key, value := range m.GetLabels() {
			if strings.Contains(strings.ToLower(key+value), "helm") {
				t.Errorf("%s: got label %s=%s, but Helm has no part in it", label(t, object), key, value)
			}
		}
	}
	slices.Sort(got)
	// No EndpointSlice: that is the daemon's.
	want := []string{
		"ConfigMap/" + name + "-config", "ConfigMap/" + name + "-scripts", "Deployment/" + name, "Lease/" + name + "-reached",
		"Role/" + name, "Role/" + name + "-lease", "RoleBinding/" + name, "RoleBinding/" + name + "-lease",
		"Secret/ionos-token", "Secret/kubeconfigs", "Service/web", "ServiceAccount/" + name,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	service := stage.One[*corev1.Service](t, all(t))
	if len(service.Spec.Selector) != 0 {
		t.Errorf("the Service: got selector %v, want none", service.Spec.Selector)
	}
}

func TestTheKustomizationIsTheSumOfTheManifests(t *testing.T) {
	var kustomization struct{ Resources []string }
	must(t, yaml.Unmarshal([]byte(read(t, filepath.Join(folder, "kustomization.yaml"))), &kustomization))
	if diff := cmp.Diff(examples(t, folder), slices.Sorted(slices.Values(kustomization.Resources))); diff != "" {
		t.Errorf("resources (-files +listed):\n%s", diff)
	}
	out, err := exec.CommandContext(t.Context(), built.Tool(t, "kubectl"), "kustomize", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, got := all(t), documents(t, string(out))
	for _, objects := range [][]runtime.Object{want, got} {
		slices.SortFunc(objects, func(a, b runtime.Object) int { return strings.Compare(label(t, a), label(t, b)) })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-files +kustomization):\n%s", diff)
	}
}

// TestTheManifestsGrantAndRunWhatTheChartDoes compares objects, because the form of
// the text does not matter.
func TestTheManifestsGrantAndRunWhatTheChartDoes(t *testing.T) {
	chart := documents(t, render(t, "serviceaccount", "role", "leaserole", "replies", "deployment"))
	ours := all(t)
	rules := func(objects []runtime.Object) map[string][]rbacv1.PolicyRule {
		found := map[string][]rbacv1.PolicyRule{}
		for _, object := range objects {
			switch typed := object.(type) {
			case *rbacv1.Role:
				found[typed.Name] = typed.Rules
			case *rbacv1.RoleBinding:
				if len(typed.Subjects) != 1 || typed.Subjects[0].Name != name || found[typed.RoleRef.Name] == nil {
					t.Errorf("RoleBinding %s: got %v to %v", typed.Name, typed.RoleRef, typed.Subjects)
				}
			}
		}
		return found
	}
	if diff := cmp.Diff(rules(chart), rules(ours)); diff != "" {
		t.Errorf("rules (-chart +deploy):\n%s", diff)
	}
	chartSpec, ourSpec := stage.One[*appsv1.Deployment](t, chart).Spec, stage.One[*appsv1.Deployment](t, ours).Spec
	options := cmp.Options{
		cmpopts.IgnoreFields(metav1.ObjectMeta{}, "Labels"),
		cmpopts.IgnoreFields(corev1.Container{}, "Env", "EnvFrom", "Image"),
	}
	if diff := cmp.Diff(chartSpec, ourSpec, options); diff != "" {
		t.Errorf("Deployment (-chart +deploy):\n%s", diff)
	}
	if diff := cmp.Diff(chartSpec.Selector.MatchLabels, ourSpec.Template.Labels); diff != "" {
		t.Errorf("labels of the Pods (-chart's selector +deploy):\n%s", diff)
	}
}

func TestEachPlaceholderIsFound(t *testing.T) {
	found := map[string]int{}
	for _, file := range examples(t, folder) {
		for line := range strings.Lines(read(t, filepath.Join(folder, file))) {
			if !strings.Contains(line, placeholder) {
				continue
			}
			found[file]++
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				t.Errorf("%s: got a placeholder in a comment, which would never be replaced: %s", file, line)
			}
		}
	}
	want := map[string]int{
		"rbac.example.yaml": 2, "ionos-token-secret.example.yaml": 1, "kubeconfigs-secret.example.yaml": 3,
		"controller-config.example.yaml": 3, "controller-deployment.example.yaml": 1,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("placeholders (-want +got):\n%s", diff)
	}
}

// TestTheConfigurationIsRefusedAsItIs: an operator who forgets the placeholders and
// hack/apply-order.sh reads so in the log of the Pods.
func TestTheConfigurationIsRefusedAsItIs(t *testing.T) {
	command := exec.CommandContext(t.Context(), built.Program(t), "config", "validate")
	command.Env = []string{"TARGET_NAMESPACE=" + namespace}
	for variable, value := range configMap(t, "config").Data {
		command.Env = append(command.Env, variable+"="+value)
	}
	out, err := command.CombinedOutput()
	if code := command.ProcessState.ExitCode(); code != 2 {
		t.Errorf("got exit status %d (%v), want 2", code, err)
	}
	for _, variable := range []string{"SECURED_SUBNET_CIDR", "IONOS_PRIVATE_LAN_ID"} {
		if !strings.Contains(string(out), variable+`="`+placeholder+`"`) {
			t.Errorf("got no word of %s in\n%s", variable, out)
		}
	}
}

// configMap is the one with that end of the name.
func configMap(t *testing.T, end string) *corev1.ConfigMap {
	t.Helper()
	for _, object := range all(t) {
		if config, ok := object.(*corev1.ConfigMap); ok && config.Name == name+"-"+end {
			return config
		}
	}
	t.Fatalf("got no ConfigMap %s-%s", name, end)
	return nil
}

func TestTheScriptIsThatOfTheSource(t *testing.T) {
	config := configMap(t, "scripts")
	want := map[string]string{"render_inventory.py": read(t, script)}
	if diff := cmp.Diff(want, config.Data); diff != "" {
		t.Errorf("data (-scripts +ConfigMap):\n%s", diff)
	}
	// kubectl apply keeps the whole object in an annotation.
	if size := len(config.Data["render_inventory.py"]); size > 200<<10 {
		t.Errorf("got %d bytes, more than kubectl apply can remember", size)
	}
}
