package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	manyServices = "../../docs/how-to/many-services.md"
	// platform is the namespace of the daemon on that page, teams are the others.
	platform = "endpoints"
	shop     = "shop"
	blog     = "blog"
)

// manyAsPrinted follows the page as a reader who has no Helm, and shows what follows
// from the rights in deploy/documents.
func manyAsPrinted(t *testing.T, w *world, _ string) {
	s := newTerminal(t, w)
	for file, text := range map[string]string{"token": stage.Token, "london-kubeconfig.yaml": read(t, w.CP.Kubeconfig(t))} {
		must(t, os.WriteFile(filepath.Join(s.dir, file), []byte(text), 0o600))
	}
	s.run(t, "for team in shop blog pay; do kubectl create namespace $team; done")
	s.run(t, block(t, manyServices, "The platform: pools"))
	_, section, _ := strings.Cut(read(t, manyServices), "\n## Without the chart\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 4 {
		t.Fatalf("%s: got %d blocks without the chart, want 4", manyServices, len(blocks))
	}
	for _, m := range blocks {
		s.run(t, m[1])
	}
	w.CP.Kubectl(t, "wait", "--for=condition=Established", "--timeout=90s", "--filename", filepath.Join(folder, "crds"))
	t.Run("Contract80 people write bindings, and nothing else of the kinds", func(t *testing.T) { peopleWriteBindings(t, w) })
	t.Run("Contract80 the daemon writes the status, and nothing else of the kinds", func(t *testing.T) { daemonWritesTheStatus(t, w) })
	t.Run("the daemon fills a Service and says so", func(t *testing.T) { fillsAService(t, w) })
}

// rightsOnKinds asks for every verb, and returns those that a user has, for example
// "update endpointpools/status". AwaitRights has waited for the first of them before.
func (w *world) rightsOnKinds(t *testing.T, user, namespace string) []string {
	t.Helper()
	var found []string
	for _, resource := range []string{v1alpha1.ResourceEndpointBindings, v1alpha1.ResourceEndpointPools} {
		for _, subresource := range []string{"", "status"} {
			for _, verb := range []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} {
				asked := authorizationv1.ResourceAttributes{Verb: verb, Group: v1alpha1.GroupName, Resource: resource, Subresource: subresource}
				if resource == v1alpha1.ResourceEndpointBindings {
					asked.Namespace = namespace
				}
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &asked}}
				answer, err := w.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
				must(t, err)
				if answer.Status.Allowed {
					found = append(found, strings.TrimSuffix(verb+" "+resource+"/"+subresource, "/"))
				}
			}
		}
	}
	return found
}

// sameRights compares what a user may do in a namespace, sorted as rightsOnKinds asks.
func (w *world) sameRights(t *testing.T, user, namespace string, want ...string) {
	t.Helper()
	if got := w.rightsOnKinds(t, user, namespace); !slices.Equal(got, want) {
		t.Errorf("%s in %s: got %q, want %q", user, namespace, got, want)
	}
}

// peopleWriteBindings gives users the ClusterRoles that every cluster has, in one namespace
// and in the whole cluster: only there could they say something of pools.
func peopleWriteBindings(t *testing.T, w *world) {
	all := map[string][]string{"view": {"get", "list", "watch"}}
	all["edit"] = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	all["admin"] = all["edit"]
	for role, verbs := range all {
		user, everywhere := "a-user-with-"+role, "a-user-everywhere-with-"+role
		w.CP.Kubectl(t, "--namespace", shop, "create", "rolebinding", role, "--clusterrole="+role, "--user="+user)
		w.CP.Kubectl(t, "create", "clusterrolebinding", everywhere, "--clusterrole="+role, "--user="+everywhere)
		var want []string
		for _, verb := range verbs {
			want = append(want, verb+" "+v1alpha1.ResourceEndpointBindings)
		}
		// A controller adds the rights to the ClusterRoles.
		for _, who := range []string{user, everywhere} {
			w.CP.AwaitRights(t, who, true, authorizationv1.ResourceAttributes{Group: v1alpha1.GroupName, Resource: v1alpha1.ResourceEndpointBindings, Namespace: shop}, verbs...)
		}
		w.sameRights(t, user, shop, want...)
		w.sameRights(t, user, blog)
		w.sameRights(t, everywhere, blog, append(want, "get endpointpools", "list endpointpools", "watch endpointpools")...)
	}
}

// daemonWritesTheStatus looks at a namespace that a pool may name, and at another one.
func daemonWritesTheStatus(t *testing.T, w *world) {
	user := "system:serviceaccount:" + platform + ":" + name
	w.CP.AwaitRights(t, user, true, authorizationv1.ResourceAttributes{Group: v1alpha1.GroupName, Resource: v1alpha1.ResourceEndpointPools}, "list", "watch")
	for _, namespace := range []string{shop, "default"} {
		w.sameRights(t, user, namespace, "list endpointbindings", "watch endpointbindings", "update endpointbindings/status",
			"list endpointpools", "watch endpointpools", "update endpointpools/status")
	}
	w.CP.AwaitRights(t, user, true, authorizationv1.ResourceAttributes{Group: "discovery.k8s.io", Resource: "endpointslices", Namespace: shop}, "list", "watch", "create", "update")
	w.CP.AwaitRights(t, user, false, authorizationv1.ResourceAttributes{Group: "discovery.k8s.io", Resource: "endpointslices", Namespace: platform}, "create", "update")
}

// fillsAService runs the daemon of the Deployment: it needs every right that the page
// gives, and the status needs those on the kinds.
func fillsAService(t *testing.T, w *world) {
	var nodes []string
	for i, address := range w.Addresses {
		nodes = append(nodes, fmt.Sprintf("{name: n%d, addresses: [%s]}", i, address))
	}
	w.applyText(t, `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {static: {nodes: [`+strings.Join(nodes, ", ")+`]}}
  subnets: [10.0.0.0/8]
  allow: [{namespaces: [shop], ports: ["8080"]}]
---
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointBinding
metadata: {name: web, namespace: shop}
spec: {pools: [{name: blue}], ports: [{name: http, port: 8080}]}
`)
	var pods []corev1.Pod
	stage.Until(t, "a Pod of the Deployment", func() bool {
		list, err := w.Client.CoreV1().Pods(platform).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		pods = list.Items
		return len(pods) > 0
	})
	// The bounds of the page do not have the addresses of this machine.
	p := w.Kubelet.Start(t, &pods[0], map[string]string{"BOUNDS_SUBNETS": "10.0.0.0/8", "BOUNDS_PORTS": "8080"})
	defer p.Stop(t)
	w.CP.Kubectl(t, "wait", "--for=condition=SourceReady", "--timeout=90s", "endpointpool/blue")
	w.CP.Kubectl(t, "--namespace", shop, "wait", "--for=condition=Ready", "--timeout=90s", "endpointbinding/web")
}

// applyText applies objects as an administrator of the cluster.
func (w *world) applyText(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	w.CP.Kubectl(t, "apply", "--filename", path)
}
