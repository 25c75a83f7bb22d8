package controlplane

import (
	"net/http"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// AwaitRights waits until the user has the rights, or has lost them: the API server
// applies new Roles and bindings a moment after it has stored them. An empty
// namespace means the whole cluster.
func (cp *ControlPlane) AwaitRights(t testing.TB, user string, granted bool, resource authorizationv1.ResourceAttributes, verbs ...string) {
	t.Helper()
	config := cp.Config()
	// With a proxy function the connection is not shared. It ends here, so a test
	// that looks for leaks does not find it.
	config.Proxy = http.ProxyFromEnvironment
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.CloseIdleConnections()
	client, err := kubernetes.NewForConfigAndClient(config, connection)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range verbs {
		asked := resource
		asked.Verb = verb
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &asked}}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil {
				t.Fatalf("ask whether %s may %s %s: %v", user, verb, resource.Resource, err)
			}
			if answer.Status.Allowed == granted {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s may %s %s: still %t after a minute", user, verb, resource.Resource, !granted)
			}
		}
	}
}
