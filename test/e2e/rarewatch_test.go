package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// theRightToWatchIsTaken: no other event shows the loss. Every surface reports it
// within 90 s (contract 36), the bound of every wait here. Health checks still
// decide.
func theRightToWatchIsTaken(t *testing.T, w *world) {
	s := newSurfaces(w.start())
	w.wantPublished(w.all())
	role, err := w.client.RbacV1().Roles(w.namespace).Get(t.Context(), "daemon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var left []rbacv1.PolicyRule
	var lost []authorizationv1.ResourceAttributes
	for _, rule := range role.Rules {
		reads := func(verb string) bool { return verb == "list" || verb == "watch" }
		for _, asked := range attributes(w.namespace, rule) {
			if reads(asked.Verb) {
				lost = append(lost, asked)
			}
		}
		rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), reads)
		if len(rule.Verbs) > 0 {
			left = append(left, rule)
		}
	}
	w.setRules(left, lost...)
	if line := s.says("cannot load the slices, trying again"); !strings.Contains(line["error"].(string), "forbidden") {
		t.Errorf("got the line %v, want that it is forbidden", line)
	}
	if note := w.awaitEvent("StoreUnavailable", 1); !strings.Contains(note, "forbidden") {
		t.Errorf("got the note %q, want that it is forbidden", note)
	}
	if got := s.status(); got.Healthy || !strings.Contains(got.Store.LastError, "forbidden") {
		t.Errorf("got the status %+v, want the trouble of the store in it", got)
	}
	if page := s.get(s.admin, "/"); !strings.Contains(page, "forbidden") {
		t.Error("the page does not say it")
	}
	text := s.get(s.metrics, "/metrics")
	if strings.Contains(text, "ionos_endpointslice_store_errors_total 0\n") || !strings.Contains(text, "ionos_endpointslice_store_unavailable 1\n") {
		t.Error("no metric says it")
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	w.setRules(role.Rules)
	s.says("slices can be loaded again")
	w.awaitEvent("StoreRecovered", 1)
	w.until(func() bool { return s.status().Store.LastError == "" }, func() string { return "the status still says it" })
	w.until(func() bool {
		return strings.Contains(s.get(s.metrics, "/metrics"), "ionos_endpointslice_store_unavailable 0\n")
	}, func() string {
		return "the metric still says it"
	})
}

// theKubeconfigIsReplaced: the credentials from the start are no longer valid.
func theKubeconfigIsReplaced(t *testing.T, w *world) {
	path := w.onServer(func(text string) string { return text })
	w.start("KUBECONFIG=" + path)
	w.wantPublished(w.all())
	bindings := w.client.RbacV1().RoleBindings(w.namespace)
	binding, err := bindings.Get(t.Context(), "daemon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := w.user + "-next"
	binding.Subjects[0].Name = next
	if _, err := bindings.Update(t.Context(), binding, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	asked := authorizationv1.ResourceAttributes{Namespace: w.namespace, Group: "discovery.k8s.io", Resource: "endpointslices"}
	w.cp.AwaitRights(t, next, true, asked, "update")
	w.cp.AwaitRights(t, w.user, false, asked, "update")
	text, err := os.ReadFile(w.cp.UserKubeconfig(t, next))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".next", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
}
