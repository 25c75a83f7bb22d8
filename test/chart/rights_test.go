package chart_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// userAgent is what the test calls itself where it is the daemon's ServiceAccount.
const userAgent = "chart-test"

// daemon is a client with the token of the daemon's ServiceAccount.
func (i *installed) daemon(t *testing.T) kubernetes.Interface {
	t.Helper()
	pods := i.pods(t)
	admin := i.cp.Config()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: admin.Host, BearerToken: i.token(t, &pods[0]), QPS: -1, UserAgent: userAgent,
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// nothingBeyondTheRoles tries every verb on every resource that the server has,
// by name and without, here and elsewhere, and compares what is allowed with what
// the daemon's packages say that they need.
func nothingBeyondTheRoles(t *testing.T, i *installed) {
	defer i.deniedInFact(t)
	if i.version != helms[0] {
		return // the other renders the same, which another test shows
	}
	want := map[string]bool{}
	for _, right := range []string{
		"list services web", "watch services web",
		"list endpointslices", "watch endpointslices", "create endpointslices",
		"list endpointslices web-remote", "watch endpointslices web-remote",
		"list endpointslices other", "watch endpointslices other",
		"update endpointslices web-remote", "update endpointslices web-remote-20",
		"list endpointslices web-remote-20", "watch endpointslices web-remote-20",
		"list endpointslices web-remote-21", "watch endpointslices web-remote-21",
		"create events.events.k8s.io",
		"create leases", "list leases " + release, "watch leases " + release, "update leases " + release,
	} {
		want[right] = true
	}
	got := i.granted(t, i.user(), []string{i.namespace, "default", ""}, map[string][]string{
		"services": {"web"}, "endpointslices": {"web-remote", "web-remote-20", "web-remote-21"}, "leases": {release},
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("rights (-needed +granted):\n%s", diff)
	}
}

// granted are the rights of a user beyond those of every ServiceAccount: each verb on
// each resource, without a name, with the name other and with the names given. Rights
// in the first namespace have no prefix.
func (i *installed) granted(t *testing.T, user string, namespaces []string, named map[string][]string) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for _, resource := range i.resources(t) {
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate", "*"} {
			for _, name := range append([]string{"", "other"}, named[resource.Resource]...) {
				// The API server asks about a create without a name.
				if verb == "create" && name != "" {
					continue
				}
				asked := resource
				asked.Verb, asked.Name = verb, name
				for _, namespace := range namespaces {
					asked.Namespace = namespace
					if !i.allowed(t, user, asked) || i.allowed(t, "system:serviceaccount:"+i.namespace+":default", asked) {
						continue
					}
					right := strings.TrimSpace(verb + " " + resourceName(asked) + " " + name)
					if namespace != namespaces[0] {
						right += fmt.Sprintf(" in namespace %q", namespace)
					}
					got[right] = true
				}
			}
		}
	}
	return got
}

// resources are all resources of the server, subresources included.
func (i *installed) resources(t *testing.T) []authorizationv1.ResourceAttributes {
	t.Helper()
	_, lists, err := i.client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[authorizationv1.ResourceAttributes]bool{}
	for _, list := range lists {
		group, _, ok := strings.Cut(list.GroupVersion, "/")
		if !ok {
			group = ""
		}
		for _, r := range list.APIResources {
			name, sub, _ := strings.Cut(r.Name, "/")
			found[authorizationv1.ResourceAttributes{Group: group, Resource: name, Subresource: sub}] = true
		}
	}
	if len(found) < 60 {
		t.Fatalf("got %d resources, want all", len(found))
	}
	return slices.Collect(maps.Keys(found))
}

func resourceName(a authorizationv1.ResourceAttributes) string {
	name := a.Resource
	if a.Subresource != "" {
		name += "/" + a.Subresource
	}
	if a.Resource == "events" {
		name += "." + a.Group
	}
	return name
}

// allowed asks the API server.
func (i *installed) allowed(t *testing.T, user string, asked authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + i.namespace, "system:authenticated"},
		ResourceAttributes: &asked,
	}}
	answer, err := i.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// deniedInFact tries some of it with the daemon's own token.
func (i *installed) deniedInFact(t *testing.T) {
	t.Helper()
	ctx, d := t.Context(), i.daemon(t)
	slices, core := d.DiscoveryV1().EndpointSlices(i.namespace), d.CoreV1()
	for what, try := range map[string]func() error{
		"delete its own slice": func() error { return slices.Delete(ctx, "web-remote", metav1.DeleteOptions{}) },
		"update another slice": func() error {
			_, err := slices.Update(ctx, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.UpdateOptions{})
			return err
		},
		"patch its own slice": func() error {
			_, err := slices.Patch(ctx, "web-remote", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
			return err
		},
		"list slices elsewhere": func() error {
			_, err := d.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{})
			return err
		},
		"list Services": func() error { _, err := core.Services(i.namespace).List(ctx, metav1.ListOptions{}); return err },
		"update its Service": func() error {
			_, err := core.Services(i.namespace).Update(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.UpdateOptions{})
			return err
		},
		"read its Secret": func() error {
			_, err := core.Secrets(i.namespace).Get(ctx, "ionos-token", metav1.GetOptions{})
			return err
		},
		"list nodes": func() error { _, err := core.Nodes().List(ctx, metav1.ListOptions{}); return err },
		"take another lease": func() error {
			_, err := d.CoordinationV1().Leases(i.namespace).Get(ctx, "other", metav1.GetOptions{})
			return err
		},
	} {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want it forbidden", what, err)
		}
	}
}
