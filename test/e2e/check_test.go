package e2e_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestCheck puts each mistake into a world of its own, on one API server, and
// lets check find it, and nothing else.
func TestCheck(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for _, store := range []string{"client-go", "kubectl"} {
		t.Run(store, func(t *testing.T) {
			rules := chartRules(t, store)
			run := func(name string, test func(*testing.T, *world)) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, cp, store)
					w.env["LEADER_ELECTION"], w.env["LEADER_ELECTION_NAME"] = "true", leaseName
					w.setRules(rules)
					test(t, w)
				})
			}
			run("PassesWithExactlyTheRightsOfTheChart", passesWithTheRightsOfTheChart)
			run("NamesEachRightThatIsMissing", func(t *testing.T, w *world) { namesEachMissingRight(t, w, rules) })
			for _, m := range mistakes(store) {
				run(m.name, m.test)
			}
			if store != "client-go" {
				return // what follows asks no API server
			}
			run("AllOutsideTheSubnet", allOutside)
			run("AllSilent", allSilent)
			run("AllRefuse", allRefuse)
		})
	}
	t.Run("TheRightsInTheRemoteCluster", func(t *testing.T) {
		t.Parallel()
		remoteRights(t, newWorld(t, cp, "client-go"))
	})
}

// passesWithTheRightsOfTheChart: nothing fails and nothing is odd, before the
// daemon has written and after, and check has changed nothing.
func passesWithTheRightsOfTheChart(t *testing.T, w *world) {
	for _, when := range []string{"before the first write", "after it"} {
		before := w.writes()
		got := w.checked()
		if got.code != 0 || len(got.with("fail"))+len(got.with("warn")) > 0 {
			t.Errorf("%s: got status %d, failures %+v and warnings %+v, want none", when, got.code, got.with("fail"), got.with("warn"))
		}
		for _, c := range got.with("skip") {
			// Between two runs no replica leads.
			if c.ID != "api-replicas" && c.ID != "service-clients" && c.ID != "slices-kept" && (when == "after it" || c.ID != "slices-ours") {
				t.Errorf("%s: got %+v skipped", when, c)
			}
		}
		for _, e := range w.writes()[len(before):] {
			if !strings.HasSuffix(e.Resource, "reviews") {
				t.Errorf("%s: check changed something: %+v", when, e)
			}
		}
		if once := w.command(nil, "run", "--once"); once.code != 0 {
			t.Fatalf("run --once: %+v", once)
		}
	}
	w.writeInventory(append(w.nodes, node{Name: "resting", IP: "10.0.0.250", Worker: true}))
	text := w.command(nil, "check")
	for _, says := range []string{"4 nodes read", "usable nodes: 3 of 4 nodes", "3 endpoints", "NodeNotReady", w.user} {
		if !strings.Contains(text.stdout, says) {
			t.Errorf("got no %q in\n%s", says, text.stdout)
		}
	}
}

// namesEachMissingRight takes each single right away, and nothing else.
func namesEachMissingRight(t *testing.T, w *world, full []rbacv1.PolicyRule) {
	for i, rule := range full {
		for _, verb := range rule.Verbs {
			less := slices.Clone(full)
			less[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb })
			lost := attributes(w.namespace, rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames, Verbs: []string{verb}})
			w.setRules(slices.DeleteFunc(less, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 }), lost...)
			got := w.checked()
			result, code := "fail", 1
			if rule.Resources[0] == "events" {
				result, code = "warn", 0
			}
			found := slices.DeleteFunc(got.with(result), func(c checkItem) bool { return c.ID == "api-kubectl" })
			if got.code != code || len(found) != 1 || found[0].ID != "rights-granted" || !strings.HasPrefix(found[0].Subject, verb+" "+rule.Resources[0]) ||
				!strings.Contains(found[0].Message, w.user) ||
				!strings.Contains(found[0].Remedy, fmt.Sprintf("{apiGroups: [%q], resources: [%q], verbs: [%q]}", rule.APIGroups[0], rule.Resources[0], verb)) {
				t.Errorf("without %s %s: got status %d and %+v, want %d and that right alone", verb, rule.Resources[0], got.code, found, code)
			}
		}
	}
}

func remoteRights(t *testing.T, w *world) {
	r := newRemote(t, w.cp, w)
	asked := attributes("", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}})
	for _, a := range asked {
		w.cp.AwaitRights(t, r.user, true, a, a.Verb)
	}
	if got := w.checked(); got.code != 0 || !strings.Contains(got.stdout, "may list, watch nodes") {
		t.Errorf("got status %d and %s, want 0 and both rights", got.code, got.stdout)
	}
	role, err := r.client.RbacV1().ClusterRoles().Get(t.Context(), r.user, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules[0].Verbs = []string{"get", "list"}
	if _, err := r.client.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.cp.AwaitRights(t, r.user, false, asked[1], "watch")
	got := w.checked()
	rights := slices.DeleteFunc(got.with("fail"), func(c checkItem) bool { return c.ID != "source-right" })
	if got.code != 1 || len(rights) != 1 || rights[0].Subject != "watch nodes in the remote cluster" || !strings.Contains(rights[0].Remedy, "ClusterRole") {
		t.Errorf("got status %d and %+v, want 1 and the right to watch", got.code, rights)
	}
}

