package chart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// userAgent is what the test calls itself where it is the daemon's ServiceAccount.
const userAgent = "chart-test"

// daemon is a client with the token of the daemon's ServiceAccount.
func (i *installation) daemon(t *testing.T) kubernetes.Interface {
	t.Helper()
	pods := i.pods(t)
	admin := i.CP.Config()
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: admin.Host, BearerToken: i.token(t, &pods[0]), QPS: -1, UserAgent: userAgent,
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// nothingBeyondTheRoles compares what the API server allows, here and elsewhere, with
// what the daemon's packages say that they need.
func nothingBeyondTheRoles(t *testing.T, i *installation) {
	defer i.deniedInFact(t)
	if i.version != helms[0] {
		return // the other renders the same, which another test shows
	}
	want := []string{
		"list services web", "watch services web",
		"list endpointslices.discovery.k8s.io", "watch endpointslices.discovery.k8s.io", "create endpointslices.discovery.k8s.io",
		"update endpointslices.discovery.k8s.io", // which, says the admission policy
		"create events.events.k8s.io",
		"create leases.coordination.k8s.io", "list leases.coordination.k8s.io " + release,
		"watch leases.coordination.k8s.io " + release, "update leases.coordination.k8s.io " + release,
		"list leases.coordination.k8s.io " + release + "-reached", "watch leases.coordination.k8s.io " + release + "-reached",
		"update leases.coordination.k8s.io " + release + "-reached",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, i.granted(t, i.user(), i.namespace, "default")); diff != "" {
		t.Errorf("rights (-needed +granted):\n%s", diff)
	}
}

// granted are the rights of a ServiceAccount beyond those of every other one, sorted.
// Rights in the first namespace have no prefix; those in the whole cluster are rights
// in each namespace.
func (i *installation) granted(t *testing.T, user string, namespaces ...string) []string {
	t.Helper()
	var all []string
	for n, namespace := range namespaces {
		got, common := i.rights(t, user, namespace), i.rights(t, "system:serviceaccount:"+i.namespace+":default", namespace)
		if len(common) == 0 {
			t.Fatalf("%s: every user may ask for its own rights, and got none", namespace)
		}
		for right := range got {
			if common[right] {
				continue
			}
			if n > 0 {
				right += fmt.Sprintf(" in namespace %q", namespace)
			}
			all = append(all, right)
		}
	}
	slices.Sort(all)
	return all
}

// rights asks the API server for all that a ServiceAccount of the release's namespace
// may do in a namespace. With RBAC alone the list is complete: the server decides by
// the same rules.
func (i *installation) rights(t *testing.T, user, namespace string) map[string]bool {
	t.Helper()
	config := i.CP.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + i.namespace, "system:authenticated"},
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}
	answer, err := client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status.Incomplete || answer.Status.EvaluationError != "" {
		t.Fatalf("the rights of %s: got an incomplete list: %s", user, answer.Status.EvaluationError)
	}
	all := map[string]bool{}
	for _, rule := range answer.Status.ResourceRules {
		for _, right := range rightsOf(rule) {
			all[right] = true
		}
	}
	for _, rule := range answer.Status.NonResourceRules {
		for _, verb := range rule.Verbs {
			for _, url := range rule.NonResourceURLs {
				all[verb+" "+url] = true
			}
		}
	}
	return all
}

// rightsOf writes a rule as one text for each verb, resource and name.
func rightsOf(rule authorizationv1.ResourceRule) (all []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""} // every name
	}
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					all = append(all, strings.TrimSpace(verb+" "+strings.TrimSuffix(resource+"."+group, ".")+" "+name))
				}
			}
		}
	}
	return all
}

// allowed asks the API server.
func (i *installation) allowed(t *testing.T, user string, asked authorizationv1.ResourceAttributes) bool {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               user,
		Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:" + i.namespace, "system:authenticated"},
		ResourceAttributes: &asked,
	}}
	answer, err := i.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Allowed
}

// deniedInFact tries some of it with the daemon's own token.
func (i *installation) deniedInFact(t *testing.T) {
	t.Helper()
	ctx, d := t.Context(), i.daemon(t)
	slices, core := d.DiscoveryV1().EndpointSlices(i.namespace), d.CoreV1()
	for what, try := range map[string]func() error{
		"delete its own slice": func() error { return slices.Delete(ctx, "web-remote", metav1.DeleteOptions{}) },
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
