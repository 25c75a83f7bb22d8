package e2e_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contract 79: all policies of the chart on a cluster where the kinds are missing. They
// refuse no Service and no slice of anybody, the program works, and teams may do no more
// than ever.
func TestContract79PoliciesWithoutTheKinds(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.withKinds()
	p.policy("kindspolicy")
	p.refusesNobody()
	attempts(t, p)
	p.refusesNobody()

	t.Log("the kinds come, and go with everything in them")
	p.install()
	p.until(func() bool { // until the API server knows the kind and its policy
		return strings.Contains(p.tried(strings.ReplaceAll(p.poolText("beyond", p.green, "[nowhere]", ""), "10.0.0.0/16", "172.20.0.0/16")), "bounds.")
	}, func() string { return "no policy refuses a pool beyond the bounds" })
	p.refusesNobody()
	p.kubectl("", "delete", "--filename", definitions)
	p.refusesNobody()
	p.wantStates("web", "blue", p.nodes, "down")
}

// tried is what kubectl says to a document that is not written.
func (p *platform) tried(text string) string {
	p.t.Helper()
	out, _ := p.kubectlTries(text, "apply", "--dry-run=server", "--filename", "-")
	return out
}

// refusesNobody lets a team and an administrator make, change and delete a Service and
// slices with any address, in a namespace of the documents and in another one.
func (p *platform) refusesNobody() {
	p.t.Helper()
	const team = "team"
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: team}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: team, APIGroup: rbacv1.GroupName}},
	}
	if _, err := p.client.RbacV1().ClusterRoleBindings().Create(p.t.Context(), binding, metav1.CreateOptions{}); err != nil && !strings.Contains(err.Error(), "exists") {
		p.t.Fatal(err)
	}
	of, err := kubernetes.NewForConfig(p.cp.UserConfig(team))
	if err != nil {
		p.t.Fatal(err)
	}
	p.until(func() bool {
		_, err = of.CoreV1().Services("default").List(p.t.Context(), metav1.ListOptions{})
		return err == nil
	}, func() string { return err.Error() })
	for who, client := range map[string]kubernetes.Interface{"an administrator": p.client, "a team": of} {
		for _, namespace := range []string{p.namespace, "default"} {
			if err := writes(p.t.Context(), client, namespace); err != nil {
				p.t.Errorf("%s in %s: %v", who, namespace, err)
			}
		}
	}
}

// writes makes, changes and deletes a Service and a slice of somebody's own.
func writes(ctx context.Context, client kubernetes.Interface, namespace string) error {
	services, slices := client.CoreV1().Services(namespace), client.DiscoveryV1().EndpointSlices(namespace)
	service, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "own", Annotations: map[string]string{"endpoints.ablmnzde.github.io/pool": "any"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	service.Spec.Ports[0].Port = 81
	if _, err := services.Update(ctx, service, metav1.UpdateOptions{}); err != nil {
		return err
	}
	slice, err := slices.Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "own", Labels: map[string]string{"kubernetes.io/service-name": "own", "endpointslice.kubernetes.io/managed-by": "me"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	slice.Endpoints[0].Addresses[0] = "198.51.100.1"
	if _, err := slices.Update(ctx, slice, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := slices.Delete(ctx, slice.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return services.Delete(ctx, service.Name, metav1.DeleteOptions{})
}
