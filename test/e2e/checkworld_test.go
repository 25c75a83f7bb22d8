package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// leaseName is the Lease of the worlds that are checked.
const leaseName = "web-lease"

// verdict is what one run of check came to.
type verdict struct {
	result
	Checks []checkItem
}

// checkItem is one check of the report, as docs/reference/check.md describes it.
type checkItem struct {
	ID, Area, Result, Subject, Message, Reason, Remedy, Link string
}

// checked runs check and reads its document.
func (w *world) checked(changes ...string) verdict {
	w.t.Helper()
	got := w.command(changes, "check", "-o", "json")
	v := verdict{result: got}
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil {
		w.t.Fatalf("%v: %+v", err, got)
	}
	return v
}

// with returns the checks that came to the result.
func (v verdict) with(result string) []checkItem {
	return slices.DeleteFunc(slices.Clone(v.Checks), func(c checkItem) bool { return c.Result != result })
}

// wantOnly checks that one mistake, and nothing else, came to the result: each
// item has the id, a message, a remedy and the link to the page, and the words
// stand in one of them.
func (v verdict) wantOnly(t *testing.T, result, id string, words ...string) {
	t.Helper()
	found := v.with(result)
	if len(found) == 0 {
		t.Errorf("nothing came to %q: %+v", result, v.Checks)
	}
	said := ""
	for _, c := range found {
		if c.ID != id || c.Message == "" || c.Remedy == "" || !strings.HasSuffix(c.Link, "/docs/reference/check.md#"+id) {
			t.Errorf("got %+v, want nothing but %s, with message, remedy and link", c, id)
		}
		said += c.Subject + " " + c.Message + " " + c.Remedy + "\n"
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			t.Errorf("got no %q in %s", word, said)
		}
	}
}

// chartRules returns the rules of the Roles that the Helm chart makes for a
// store.
func chartRules(t *testing.T, store string) []rbacv1.PolicyRule {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	render := exec.CommandContext(t.Context(), filepath.Join(dir, ".tools/bin/helm3"), "template", "web", filepath.Join(dir, "helm/ionos-endpointslice-controller"),
		"--namespace", "world", "--set", "image.tag=0.1.0", "--set", "controller.storeKind="+store, "--set", "controller.leaderElectionName="+leaseName,
		"--set", "controller.sourceKind=static,controller.staticNodes=w=10.0.0.1,controller.leaderElection=true,controller.targetServiceName=web",
		"--set-string", `controller.securedSubnetCidr=10.0.0.0/16\,fd00::/64`)
	render.Env = []string{"HOME=" + t.TempDir()}
	output, err := render.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v; the tools are built by make test\n%s", render.Args, err, output)
	}
	var rules []rbacv1.PolicyRule
	for document := range strings.SplitSeq(string(output), "\n---\n") {
		var role rbacv1.Role
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == "Role" {
			rules = append(rules, role.Rules...)
		}
	}
	if len(rules) < 5 {
		t.Fatalf("got %d rules from the chart, want those of both Roles:\n%s", len(rules), output)
	}
	return rules
}

// setRules sets the rules of the daemon's Role. It waits until the new rules and the
// loss of the old ones are effective.
func (w *world) setRules(rules []rbacv1.PolicyRule, lost ...authorizationv1.ResourceAttributes) {
	w.t.Helper()
	roles := w.client.RbacV1().Roles(w.namespace)
	role, err := roles.Get(w.t.Context(), "daemon", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	role.Rules = rules
	if _, err := roles.Update(w.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	for _, rule := range rules {
		for _, asked := range attributes(w.namespace, rule) {
			w.cp.AwaitRights(w.t, w.user, true, asked, asked.Verb)
		}
	}
	for _, asked := range lost {
		w.cp.AwaitRights(w.t, w.user, false, asked, asked.Verb)
	}
}

// attributes are the single rights of a rule.
func attributes(namespace string, rule rbacv1.PolicyRule) []authorizationv1.ResourceAttributes {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var all []authorizationv1.ResourceAttributes
	for _, verb := range rule.Verbs {
		for _, name := range names {
			all = append(all, authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0], Verb: verb, Name: name,
			})
		}
	}
	return all
}

// kubeconfig writes one for the daemon's user with a change, and returns it as
// an entry of the environment.
func (w *world) kubeconfig(change func(*rest.Config)) string {
	w.t.Helper()
	config := w.cp.UserConfig(w.user)
	change(config)
	const name = "changed"
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken}
	path := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		w.t.Fatal(err)
	}
	return "KUBECONFIG=" + path
}
