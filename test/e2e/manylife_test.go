package e2e_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// grantIn gives the program's user the rights of a namespace that documents name.
func (w *world) grantIn(namespace string) {
	w.t.Helper()
	other := *w
	other.namespace = namespace
	other.grant()
}

// grantAll gives the user rights in the whole cluster, and returns what takes them away.
func (w *world) grantAll(name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.t.Helper()
	rbac, meta := w.client.RbacV1(), metav1.ObjectMeta{Name: w.user + "-" + name}
	_, err := rbac.ClusterRoles().Create(w.t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if err == nil {
		_, err = rbac.ClusterRoleBindings().Create(w.t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: w.user, APIGroup: rbacv1.GroupName}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	await := func(granted bool) {
		for _, rule := range rules {
			w.cp.AwaitRights(w.t, w.user, granted, authorizationv1.ResourceAttributes{Group: rule.APIGroups[0], Resource: rule.Resources[0]}, rule.Verbs...)
		}
	}
	await(true)
	return func() {
		if err := rbac.ClusterRoleBindings().Delete(w.t.Context(), meta.Name, metav1.DeleteOptions{}); err != nil {
			w.t.Fatal(err)
		}
		await(false)
	}
}

func listed(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func standbyOfMany(t *testing.T, p *platform) {
	tm := newTeam(t, p.world, 2)
	p.env["LEADER_ELECTION_NAMESPACE"] = p.namespace
	if p.applied {
		for _, r := range tm.replicas {
			w := *p.world
			w.user = r.user
			(&platform{world: &w}).grantKinds()
		}
	}
	leader := tm.run(0)
	leader.says("leading")
	p.want()
	p.wantSettled()
	told := len(tm.statuses())
	tm.run(1).says("standing by")
	tm.wantStandby(tm.replicas[1])
	leader.stop()
	heir, _ := tm.successor()
	heir.says("slices in namespaces that no document names cannot be looked for; if there are any, they stay as they are and are not checked")
	p.nodes[0].backends[0].kill()
	p.want("down")
	if p.applied {
		p.untilSaid("web", "True EndpointsReady: 2 of 3 endpoints are ready")
		p.untilSaid("both", "True EndpointsReady: 4 of 5 endpoints are ready")
		if got := tm.statuses()[told:]; len(got) != 2 {
			t.Errorf("got %d writes of statuses since the leader had nothing more to say, want 2: %+v", len(got), got)
		}
	}
	tm.wantOneWriter(4 + 2)
}

func dryRunOfMany(t *testing.T, p *platform) {
	d := p.start("DRY_RUN=true")
	for range 4 {
		d.says("dry run, slice not written")
	}
	if got := p.slices(); len(got) > 0 {
		t.Errorf("got %d slices, want none", len(got))
	}
	p.nodes[0].backends[0].kill()
	for d.says("endpoint changed")["to"] != "down" { // by then it has gone on for seconds
	}
	if writes, events := p.writes(), p.events(); len(writes) > 0 || len(events) > 0 {
		t.Errorf("got writes %v and Events %v, want none", writes, events)
	}
	d.stop()
	p.nodes[0].backends[0].start(t)
	p.start()
	p.want()
}

// label gives the namespace of the world a label, or takes it away.
func (p *platform) label(value string) {
	p.t.Helper()
	patch := `{"metadata":{"labels":{"tier":null}}}`
	if value != "" {
		patch = fmt.Sprintf(`{"metadata":{"labels":{"tier":%q}}}`, value)
	}
	if _, err := p.client.CoreV1().Namespaces().Patch(p.t.Context(), p.namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func labelsComeAndGo(t *testing.T, p *platform) {
	p.bound("*")
	revoke := p.grantAll("namespaces", listed("", "namespaces", "list"))
	text := p.poolText("gold", p.green, "[elsewhere]", "  releaseAfter: 1s\n")
	p.write("gold.yaml", strings.Replace(text, "namespaces: [elsewhere]", "namespaceSelector: {matchLabels: {tier: "+p.namespace+"}}", 1))
	p.asks("rich", "gold")
	d := p.start()
	for d.says("not granted")["service"] != "rich" {
	}
	p.wantTold("rich", "False PoolNotAllowed: ")
	for range 2 {
		p.label(p.namespace)
		p.wantStates("rich", "gold", p.green)
		p.label("")
		p.wantStates("rich", "gold", nil)
	}
	p.label(p.namespace)
	p.wantStates("rich", "gold", p.green)
	revoke()
	p.label("")
	d.says("the labels of namespaces cannot be read, so no Service vanishes")
	p.green[0].backends[0].kill()
	p.wantStates("rich", "gold", p.green, "down")
	p.wantStates("web", "blue", p.nodes)
	p.wantTold("rich", "True Accepted: ")
}

// forgottenNamespace: no document names the namespace any more when the program starts.
// Its endpoints are checked, and go when their time is over.
func forgottenNamespace(t *testing.T, p *platform) {
	p.seesAll = true
	p.grantAll("slices", listed("discovery.k8s.io", "endpointslices", "list", "watch"), listed("", "services", "list", "watch"))
	d := p.start()
	p.want()
	d.stop()
	p.write("blue.yaml", p.poolText("blue", p.nodes, "[elsewhere]", "  releaseAfter: 10s\n"))
	p.write("green.yaml", p.poolText("green", p.green, "[elsewhere]", "  releaseAfter: 10s\n"))
	for _, name := range []string{"web", "both"} {
		if err := os.Remove(filepath.Join(p.folder, "binding-"+name+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	p.nodes[0].backends[0].kill()
	p.start()
	p.wantStates("web", "blue", p.nodes, "down")
	p.wantStates("both", "blue", p.nodes, "down")
	p.wantStates("web", "blue", nil)
	p.wantStates("both", "green", nil)
	p.wantStates("shop", "green", nil)
}

// servicesOfOneCannotBeListed: slices in a namespace show a target, and the Services there
// cannot be listed. The group of its pool waits for the others
// only.
func servicesOfOneCannotBeListed(t *testing.T, p *platform) {
	p.grantAll("slices", listed("discovery.k8s.io", "endpointslices", "list", "watch"))
	there := p.neighbour("left", nil)
	left := sliceAt("left.green", "left", "ionos-endpointslice-controller", "green", netip.MustParseAddr(p.green[0].IP), port)
	if _, err := p.client.DiscoveryV1().EndpointSlices(there).Create(t.Context(), left, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.write("green.yaml", p.poolText("green", p.green, "["+p.namespace+", "+there+"]", ""))
	p.start()
	p.want()
}

// credentialsRotate: the credentials of a pool come after the program started, and are
// replaced by others while it runs.
func credentialsRotate(t *testing.T, p *platform) {
	credentials := t.TempDir()
	remote := func(i int) (kubeconfig []byte, revoke func()) {
		user := *p.world
		user.user = fmt.Sprintf("%s-remote-%d", p.user, i)
		revoke = user.grantAll("nodes", listed("", "nodes", "get", "list", "watch"))
		text, err := os.ReadFile(p.cp.UserKubeconfig(t, user.user))
		if err != nil {
			t.Fatal(err)
		}
		return text, revoke
	}
	login := func(kubeconfig []byte) {
		path := filepath.Join(credentials, "blue", "kubeconfig")
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path+".next", kubeconfig, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".next", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	create := func(n node) {
		object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{"world": p.namespace}}}
		object.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.IP}}
		condition(object, corev1.ConditionTrue)
		if _, err := p.client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range p.nodes {
		create(n)
	}
	text := p.poolText("blue", nil, "["+p.namespace+"]", "  credentials: blue\n")
	start, end := strings.Index(text, "  source:"), strings.Index(text, "  subnets:")
	p.write("blue.yaml", text[:start]+"  source: {kubernetes: {nodeSelector: \"world="+p.namespace+"\"}}\n"+text[end:])
	d := p.start("CREDENTIALS_DIR=" + credentials)
	p.wantStates("shop", "green", p.green)
	for d.says("source read failed; endpoints stay published, and health checks go on")["pool"] != "blue" {
	}
	first, revoke := remote(1)
	login(first)
	p.want()
	second, _ := remote(2)
	login(second)
	revoke()
	grown := p.newNode(netns.Addresses(t, 1)[0])
	p.nodes = append(p.nodes, grown)
	create(grown)
	p.wantStates("web", "blue", p.nodes)
	grown.backends[0].kill()
	p.wantStates("web", "blue", p.nodes, "ready", "ready", "ready", "down")
}

// restartWithBrokenDocuments: what a document says that is wrong at the start is not
// known, so nothing of it changes; everything else goes on.
func restartWithBrokenDocuments(t *testing.T, p *platform) {
	nobody := p.poolText("nobody", []node{{Name: "a", IP: netip.MustParseAddr("10.0.0.250").String()}}, "[]", "")
	p.write("nobody.yaml", strings.Replace(nobody, "  allow: [{namespaces: [], ports: [\"8080\"]}]\n", "", 1))
	p.asks("lonely", "nobody")
	d := p.start()
	p.want()
	for d.says("not granted")["pool"] != "nobody" {
	}
	d.stop()
	before := p.slicesWritten()
	says := p.breaks()
	d = p.start()
	d.says(says)
	p.wantTold("web", "False Invalid: ")
	p.green[0].backends[0].kill()
	p.wantStates("shop", "green", p.green, "down")
	p.wantStates("both", "green", p.green, "down")
	p.wantStates("web", "blue", p.nodes)
	p.wantStates("both", "blue", p.nodes)
	p.wantSlicesWritten(before, 2)
	p.green[0].backends[0].start(t)
	p.wantStates("shop", "green", p.green)
	p.wantStates("both", "green", p.green)
	p.pool("blue", p.nodes, "  releaseAfter: 5m\n")
	p.binding("web", "blue")
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.wantSlicesWritten(before, 2+2+2)
	p.wantTold("web", "True Accepted: ")
}
