package chart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// kinds is a release that reads pools and bindings from the API server.
type kinds struct {
	*teams
	dynamic dynamic.Interface
}

const (
	kindsTeam  = "kinds-shop"
	kindsOther = "kinds-other"
)

// kindsAreBound is one installation, first without the kinds, then with them.
func kindsAreBound(t *testing.T, c *cloud) {
	k := newKinds(t, c)
	k.helm(t, k.version, append([]string{"install", release, chartDir}, k.args("--set", "crds.create=false")...)...)
	k.awaitRefusal(t, kindsTeam)
	k.refusesNobody(t)
	k.upgrade(t, k.args()[2:]...)
	k.await(t, "the kinds and their policies", func() error { return k.create(t, k.pool("10.9.0.0/24", "30080", "namespaces: ["+kindsTeam+"]")) }, "bounds.subnets")
	t.Run("the daemon reads both and writes their status", k.daemonMay)
	t.Run("Contract80 teams write bindings, the platform pools", k.rightsArePeoples)
	t.Run("Contract79 the policies hold pools and bindings to the bounds", k.policiesHold)
	k.helm(t, k.version, "uninstall", release, "--namespace", k.namespace, "--wait")
	stage.Until(t, "the kinds without their policies", func() bool { return k.create(t, k.pool("10.9.0.0/24", "1", "namespaces: [a]")) == nil })
	t.Log("the definitions stayed, and the next release takes them over")
	k.helm(t, k.version, append([]string{"install", release, chartDir}, k.args()...)...)
	k.awaitRefusal(t, kindsTeam)
	k.withoutKinds(t)
}

func newKinds(t *testing.T, c *cloud) *kinds {
	t.Helper()
	k := &kinds{teams: &teams{installation: &installation{c, "helm4", "kinds"}}}
	c.prepare(t, k.namespace)
	client, err := dynamic.NewForConfig(c.CP.Config())
	if err != nil {
		t.Fatal(err)
	}
	k.dynamic = client
	for _, name := range []string{kindsTeam, kindsOther} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// args are the namespace and the values of the release, and more.
func (k *kinds) args(more ...string) []string {
	return append([]string{
		"--namespace", k.namespace, "--set", "image.tag=0.1.0,controller.documentsApi=true", "--set-json",
		`bounds={"namespaces":["` + kindsTeam + `"],"subnets":["10.0.0.0/16","10.7.0.0/16"],"ports":[8080,"30080-30090"]}`,
	}, more...)
}

// pool is a pool with one subnet and one entry of allow.
func (k *kinds) pool(subnet, port, namespaces string) string {
	return fmt.Sprintf(`apiVersion: %s
kind: EndpointPool
metadata: {name: berlin}
spec:
  source: {static: {nodes: [{name: a, addresses: [10.7.0.11]}]}}
  subnets: [%s]
  allow: [{ports: [%q], %s}]
`, v1alpha1.APIVersion, subnet, port, namespaces)
}

// binding is a binding with one port.
func (k *kinds) binding(namespace string, port int) string {
	return fmt.Sprintf("apiVersion: %s\nkind: EndpointBinding\nmetadata: {name: web, namespace: %s}\nspec: {pools: [{name: berlin}], ports: [{port: %d}]}\n",
		v1alpha1.APIVersion, namespace, port)
}

// object is a document, and where it belongs.
func (k *kinds) object(t *testing.T, text string) (*unstructured.Unstructured, dynamic.ResourceInterface) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if object.GetKind() == v1alpha1.KindEndpointPool {
		return object, k.dynamic.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.ResourceEndpointPools))
	}
	return object, k.dynamic.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.ResourceEndpointBindings)).Namespace(object.GetNamespace())
}

// create asks whether an object may be created.
func (k *kinds) create(t *testing.T, text string) error {
	t.Helper()
	object, resource := k.object(t, text)
	_, err := resource.Create(t.Context(), object, dry)
	return err
}

// await waits until a request is refused with a reason.
func (k *kinds) await(t *testing.T, what string, try func() error, reason string) {
	t.Helper()
	stage.Until(t, what, func() bool {
		err := try()
		return err != nil && strings.Contains(err.Error(), reason)
	})
}