// mistake is one thing that is wrong with a world.
type mistake struct {
	name string
	// make makes the mistake and returns changes of the environment.
	make func(*world) []string
	// result is fail by default; id is the check that finds it, with the words.
	result, id string
	says       []string
}

// test makes the mistake and wants it found, and nothing else.
func (m mistake) test(t *testing.T, w *world) {
	changes := m.make(w)
	got := w.checked(changes...)
	result, code := m.result, 0
	switch {
	case result == "":
		result, code = "fail", 1
	case m.id == "configuration-valid":
		code = 2
	}
	if got.code != code {
		t.Errorf("got status %d, want %d: %s", got.code, code, got.stderr)
	}
	if result == "warn" && len(got.with("fail")) > 0 {
		t.Errorf("got failures %+v, want a warning", got.with("fail"))
	}
	// kubectl also reports a store that cannot be read.
	if m.id == "api-reachable" {
		got.Checks = slices.DeleteFunc(got.Checks, func(c checkItem) bool { return c.ID == "api-kubectl" })
	}
	got.wantOnly(t, result, m.id, m.says...)
	for _, secret := range []string{tokenCanary} {
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("the token shows up: %s%s", got.stdout, got.stderr)
		}
	}
}

// tokenCanary is a token that no chance text repeats.
const tokenCanary = "c4n4ry-Hq2Ls8Vd5Xp1Zt"

// mistakesOfTheConfiguration are about it, and about the source.
func mistakesOfTheConfiguration() []mistake {
	env := func(changes ...string) func(*world) []string { return func(*world) []string { return changes } }
	return []mistake{
		{name: "WrongConfiguration", make: env("TARGET_PORT=0"), result: "fail", id: "configuration-valid", says: []string{"TARGET_PORT"}},
		{name: "DryRun", make: env("DRY_RUN=true"), result: "warn", id: "configuration-unusual", says: []string{"writes nothing"}},
		{name: "NoHealthCheck", make: env("HEALTH_CHECK_MODE=off"), result: "warn", id: "configuration-unusual", says: []string{"HEALTH_CHECK_MODE=off"}},
		{name: "OneReplicaInAPod", make: env("LEADER_ELECTION=false", "KUBERNETES_SERVICE_HOST=10.96.0.1"), result: "warn", id: "configuration-unusual", says: []string{"LEADER_ELECTION"}},
		{name: "SourceUnreachable", id: "source-read", says: []string{"no such file"}, make: func(w *world) []string {
			if err := os.Remove(w.inventory); err != nil {
				w.t.Fatal(err)
			}
			return nil
		}},
		{name: "NoNodes", id: "nodes-usable", says: []string{"no node"}, make: func(w *world) []string {
			w.writeFile("[]")
			return nil
		}},
	}
}

// mistakesOfTheWay are about the way to the API server.
func mistakesOfTheWay() []mistake {
	return []mistake{
		{name: "APIServerAway", id: "api-reachable", says: []string{"refused"}, make: func(w *world) []string {
			return []string{w.kubeconfig(func(c *rest.Config) { c.Host = "https://127.0.0.1:9" })}
		}},
		{name: "WrongCredentials", id: "api-reachable", says: []string{"does not accept the credentials", "renew"}, make: func(w *world) []string {
			return []string{w.kubeconfig(func(c *rest.Config) { c.CertData, c.KeyData, c.BearerToken = nil, nil, tokenCanary })}
		}},
		{name: "WrongAuthority", id: "api-reachable", says: []string{"certificate"}, make: func(w *world) []string {
			return []string{w.kubeconfig(func(c *rest.Config) { c.CAData = nil })}
		}},
		{name: "NoKubeconfig", id: "api-reachable", says: []string{"/nonexistent/kubeconfig: no such file or directory; create it, or correct KUBECONFIG"}, make: func(*world) []string { return []string{"KUBECONFIG=/nonexistent/kubeconfig"} }},
		{name: "NotAKubeconfig", id: "api-reachable", says: []string{"parse"}, make: func(w *world) []string {
			path := w.inventory + ".kubeconfig"
			if err := os.WriteFile(path, []byte("users: ["+tokenCanary+": {"), 0o600); err != nil {
				w.t.Fatal(err)
			}
			return []string{"KUBECONFIG=" + path}
		}},
	}
}

// mistakes are the mistakes for which the store makes a difference.
func mistakes(store string) []mistake {
	all := slices.Concat(mistakesOfTheWay(), mistakesOfTheService())
	if store == "kubectl" {
		return append(all, mistake{
			name: "NoKubectl", id: "api-kubectl", says: []string{"/nonexistent/kubectl", "no such file"},
			make: func(*world) []string { return []string{"KUBECTL_PATH=/nonexistent/kubectl"} },
		})
	}
	return slices.Concat(all, mistakesOfTheConfiguration(), mistakesOfTheSlices(), mistakesOfTheNodes())
}
