package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// waitTimeout bounds every wait of a test; none is expected to take so long.
const waitTimeout = 90 * time.Second

// world is one namespace with a Service, an inventory file and backends.
type world struct {
	t         *testing.T
	cp        *controlplane.ControlPlane
	client    kubernetes.Interface
	store     string
	namespace string
	user      string
	inventory string
	nodes     []node
	env       map[string]string
}

// node is a worker with a backend.
type node struct {
	Name     string   `json:"name"`
	IP       string   `json:"private_ip,omitempty"`
	IPs      []string `json:"private_ips,omitempty"`
	Ready    bool     `json:"ready"`
	Worker   bool     `json:"worker"`
	Leaving  bool     `json:"leaving,omitempty"`
	backends []*backend
}

// backend listens on one address.
type backend struct {
	addr     netip.Addr
	listener net.Listener
}

// namespaces counts the worlds.
var namespaces atomic.Int64

// port is where all backends listen.
const port = 8080

// newWorld makes a namespace with the Service "web" and its port "http", a user with
// the rights that the README names, and three nodes with backends.
func newWorld(t *testing.T, cp *controlplane.ControlPlane, store string) *world {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	n := namespaces.Add(1)
	w := &world{
		t: t, cp: cp, client: client, store: store,
		namespace: fmt.Sprintf("world-%d", n), user: fmt.Sprintf("daemon-%d", n),
		inventory: filepath.Join(t.TempDir(), "inventory.json"),
	}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.grant()
	w.createService()
	for _, addr := range netns.Addresses(t, 3) {
		w.nodes = append(w.nodes, w.newNode(addr))
	}
	w.writeInventory(w.nodes)
	w.env = map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": filepath.Join(filepath.Dir(built.Program(t)), "home"),
		"SOURCE_KIND": "file", "INVENTORY_FILE_PATH": w.inventory, "SOURCE_POLL_INTERVAL": "500ms",
		"SECURED_SUBNET_CIDR": "10.0.0.0/16,fd00::/64",
		"TARGET_NAMESPACE":    w.namespace, "TARGET_SERVICE_NAME": "web", "TARGET_PORT": fmt.Sprint(port),
		"STORE_KIND": store, "KUBECONFIG": cp.UserKubeconfig(t, w.user), "KUBECTL_PATH": cp.KubectlPath(),
		"LOG_LEVEL": "debug", "ADMIN_ADDRESS": "127.0.0.1:0", "METRICS_ADDRESS": "127.0.0.1:0",
	}
	if store == "kubectl" {
		// Every scheduled read looks at the slices too, by two runs of kubectl.
		w.env["SOURCE_POLL_INTERVAL"] = "1s"
	}
	return w
}

// grant gives the daemon's user exactly the rights that the README names.
func (w *world) grant() {
	w.t.Helper()
	rbac := w.client.RbacV1()
	rights := map[string]struct{ services, slices []string }{
		"client-go": {[]string{"list", "watch"}, []string{"list", "watch", "create", "update"}},
		"kubectl":   {[]string{"get"}, []string{"get", "list", "create", "update"}},
	}[w.store]
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "daemon"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: rights.services},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: rights.slices},
		{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
	}}
	if _, err := rbac.Roles(w.namespace).Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "daemon"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "daemon"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: w.user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := rbac.RoleBindings(w.namespace).Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	for _, rule := range role.Rules {
		asked := authorizationv1.ResourceAttributes{Namespace: w.namespace, Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		w.cp.AwaitRights(w.t, w.user, true, asked, rule.Verbs...)
	}
}

// createService creates the selector-less Service.
func (w *world) createService() *corev1.Service {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	service, err := w.client.CoreV1().Services(w.namespace).Create(w.t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return service
}

// newNode makes a node with a backend that accepts connections.
func (w *world) newNode(addr netip.Addr) node {
	w.t.Helper()
	b := &backend{addr: addr}
	b.start(w.t)
	w.t.Cleanup(b.kill)
	return node{Name: "worker-" + strings.NewReplacer(".", "-", ":", "-").Replace(addr.String()), IP: addr.String(), Ready: true, Worker: true, backends: []*backend{b}}
}

// start makes the backend accept connections.
func (b *backend) start(t *testing.T) {
	t.Helper()
	listener := listen(t, netip.AddrPortFrom(b.addr, port))
	b.listener = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
}

// kill lets it refuse them.
func (b *backend) kill() { _ = b.listener.Close() }

// writeInventory replaces the inventory file in one step.
func (w *world) writeInventory(nodes []node) {
	w.t.Helper()
	text, err := json.Marshal(nodes)
	if err != nil {
		w.t.Fatal(err)
	}
	w.writeFile(string(text))
}

// writeFile replaces the inventory file by any text.
func (w *world) writeFile(text string) {
	w.t.Helper()
	next := w.inventory + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.inventory); err != nil {
		w.t.Fatal(err)
	}
}

// slices returns the slices of the Service.
func (w *world) slices() []discoveryv1.EndpointSlice {
	w.t.Helper()
	list, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// published returns "address state" of every endpoint, in order.
func (w *world) published() []string {
	w.t.Helper()
	got := []string{}
	for _, s := range w.slices() {
		for _, e := range s.Endpoints {
			got = append(got, strings.Join(e.Addresses, "+")+" "+state(e.Conditions))
		}
	}
	return got
}

// state names a combination of conditions.
func state(c discoveryv1.EndpointConditions) string {
	if c.Ready == nil || c.Serving == nil || c.Terminating == nil {
		return "unwritten"
	}
	switch [3]bool{*c.Ready, *c.Serving, *c.Terminating} {
	case [3]bool{true, true, false}:
		return "ready"
	case [3]bool{false, true, true}:
		return "draining"
	case [3]bool{false, false, false}:
		return "down"
	}
	return fmt.Sprint("odd ", *c.Ready, *c.Serving, *c.Terminating)
}

// all returns what is published when each node is in its state. A node without a
// given state is "ready".
func (w *world) all(states ...string) []string {
	var want []string
	for i, n := range w.nodes {
		s := "ready"
		if i < len(states) {
			s = states[i]
		}
		want = append(want, n.IP+" "+s)
	}
	return want
}

// wantPublished waits until exactly that is published.
func (w *world) wantPublished(want []string) {
	w.t.Helper()
	w.until(func() bool { return slices.Equal(w.published(), want) }, func() string {
		return fmt.Sprintf("published: got %v, want %v", w.published(), want)
	})
}

// until waits for a condition.
func (w *world) until(condition func() bool, complaint func() string) {
	w.t.Helper()
	poll.Until(w.t, waitTimeout, condition, complaint)
}

// writes returns the daemon's own writes so far, without Events: other tests check
// those.
func (w *world) writes() []controlplane.AuditEvent {
	w.t.Helper()
	return slices.DeleteFunc(w.cp.Audit(), func(e controlplane.AuditEvent) bool {
		return e.User != w.user || !e.Writes() || e.Resource == "events"
	})
}

// wantWrites compares the number of writes since before.
func (w *world) wantWrites(before []controlplane.AuditEvent, want int) {
	w.t.Helper()
	if got := w.writes()[len(before):]; len(got) != want {
		w.t.Errorf("got %d writes, want %d: %+v", len(got), want, got)
	}
}
