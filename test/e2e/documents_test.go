package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// platform is a world with documents in place of variables: pools blue and green, and
// the Services web, of pool blue by a binding, shop, of pool green by an annotation, and
// both, of both pools by a binding.
type platform struct {
	*world
	folder string
	green  []node
	// late are the nodes of pool late, of which the Service greedy has a binding; none
	// where there is no such pool.
	late []node
	// applied says that documents are objects of the API server.
	applied bool
	// seesAll says that the program may read all namespaces: a pool of that name is in the
	// worlds of other tests too, so endpoints of theirs that work may be published here.
	seesAll bool
}

// newPlatform makes the world. Its own nodes are those of pool blue.
func newPlatform(t *testing.T, cp *controlplane.ControlPlane) *platform {
	t.Helper()
	p := newWorld(t, cp, "client-go").byDocuments()
	for _, addr := range netns.Addresses(t, 2) {
		p.green = append(p.green, p.newNode(addr))
	}
	p.service("shop", map[string]string{"endpoints.ablmnzde.github.io/pool": "green"})
	p.service("both", nil)
	p.service("greedy", map[string]string{"endpoints.ablmnzde.github.io/pool": "secret"})
	p.pool("blue", p.nodes, "")
	p.pool("green", p.green, "")
	p.write("secret.yaml", p.poolText("secret", p.nodes, "[elsewhere]", ""))
	p.binding("web", "blue")
	p.binding("both", "blue, green")
	return p
}

// byDocuments puts a folder in place of the world's variables.
func (w *world) byDocuments() *platform {
	w.t.Helper()
	p := &platform{world: w, folder: w.t.TempDir()}
	for _, variable := range []string{
		"SOURCE_KIND", "INVENTORY_FILE_PATH", "SOURCE_POLL_INTERVAL", "SECURED_SUBNET_CIDR", "TARGET_NAMESPACE", "TARGET_SERVICE_NAME", "TARGET_PORT",
	} {
		delete(p.env, variable)
	}
	p.env["DOCUMENTS_DIR"] = p.folder
	return p
}

// service makes a Service whose endpoints listen where the backends do.
func (p *platform) service(name string, annotations map[string]string) {
	p.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port)}},
	}}
	if _, err := p.client.CoreV1().Services(p.namespace).Create(p.t.Context(), service, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// write replaces one file of the folder, or what it would hold in the API server.
func (p *platform) write(name, text string) {
	p.t.Helper()
	if p.applied {
		p.kubectl(text, "apply", "--filename", "-")
		return
	}
	p.replace(name, text)
}

// replace replaces one file of the folder in one step.
func (p *platform) replace(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.folder, name)
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		p.t.Fatal(err)
	}
}

func (p *platform) poolText(name string, nodes []node, namespaces, more string) string {
	var list []string
	for _, n := range nodes {
		list = append(list, fmt.Sprintf("{name: %s, addresses: [%s]}", n.Name, n.IP))
	}
	return fmt.Sprintf(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: %s}
spec:
  source: {static: {nodes: [%s]}}
  subnets: [10.0.0.0/16]
  pollInterval: 500ms
  allow: [{namespaces: %s, ports: ["%d"]}]
%s`, name, strings.Join(list, ", "), namespaces, port, more)
}

func (p *platform) pool(name string, nodes []node, more string) {
	p.t.Helper()
	p.write(name+".yaml", p.poolText(name, nodes, "["+p.namespace+"]", more))
}

func (p *platform) binding(service, pools string) {
	p.t.Helper()
	p.write("binding-"+service+".yaml", p.bindingText(service, pools))
}

func (p *platform) bindingText(service, pools string) string {
	return fmt.Sprintf(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointBinding
metadata: {name: %s, namespace: %s}
spec: {pools: [{name: %s}], ports: [{name: http, port: %d}]}
`, service, p.namespace, strings.ReplaceAll(pools, ", ", "}, {name: "), port)
}

// bySlice returns what each slice publishes.
func (p *platform) bySlice() map[string]string {
	p.t.Helper()
	got := map[string]string{}
	for _, s := range p.slices() {
		var endpoints []string
		for _, e := range s.Endpoints {
			endpoints = append(endpoints, strings.Join(e.Addresses, "+")+" "+state(e.Conditions))
		}
		got[s.Name] = fmt.Sprintf("%s of %s: %s", s.Labels["endpoints.ablmnzde.github.io/pool"], s.Labels["kubernetes.io/service-name"], strings.Join(endpoints, ", "))
	}
	return got
}

// want waits until the slices publish the nodes of their pools in those states.
func (p *platform) want(blue ...string) {
	p.t.Helper()
	of := func(nodes []node, states []string) string {
		var endpoints []string
		for i, n := range nodes {
			s := "ready"
			if i < len(states) {
				s = states[i]
			}
			endpoints = append(endpoints, n.IP+" "+s)
		}
		slices.Sort(endpoints)
		return strings.Join(endpoints, ", ")
	}
	want := map[string]string{
		"web.blue": "blue of web: " + of(p.nodes, blue), "shop.green": "green of shop: " + of(p.green, nil),
		"both.blue": "blue of both: " + of(p.nodes, blue), "both.green": "green of both: " + of(p.green, nil),
	}
	if len(p.late) > 0 {
		want["greedy.late"] = "late of greedy: " + of(p.late, nil)
	}
	p.until(func() bool { return fmt.Sprint(p.bySlice()) == fmt.Sprint(want) }, func() string {
		return fmt.Sprintf("slices: got %v, want %v", p.bySlice(), want)
	})
}