// refusesNobody: policies about kinds that are not there are no concern of Services and
// slices, whoever writes them.
func (k *kinds) refusesNobody(t *testing.T) {
	t.Helper()
	for _, namespace := range []string{kindsTeam, kindsOther} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "any"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		if _, err := k.Client.CoreV1().Services(namespace).Create(t.Context(), service, dry); err != nil {
			t.Errorf("a Service in %s: %v", namespace, err)
		}
		foreign := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "any"}, AddressType: discoveryv1.AddressTypeIPv4}
		foreign.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"192.168.1.1"}}}
		if _, err := k.Client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), foreign, dry); err != nil {
			t.Errorf("a slice in %s: %v", namespace, err)
		}
	}
	for _, name := range []string{"web.berlin.9", "legacy", "legacy-ipv6"} { // spec.adopt of an object gives a slice any name
		if _, err := k.daemon(t).DiscoveryV1().EndpointSlices(kindsTeam).Create(t.Context(), poolSlice("berlin", name, "10.0.0.11"), dry); err != nil {
			t.Errorf("a slice of the daemon: %v", err)
		}
	}
}

// policiesHold tries what is beyond the bounds, and what is within.
func (k *kinds) policiesHold(t *testing.T) {
	team := "namespaces: [" + kindsTeam + "]"
	for name, c := range map[string]struct{ text, says string }{
		"a subnet outside":    {k.pool("10.9.0.0/24", "30080", team), "spec.subnets: every new subnet must be inside bounds.subnets of the chart: 10.0.0.0/16, 10.7.0.0/16"},
		"a larger subnet":     {k.pool("10.0.0.0/8", "30080", team), "bounds.subnets"},
		"a port outside":      {k.pool("10.7.1.0/24", "10250", team), "spec.allow: every new port must be among bounds.ports of the chart: 8080,30080-30090"},
		"a range outside":     {k.pool("10.7.1.0/24", "30080-30091", team), "bounds.ports"},
		"a namespace outside": {k.pool("10.7.1.0/24", "30080", "namespaces: ["+kindsOther+"]"), "bounds.namespaces of the chart: " + kindsTeam},
		"selected namespaces": {k.pool("10.7.1.0/24", "30080", "namespaceSelector: {matchLabels: {a: b}}"), "namespaceSelector may select namespaces outside"},
		"a binding outside":   {k.binding(kindsOther, 30080), "do not have the namespace " + kindsOther},
		"a port of a binding": {k.binding(kindsTeam, 10250), "spec.ports: every new port must be among bounds.ports"},
		"within":              {k.pool("10.7.1.0/24", "30080-30090", team), ""},
		"another port":        {k.pool("10.0.0.0/16", "8080", team), ""},
		"a binding within":    {k.binding(kindsTeam, 30090), ""},
	} {
		err := k.create(t, c.text)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
	k.mayChangeAfterwards(t)
}

// mayChangeAfterwards: what an object has already may stay, or a mistake in it could not
// be corrected after the bounds were narrowed.
func (k *kinds) mayChangeAfterwards(t *testing.T) {
	t.Helper()
	object, resource := k.object(t, k.pool("10.7.1.0/24", "30080-30090", "namespaces: ["+kindsTeam+"]"))
	made, err := resource.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resource.Delete(t.Context(), made.GetName(), metav1.DeleteOptions{}) }()
	narrow := `bounds={"namespaces":["` + kindsOther + `"],"subnets":["10.0.0.0/16"],"ports":[8080]}`
	k.upgrade(t, k.args("--set-json", narrow)[2:]...)
	k.await(t, "the narrower bounds", func() error { return k.create(t, k.pool("10.7.1.0/24", "8080", "namespaces: ["+kindsOther+"]")) }, "bounds.subnets")
	if err := unstructured.SetNestedField(made.Object, "1m", "spec", "pollInterval"); err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Update(t.Context(), made, dryUpdate); err != nil {
		t.Errorf("a change that adds nothing: %v", err)
	}
	if err := unstructured.SetNestedStringSlice(made.Object, []string{"10.7.1.0/24", "10.7.2.0/24"}, "spec", "subnets"); err != nil {
		t.Fatal(err)
	}
	if _, err := resource.Update(t.Context(), made, dryUpdate); err == nil || !strings.Contains(err.Error(), "bounds.subnets") {
		t.Errorf("another subnet outside: got %v, want it refused", err)
	}
}

