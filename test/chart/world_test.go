package chart_test

import (
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// cloud is the stage, with a kubeconfig for the chart.
type cloud struct {
	*stage.Stage
	kubeconfig string
}

func newCloud(t *testing.T, cp *controlplane.ControlPlane) *cloud {
	t.Helper()
	c := &cloud{Stage: stage.New(t, cp)}
	c.kubeconfig = c.watcher(t)
	return c
}

// watcher is the kubeconfig of a user with the right to watch the nodes.
func (c *cloud) watcher(t *testing.T) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "watcher"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}
	if _, err := c.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: meta.Name, APIGroup: rbacv1.GroupName}},
	}
	if _, err := c.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(c.CP.UserKubeconfig(t, meta.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prepare makes a namespace that enforces the Pod Security Standard "restricted",
// with the objects that the chart needs beside it.
func (c *cloud) prepare(t *testing.T, namespace string) {
	t.Helper()
	core := c.Client.CoreV1()
	c.Namespace(t, namespace)
	for name, data := range map[string]map[string]string{
		"ionos-token": {"token": stage.Token + "\n"}, "kubeconfigs": {"secured": c.kubeconfig},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
		if _, err := core.Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	if _, err := core.Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// start runs the daemon of a Pod until the test ends. Two Pods on this one machine
// cannot have the same ports: the second takes others. It returns the address of
// the probes.
func (c *cloud) start(t *testing.T, pod *corev1.Pod, second bool) (process *kubelet.Process, probes string) {
	t.Helper()
	changes, port := map[string]string{"IONOS_API_URL": c.URL}, "8081"
	if second {
		port = "8091"
		changes["METRICS_ADDRESS"], changes["ADMIN_ADDRESS"] = "0.0.0.0:8091", "127.0.0.1:8090"
	}
	return c.Kubelet.Start(t, pod, changes), "http://127.0.0.1:" + port
}

// token asks for a token of the Pod's ServiceAccount.
func (c *cloud) token(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	answer, err := c.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// helm runs Helm as an administrator of the cluster.
func (c *cloud) helm(t *testing.T, version string, args ...string) string {
	t.Helper()
	got := helm(t, version, append(args, "--kubeconfig", c.CP.Kubeconfig(t))...)
	if got.failed {
		t.Fatalf("%s %s: %s", version, strings.Join(args, " "), got.stderr)
	}
	return got.stdout + got.stderr
}