// wantMetrics waits until a scrape shows these values.
func (p *platform) wantMetrics(s *surfaces, want map[string]string) {
	p.t.Helper()
	var missing []string
	p.until(func() bool {
		text := s.get(s.metrics, "/metrics")
		missing = nil
		for series, value := range want {
			if line := "ionos_endpointslice_" + series + " " + value + "\n"; !strings.Contains(text, line) {
				missing = append(missing, line)
			}
		}
		return len(missing) == 0
	}, func() string { return fmt.Sprintf("metrics: got no %q", missing) })
}

// Contract 49: documents choose any number of Services, one process fills them all, and a
// mistake in a document takes nothing away.
func TestContract49OneProcessFillsTheServicesThatDocumentsChoose(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	d := p.start()
	shown := newSurfaces(d)
	p.want()

	// The Service of a team without right learns that it may not, and nothing more.
	note := p.awaitEvent("PoolNotAllowed", 1)
	if !strings.Contains(note, "may not use a pool secret") || strings.Contains(note, "elsewhere") {
		t.Errorf("PoolNotAllowed: got note %q", note)
	}

	before := p.writes()
	p.wantTargets(shown, t)
	p.wantWrites(before, 4)

	t.Log("metrics tell pools and Services apart")
	p.wantMetrics(shown, map[string]string{
		`pool_services{pool="blue"}`: "2", `pool_services{pool="green"}`: "2", `endpoints{pool="blue",state="ready"}`: fmt.Sprint(len(p.nodes)),
		`nodes{pool="green"}`: fmt.Sprint(len(p.green)), `service_ready_endpoints{target_namespace="` + p.namespace + `",target_service="both"}`: fmt.Sprint(len(p.nodes) + len(p.green)),
		`service_problem{kind="PoolNotAllowed",target_namespace="` + p.namespace + `",target_service="greedy"}`: "1", `services{state="active"}`: "3",
	})

	t.Log("a document turns invalid")
	before = p.writes()
	p.write("blue.yaml", strings.Replace(p.poolText("blue", p.nodes[:1], "["+p.namespace+"]", ""), "subnets:", "subnetz:", 1))
	d.says("a document is wrong, its last good version stays in effect")
	p.pool("blue", p.nodes, "")
	d.says("a document is in effect")

	t.Log("a binding is removed, and comes back")
	if err := os.Remove(filepath.Join(p.folder, "binding-web.yaml")); err != nil {
		t.Fatal(err)
	}
	d.says("a document is gone")
	p.binding("web", "blue")
	d.says("a document is in effect")
	p.want()
	p.wantWrites(before, 0)

	t.Log("a restart writes nothing, and checks as before")
	if code := d.stop(); code != 0 {
		t.Fatalf("got exit status %d, want 0", code)
	}
	d = p.start()
	d.says("listening")
	p.nodes[1].backends[0].kill()
	p.want("ready", "down")
	p.wantWrites(before, 2)
	if code := d.stop(); code != 0 {
		t.Fatalf("got exit status %d, want 0", code)
	}

	t.Log("a restart without the credentials of one pool takes nothing away, and dead endpoints still go")
	text := p.poolText("blue", p.nodes, "["+p.namespace+"]", "  credentials: nowhere\n")
	start, end := strings.Index(text, "  source:"), strings.Index(text, "  subnets:")
	p.write("blue.yaml", text[:start]+"  source: {kubernetes: {}}\n"+text[end:])
	d = p.start("CREDENTIALS_DIR=" + t.TempDir())
	for d.says("source read failed; endpoints stay published, and health checks go on")["pool"] != "blue" {
	}
	// Both of its Services are told, and not what is wrong with its credentials.
	if note := p.awaitEvent("SourceUnavailable", 2); !strings.HasPrefix(note, "pool blue: its source cannot be read") {
		t.Errorf("SourceUnavailable: got note %q", note)
	}
	p.nodes[2].backends[0].kill()
	p.want("ready", "down", "down")
	p.green[0].backends[0].kill()
	p.until(func() bool { return strings.Contains(p.bySlice()["shop.green"], p.green[0].IP+" down") }, func() string {
		return fmt.Sprintf("slices: got %v, want %s down in shop.green", p.bySlice(), p.green[0].IP)
	})
	p.wantWrites(before, 2+2+2)
}

// Contract 49: an installation by variables moves to the documents that it prints, and
// back. Only endpoints that change are written, in the slices that are there.
func TestContract49MovingToDocumentsAndBackWritesNothing(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	w := newWorld(t, controlplane.Start(t, controlplane.Options{Audit: true}), "client-go")
	variables := maps.Clone(w.env)
	d := w.start()
	w.wantPublished(w.all())
	d.stop()
	printed := w.command(nil, "config", "show", "-o", "documents")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "documents.yaml"), []byte(printed.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{"DOCUMENTS_DIR": folder}
	for _, name := range []string{"PATH", "HOME", "STORE_KIND", "KUBECONFIG", "LOG_LEVEL", "ADMIN_ADDRESS", "METRICS_ADDRESS"} {
		documents[name] = variables[name]
	}
	before := w.writes()
	for i, env := range []map[string]string{documents, variables} {
		w.env = env
		d := w.start()
		d.says("listening")
		w.nodes[i].backends[0].kill()
		w.wantPublished(w.all(slices.Repeat([]string{"down"}, i+1)...))
		w.wantWrites(before, i+1)
		if len(w.slices()) != 1 {
			t.Errorf("got %d slices, want the one that was there", len(w.slices()))
		}
		d.stop()
	}
}