// rightsArePeoples asks what the ClusterRoles of every cluster allow in a namespace.
func (k *kinds) rightsArePeoples(t *testing.T) {
	for _, role := range []string{"admin", "edit", "view"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "kinds-" + role, APIGroup: rbacv1.GroupName}},
		}
		if _, err := k.Client.RbacV1().RoleBindings(kindsTeam).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(role, verb, resource, namespace string) bool {
		return k.allowed(t, "kinds-"+role, authorizationv1.ResourceAttributes{Verb: verb, Group: v1alpha1.GroupName, Resource: resource, Namespace: namespace})
	}
	stage.Until(t, "the aggregated roles", func() bool {
		return ask("edit", "create", v1alpha1.ResourceEndpointBindings, kindsTeam) && ask("view", "list", v1alpha1.ResourceEndpointBindings, kindsTeam)
	})
	for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
		reads := slices.Contains([]string{"get", "list", "watch"}, verb)
		for role, want := range map[string]bool{"admin": true, "edit": true, "view": reads} {
			if got := ask(role, verb, v1alpha1.ResourceEndpointBindings, kindsTeam); got != want {
				t.Errorf("%s: %s bindings: got %v, want %v", role, verb, got, want)
			}
			if ask(role, verb, v1alpha1.ResourceEndpointBindings, kindsOther) || ask(role, verb, v1alpha1.ResourceEndpointPools, "") || ask(role, verb, v1alpha1.ResourceEndpointBindings+"/status", kindsTeam) {
				t.Errorf("%s: %s is allowed beyond the bindings of the namespace", role, verb)
			}
		}
	}
}

// daemonMay compares the rights of the ServiceAccount with what package objects says.
func (k *kinds) daemonMay(t *testing.T) {
	of := func(namespace string) []string {
		return slices.DeleteFunc(k.rights(t, namespace), func(right string) bool { return !strings.Contains(right, v1alpha1.GroupName) })
	}
	want := []string{
		"list endpointbindings." + v1alpha1.GroupName, "list endpointpools." + v1alpha1.GroupName,
		"update endpointbindings/status." + v1alpha1.GroupName, "update endpointpools/status." + v1alpha1.GroupName,
		"watch endpointbindings." + v1alpha1.GroupName, "watch endpointpools." + v1alpha1.GroupName,
	}
	for _, namespace := range []string{kindsTeam, "default"} {
		if got := of(namespace); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", namespace, got, want)
		}
	}
	daemon := k.daemon(t).DiscoveryV1().EndpointSlices(kindsTeam)
	if _, err := daemon.Create(t.Context(), poolSlice("any", "web.any", "10.7.3.3"), dry); err != nil {
		t.Errorf("a slice of a pool that the chart does not know, within the bounds: %v", err)
	}
	if _, err := daemon.Create(t.Context(), poolSlice("any", "web.any", "10.9.3.3"), dry); err == nil || !strings.Contains(err.Error(), "inside the subnets") {
		t.Errorf("the same beyond the bounds: got %v, want it refused", err)
	}
}

// withoutKinds removes the definitions under the running policies.
func (k *kinds) withoutKinds(t *testing.T) {
	t.Helper()
	definitions := k.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, name := range []string{v1alpha1.ResourceEndpointPools, v1alpha1.ResourceEndpointBindings} {
		if err := definitions.Delete(t.Context(), name+"."+v1alpha1.GroupName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	stage.Until(t, "the kinds to be gone", func() bool {
		_, pools := k.object(t, k.pool("10.7.1.0/24", "8080", ""))
		_, err := pools.List(t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
	k.refusesNobody(t)
	k.helm(t, k.version, "uninstall", release, "--namespace", k.namespace, "--wait")
}
