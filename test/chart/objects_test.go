package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// state is the generation or, where there is none, the version of every object
// that the chart has rendered.
func (i *installation) state(t *testing.T, manifests string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, object := range documents(t, manifests) {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1.")
		m := i.get(t, kind, metaOf(t, object))
		version := m.GetResourceVersion()
		switch kind {
		case "Deployment", "PodDisruptionBudget", "ValidatingAdmissionPolicy": // their status changes by itself
			version = fmt.Sprint(m.GetGeneration())
		case "Lease": // replicas write it
			version = ""
		}
		found[kind+" "+m.GetName()] = version
	}
	return found
}

// get reads an object as it is in the cluster.
func (i *installation) get(t *testing.T, kind string, m metav1.Object) metav1.Object {
	t.Helper()
	var found metav1.Object
	var err error
	ctx, name, options := t.Context(), m.GetName(), metav1.GetOptions{}
	rbac, admission := i.Client.RbacV1(), i.Client.AdmissionregistrationV1()
	switch kind {
	case "Deployment":
		found, err = i.Client.AppsV1().Deployments(i.namespace).Get(ctx, name, options)
	case "ServiceAccount":
		found, err = i.Client.CoreV1().ServiceAccounts(i.namespace).Get(ctx, name, options)
	case "Service":
		found, err = i.Client.CoreV1().Services(i.namespace).Get(ctx, name, options)
	case "Role":
		found, err = rbac.Roles(i.namespace).Get(ctx, name, options)
	case "RoleBinding":
		found, err = rbac.RoleBindings(i.namespace).Get(ctx, name, options)
	case "NetworkPolicy":
		found, err = i.Client.NetworkingV1().NetworkPolicies(i.namespace).Get(ctx, name, options)
	case "Lease":
		found, err = i.Client.CoordinationV1().Leases(i.namespace).Get(ctx, name, options)
	case "PodDisruptionBudget":
		found, err = i.Client.PolicyV1().PodDisruptionBudgets(i.namespace).Get(ctx, name, options)
	case "ValidatingAdmissionPolicy":
		found, err = admission.ValidatingAdmissionPolicies().Get(ctx, name, options)
	case "ValidatingAdmissionPolicyBinding":
		found, err = admission.ValidatingAdmissionPolicyBindings().Get(ctx, name, options)
	default:
		t.Fatalf("a %s is rendered, which this test does not know", kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// appliedWithoutHelm renders first and then applies, as Argo CD does.
func appliedWithoutHelm(t *testing.T, c *cloud) {
	const namespace = "edge-applied"
	c.prepare(t, namespace)
	args := append([]string{"template", release, chartDir, "--namespace", namespace, "--skip-tests"}, readme...)
	i, manifests := &installation{c, "helm4", namespace}, helm(t, "helm4", args...).stdout
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + t.TempDir()}
	apply := []string{"--kubeconfig", c.CP.Kubeconfig(t), "apply", "-f", file}
	if got := run(t, env, c.CP.KubectlPath(), apply...); got.failed || got.stderr != "" {
		t.Fatalf("apply: got\n%s%s", got.stdout, got.stderr)
	}
	before := i.state(t, manifests)
	if got := run(t, env, c.CP.KubectlPath(), apply...); got.failed {
		t.Fatalf("apply again: got\n%s%s", got.stdout, got.stderr)
	}
	if diff := cmp.Diff(before, i.state(t, manifests)); diff != "" {
		t.Errorf("objects after a second apply (-before +after):\n%s", diff)
	}
	pods := i.pods(t)
	i.start(t, &pods[0], false)
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(c.Published(t, namespace), c.Addresses) })
}
