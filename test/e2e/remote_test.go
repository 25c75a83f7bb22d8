package e2e_test

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// remote is the cluster that holds the nodes of a world.
type remote struct {
	*world

	cp         *controlplane.ControlPlane
	client     kubernetes.Interface
	user       string
	kubeconfig string
}

// newRemote makes a Node for each node of the world. The world's daemon watches them
// with the rights that docs/how-to/kubernetes-source.md names. The poll interval is
// long: a change that is seen in time came from the watch.
func newRemote(t *testing.T, cp *controlplane.ControlPlane, w *world) *remote {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{world: w, cp: cp, client: client, user: "watcher", kubeconfig: filepath.Join(t.TempDir(), "remote")}
	r.grantNodes()
	r.login("")
	for _, n := range w.nodes {
		r.create(n.Name, n.IP)
	}
	w.env["SOURCE_KIND"], w.env["SOURCE_POLL_INTERVAL"] = "kubernetes", "1h"
	w.env["SECURED_KUBECONFIG"] = r.kubeconfig
	return r
}

func (r *remote) grantNodes() {
	r.t.Helper()
	meta := metav1.ObjectMeta{Name: r.user}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}
	if _, err := r.client.RbacV1().ClusterRoles().Create(r.t.Context(), role, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: r.user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: r.user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := r.client.RbacV1().ClusterRoleBindings().Create(r.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// login writes the daemon's kubeconfig: with the token, or with a certificate.
func (r *remote) login(token string) {
	r.t.Helper()
	const name = "remote"
	config := r.cp.UserConfig(r.user)
	user := &clientcmdapi.AuthInfo{Token: token}
	if token == "" {
		user = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	}
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = user
	if err := clientcmd.WriteToFile(*file, r.kubeconfig); err != nil {
		r.t.Fatal(err)
	}
}

// create makes a ready Node.
func (r *remote) create(name, ip string) {
	r.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Spec.ProviderID = "ionos://6f1d2c3b-0000-4000-8000-" + strings.ReplaceAll(name, "worker-10-0-0-", "0000000000")
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: ip}}
	condition(node, corev1.ConditionTrue)
	if _, err := r.client.CoreV1().Nodes().Create(r.t.Context(), node, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func condition(node *corev1.Node, status corev1.ConditionStatus) {
	reasons := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
	}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, Reason: reasons[status], LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
	}}
}

func (r *remote) remove(name string) {
	r.t.Helper()
	if err := r.client.CoreV1().Nodes().Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// edit changes labels or spec.
func (r *remote) edit(name string, change func(*corev1.Node)) {
	r.t.Helper()
	node, err := r.client.CoreV1().Nodes().Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	change(node)
	if _, err := r.client.CoreV1().Nodes().Update(r.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

// report changes the status, as a kubelet does.
func (r *remote) report(name string, change func(*corev1.Node)) {
	r.t.Helper()
	node, err := r.client.CoreV1().Nodes().Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	change(node)
	if _, err := r.client.CoreV1().Nodes().UpdateStatus(r.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *remote) readiness(name string, status corev1.ConditionStatus) {
	r.t.Helper()
	r.report(name, func(n *corev1.Node) { condition(n, status) })
}

func (r *remote) address(name, ip string) {
	r.t.Helper()
	r.report(name, func(n *corev1.Node) { n.Status.Addresses[1].Address = ip })
}

// announced sets what the autoscaler sets to announce the deletion of a node.
func announced(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
}

func unannounced(n *corev1.Node) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "ToBeDeletedByClusterAutoscaler" })
}

// asked returns what the daemon asked a server for so far, apart from Events and from
// watches, which are opened again each minute.
func asked(cp *controlplane.ControlPlane, user string) []controlplane.AuditEvent {
	return slices.DeleteFunc(cp.Audit(), func(e controlplane.AuditEvent) bool {
		return e.User != user || e.Resource == "events" || e.Verb == "watch"
	})
}

// wantExplained checks that explain names the reason and says the words.
func (r *remote) wantExplained(subject string, words ...string) {
	r.t.Helper()
	got := r.command(nil, "explain", subject)
	for _, word := range words {
		if !strings.Contains(got.stdout, word) {
			r.t.Errorf("explain %s: got no %q in\n%s%s", subject, word, got.stdout, got.stderr)
		}
	}
}

// spare is a backend of no node.
func (r *remote) spare(addr netip.Addr) string {
	r.t.Helper()
	b := &backend{addr: addr}
	b.start(r.t)
	r.t.Cleanup(b.kill)
	return addr.String()
}

// pause is longer than the least time between two writes of one slice.
func pause() { <-time.After(1100 * time.Millisecond) }
