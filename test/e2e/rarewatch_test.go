package e2e_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// promised is within which every surface says that a watch is refused, and that it is
// over. It is the promise itself (contract 36), so here time is measured. Prometheus
// needs 45 s more for the alert, which makes 90.
const promised = 45 * time.Second

// inTime fails the test if it takes longer than promised to do all of it.
func inTime(t *testing.T, what string, all func()) {
	t.Helper()
	began := time.Now()
	all()
	wantWithin(t, "to say on every surface "+what, began, time.Now(), promised)
}

// theRightToWatchIsTaken: no other event shows the loss. Health checks still decide.
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
	before := len(asked(w.cp, w.user))
	inTime(t, "that the right is gone", func() {
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
		if strings.Contains(text, "ionos_endpointslice_store_errors_total 0\n") || !strings.Contains(text, problem("StoreUnavailable")+" 1\n") || !strings.Contains(text, problem("StoreStale")+" 1\n") {
			t.Error("no metric says it")
		}
	})
	if got := asked(w.cp, w.user)[before:]; len(got) != 0 {
		t.Errorf("got the requests %+v at rest, want none but watches", got)
	}
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	inTime(t, "that it is over", func() {
		w.setRules(role.Rules)
		s.says("slices can be loaded again")
		w.awaitEvent("StoreRecovered", 1)
		w.until(func() bool { return s.status().Store.LastError == "" }, func() string { return "the status still says it" })
		w.until(func() bool {
			return strings.Contains(s.get(s.metrics, "/metrics"), problem("StoreStale")+" 0\n")
		}, func() string { return "the metric still says it" })
	})
	for _, reason := range []string{"StoreUnavailable", "StoreRecovered"} {
		if got := w.told(reason); len(got) != 1 {
			t.Errorf("got Events %s %q, want one", reason, got)
		}
	}
}

// problem is the series that counts the Services with a problem.
func problem(kind string) string {
	return `ionos_endpointslice_services_with_problem{kind="` + kind + `"}`
}

// theRightOnNodesIsTaken is the same at the remote cluster.
func theRightOnNodesIsTaken(t *testing.T, r *remote) {
	s := newSurfaces(r.start())
	r.wantPublished(r.all())
	before := len(asked(r.cp, r.user))
	roles := r.client.RbacV1().ClusterRoles()
	role, err := roles.Get(t.Context(), r.user, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set := func(granted bool, verbs ...string) {
		t.Helper()
		role = role.DeepCopy()
		role.Rules[0].Verbs = verbs
		if role, err = roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.cp.AwaitRights(t, r.user, granted, authorizationv1.ResourceAttributes{Resource: "nodes"}, "list", "watch")
	}
	inTime(t, "that the right is gone", func() {
		set(false, "get")
		if line := s.says("source read failed; endpoints stay published, and health checks go on"); !strings.Contains(line["error"].(string), "forbidden") {
			t.Errorf("got the line %v, want that it is forbidden", line)
		}
		if note := r.awaitEvent("SourceUnavailable", 1); !strings.Contains(note, "get, list and watch on nodes") {
			t.Errorf("got the note %q, want the remedy", note)
		}
		if got := s.status(); got.Healthy || !strings.Contains(got.Source.LastError, "forbidden") {
			t.Errorf("got the status %+v, want the trouble of the source in it", got)
		}
		if page := s.get(s.admin, "/"); !strings.Contains(page, "forbidden") {
			t.Error("the page does not say it")
		}
		if text := s.get(s.metrics, "/metrics"); !failedReads.MatchString(text) {
			t.Error("no metric says it")
		}
	})
	if got := asked(r.cp, r.user)[before:]; len(got) != 0 {
		t.Errorf("got the requests %+v at rest, want none but watches", got)
	}
	r.nodes[0].backends[0].kill()
	r.wantPublished(r.all("down"))
	inTime(t, "that it is over", func() {
		set(true, "get", "list", "watch")
		s.says("source recovered")
		r.awaitEvent("SourceRecovered", 1)
		r.until(func() bool { return s.status().Source.LastError == "" }, func() string { return "the status still says it" })
	})
	for _, reason := range []string{"SourceUnavailable", "SourceRecovered"} {
		if got := r.told(reason); len(got) != 1 {
			t.Errorf("got Events %s %q, want one", reason, got)
		}
	}
}

// failedReads is the line of the metric that counts them.
var failedReads = regexp.MustCompile(`ionos_endpointslice_source_reads_total\{[^}]*result="error"[^}]*\} [1-9]`)

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
