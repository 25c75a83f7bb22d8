package preflight_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// cluster is an API server that counts the requests in each namespace.
type cluster struct {
	url string
	// services are those of each namespace, as JSON.
	services map[string][]string
	// slices are those of every namespace, as JSON.
	slices []string
	// bare are namespaces in which the server can list no rights, and gives none.
	bare string

	mu    sync.Mutex
	asked map[string]int
}

func newCluster(t *testing.T, services map[string][]string, bare string) *cluster {
	t.Helper()
	c := &cluster{services: services, bare: bare, asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"gitVersion": "v1.36.0"}`) })
	mux.HandleFunc("POST /apis/{group}/v1/{review}", c.review)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/services", func(w http.ResponseWriter, r *http.Request) {
		var items []string
		for _, item := range c.services[c.count(r.PathValue("namespace"))] {
			if name, chosen := strings.CutPrefix(r.FormValue("fieldSelector"), "metadata.name="); !chosen || strings.Contains(item, `"`+name+`"`) {
				items = append(items, item)
			}
		}
		answer(w, "v1", "ServiceList", `"items": [`+strings.Join(items, ",")+`]`)
	})
	mux.HandleFunc("GET /apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", func(w http.ResponseWriter, r *http.Request) {
		c.count(r.PathValue("namespace"))
		answer(w, "discovery.k8s.io/v1", "EndpointSliceList", `"items": [`+strings.Join(c.slices, ",")+`]`)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	c.url = server.URL
	return c
}

func answer(w http.ResponseWriter, version, kind, rest string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"apiVersion": %q, "kind": %q, "metadata": {"resourceVersion": "1"}, %s}`, version, kind, rest)
}

func (c *cluster) count(namespace string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[namespace]++
	return namespace
}

func (c *cluster) review(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	object, about, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		panic(err)
	}
	status := `{"userInfo": {"username": "daemon"}}`
	switch asked := object.(type) {
	case *authorizationv1.SelfSubjectRulesReview:
		status = `{"incomplete": false, "nonResourceRules": [], "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}`
		if c.count(asked.Spec.Namespace) == c.bare {
			status = `{"incomplete": true, "nonResourceRules": [], "resourceRules": []}`
		}
	}
	answer(w, about.GroupVersion().String(), about.Kind, `"status": `+status)
}

// serviceIn is a Service with a port for the endpoints' port 30080.
func serviceIn(namespace, name, more string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": %q, "name": %q, "uid": "u"%s},
"spec": {"type": "ClusterIP", "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 30080}]}}`, namespace, name, more)
}

func document(kind, metadata, spec string) string {
	return fmt.Sprintf("apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: %s\nmetadata: {%s}\nspec: {%s}\n---\n", kind, metadata, spec)
}

func poolDocument(name, namespaces string) string {
	return document("EndpointPool", "name: "+name, `source: {static: {nodes: [{name: w1, addresses: [10.0.0.11]}]}}, subnets: [10.0.0.0/24], allow: [{namespaces: [`+namespaces+`], ports: ["30080-30081"]}]`)
}

// checks counts what was checked.
type checks struct {
	mu    sync.Mutex
	count map[string]int
}

// many are the options for these documents, whose pools all have two nodes.
func many(t *testing.T, c *cluster, text string) (preflight.Options, *checks) {
	t.Helper()
	set := documents.Advance(documents.Set{}, documents.Folder{Files: []documents.File{{Name: "all.yaml", Data: []byte(text)}}})
	if len(set.Mistakes) > 0 {
		t.Fatal(set.Mistakes)
	}
	o, done := loaded(t, "DOCUMENTS_DIR=/documents", "STATIC_NODES=", "SECURED_SUBNET_CIDR=", "TARGET_NAMESPACE=", "TARGET_SERVICE_NAME=", "TARGET_PORT="), &checks{count: map[string]int{}}
	return preflight.Options{
		Config: o, Documents: set, Local: kube.Fixed(&rest.Config{Host: c.url, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}),
		Source: func(pool *v1alpha1.EndpointPool) (preflight.Origin, error) {
			return preflight.Origin{Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, Read: func(context.Context) ([]inventory.Node, error) {
				done.add("read " + pool.Name)
				return nodes("10.0.0.11", "10.0.0.12"), nil
			}}, nil
		},
		Checker: func(pool *v1alpha1.EndpointPool, check assign.Check) func(context.Context, netip.Addr) inventory.Result {
			return func(_ context.Context, addr netip.Addr) inventory.Result {
				done.add(fmt.Sprint(pool.Name, " ", addr, " ", check.Port))
				return passes(addr)
			}
		},
	}, done
}

func (c *checks) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count[what]++
}

func nodes(addresses ...string) []inventory.Node {
	var all []inventory.Node
	for _, a := range addresses {
		all = append(all, inventory.Node{Name: "w" + a, Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr(a)}})
	}
	return all
}

// crowd is a namespace with 25 bindings, one of which has a check of its own, one that gives
// nothing to its Service and no rights, and a pool that no Service uses.
func crowd(t *testing.T) (c *cluster, text string) {
	t.Helper()
	services := map[string][]string{"blog": {serviceIn("blog", "feed", `, "annotations": {"endpoints.ablmnzde.github.io/pool": "blue"}`)}}
	text = poolDocument("blue", "shop, blog, empty") + poolDocument("spare", "blog")
	for i := range 25 {
		name, check := fmt.Sprintf("web-%02d", i), ""
		if i == 3 {
			check = ", healthCheck: {mode: TCP, port: 30081}"
		}
		services["shop"] = append(services["shop"], serviceIn("shop", name, ""))
		text += document("EndpointBinding", "namespace: shop, name: "+name, "pools: [{name: blue}]"+check)
	}
	return newCluster(t, services, "blog"), text
}

func says(checks []preflight.Check, result preflight.Result, id preflight.ID, words string) bool {
	return slices.ContainsFunc(checks, func(c preflight.Check) bool {
		return c.Result == result && c.ID == id && strings.Contains(c.Subject+": "+c.Message, words)
	})
}

// Contract 231: check looks at each pool, each namespace and each Service, with at most 10
// requests in a namespace and one check of each endpoint in each group.
func TestContract231CheckLooksAtEverythingWithinItsBound(t *testing.T) {
	t.Parallel()
	c, text := crowd(t)
	o, done := many(t, c, text)
	report := preflight.Run(t.Context(), o)
	if want := map[string]int{"shop": 3, "blog": 3, "empty": 3}; !maps.Equal(c.asked, want) {
		t.Errorf("got %v requests, want %v", c.asked, want)
	}
	if want := map[string]int{
		"read blue": 1, "read spare": 1, "blue 10.0.0.11 30080": 1, "blue 10.0.0.12 30080": 1, "blue 10.0.0.11 30081": 1, "blue 10.0.0.12 30081": 1,
	}; !maps.Equal(done.count, want) {
		t.Errorf("got %v, want %v", done.count, want)
	}
	for i := range 25 {
		if !says(report.Checks, preflight.OK, preflight.ServiceValid, fmt.Sprintf("Service shop/web-%02d", i)) {
			t.Errorf("nothing was said of Service %d", i)
		}
	}
	for _, found := range []struct {
		result preflight.Result
		id     preflight.ID
		words  string
	}{
		{preflight.OK, preflight.RightsGranted, "rights in shop: daemon may list, watch services; list, watch, create endpointslices.discovery.k8s.io; update "},
		{preflight.OK, preflight.ServiceValid, "Service blog/feed"},
		{preflight.OK, preflight.NodesNode, "pool blue: w10.0.0.11"},
		{preflight.OK, preflight.ProbesAddress, "pool blue: port 30081: w10.0.0.12"},
		// What was not looked at.
		{preflight.Skip, preflight.RightsGranted, "list, watch, create endpointslices.discovery.k8s.io in blog: not known"},
		{preflight.Skip, preflight.ProbesAddress, "pool spare: endpoints: not checked: no Service that is looked at uses the pool"},
		{preflight.Skip, preflight.ServiceClients, "network policies: not looked at"},
	} {
		if !says(report.Checks, found.result, found.id, found.words) {
			t.Errorf("got no %s %s with %q in\n%s", found.result, found.id, found.words, report.Text(false))
		}
	}
}

// Contract 231: --namespace and --service narrow it, and what that leaves out is said.
func TestContract231CheckIsNarrowedToOneService(t *testing.T) {
	t.Parallel()
	c, text := crowd(t)
	o, done := many(t, c, text)
	o.Namespace, o.Service = "shop", "web-03"
	report := preflight.Run(t.Context(), o)
	if want := map[string]int{"shop": 3}; !maps.Equal(c.asked, want) {
		t.Errorf("got %v requests, want %v", c.asked, want)
	}
	if want := map[string]int{"read blue": 1, "blue 10.0.0.11 30081": 1, "blue 10.0.0.12 30081": 1}; !maps.Equal(done.count, want) {
		t.Errorf("got %v, want %v", done.count, want)
	}
	if !report.OK || !says(report.Checks, preflight.Skip, preflight.SourceRead, "pool spare: source: not looked at") ||
		!says(report.Checks, preflight.Skip, preflight.ServiceValid, "other Services: not looked at") {
		t.Errorf("got\n%s", report.Text(false))
	}
}

// Contract 204: check names the slices that no document speaks of any more, and no others.
func TestContract204CheckNamesWhatNoDocumentSpeaksOf(t *testing.T) {
	t.Parallel()
	sliceOf := func(name, service, pool, manager, endpoints string) string {
		return fmt.Sprintf(`{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "endpoints": [%s], "metadata": {"namespace": "shop", "name": %q,
"labels": {"kubernetes.io/service-name": %q, "endpoints.ablmnzde.github.io/pool": %q, "endpointslice.kubernetes.io/managed-by": %q}}}`, endpoints, name, service, pool, manager)
	}
	const ours, one = "ionos-endpointslice-controller", `{"addresses": ["10.0.0.1"]}`
	c := newCluster(t, map[string][]string{"shop": {serviceIn("shop", "web", "")}}, "")
	c.slices = []string{
		sliceOf("old.gone", "old", "gone", ours, one), sliceOf("old.empty", "old", "gone", ours, ""), sliceOf("old.other", "old", "gone", "somebody", one),
		sliceOf("old.blue", "old", "blue", ours, one), sliceOf("web.gone", "web", "gone", ours, one),
	}
	o, _ := many(t, c, poolDocument("blue", "shop")+document("EndpointBinding", "namespace: shop, name: web", "pools: [{name: blue}]"))
	kept := func() (messages []string) {
		for _, found := range preflight.Run(t.Context(), o).Checks {
			if found.ID == preflight.SlicesKept {
				messages = append(messages, string(found.Result)+" "+found.Subject)
			}
		}
		return messages
	}
	if got, want := kept(), []string{"fail slice shop/old.gone", "skip other namespaces"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	o.Service = "web"
	if got, want := kept(), []string{"skip other namespaces"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v, because another Service is looked at", got, want)
	}
	o.Service, o.Documents.Complete = "", false // some documents could not be read
	if got, want := kept(), []string{"skip other namespaces"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Contract 231: the carrier makes no difference, and with one Service neither the pool nor
// the binding is named.
func TestContract231VariablesAndDocumentsAreCheckedAlike(t *testing.T) {
	t.Parallel()
	reports := map[string]preflight.Report{}
	for carrier, run := range map[string]func(*cluster) preflight.Options{
		"documents": func(c *cluster) preflight.Options {
			o, _ := many(t, c, poolDocument("blue", "shop")+document("EndpointBinding", "namespace: shop, name: web", "pools: [{name: blue}], ports: [{port: 30080}]"))
			return o
		},
		"variables": func(c *cluster) preflight.Options {
			o := world(t, loaded(t), func(context.Context) ([]inventory.Node, error) { return nodes("10.0.0.11", "10.0.0.12"), nil }, passes)
			o.Local = kube.Fixed(&rest.Config{Host: c.url, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
			return o
		},
	} {
		c := newCluster(t, map[string][]string{"shop": {serviceIn("shop", "web", "")}}, "")
		reports[carrier] = preflight.Run(t.Context(), run(c))
		if c.asked["shop"] > 10 || len(c.asked) != 1 {
			t.Errorf("%s: got %v requests", carrier, c.asked)
		}
	}
	want := outline(t, reports["variables"].Checks)
	got := slices.DeleteFunc(outline(t, reports["documents"].Checks), func(line string) bool { return line == "ok documents-valid" })
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for carrier, report := range reports {
		for _, c := range report.Checks {
			if c.Area != "documents" && strings.Contains(strings.ToLower(c.Subject+c.Message), "binding") || strings.HasPrefix(c.Subject, "pool ") {
				t.Errorf("%s: got %+v", carrier, c)
			}
		}
	}
}

// Contract 231: namespaces whose labels cannot be read are not looked at, and that is said.
func TestContract231NamespacesThatCannotBeSelectedAreTold(t *testing.T) {
	t.Parallel()
	c := newCluster(t, nil, "")
	o, _ := many(t, c, strings.Replace(poolDocument("blue", ""), "namespaces: []", "namespaceSelector: {matchLabels: {tier: gold}}", 1))
	o.Labels = func(context.Context) (map[string]map[string]string, error) {
		return nil, errors.New("namespaces is forbidden")
	}
	if report := preflight.Run(t.Context(), o); !says(report.Checks, preflight.Fail, preflight.RightsGranted, "namespaces is forbidden, so the namespaces that pools select by labels are not looked at") {
		t.Errorf("got\n%s", report.Text(false))
	}
	o.Labels = func(context.Context) (map[string]map[string]string, error) {
		return map[string]map[string]string{"rich": {"tier": "gold"}, "poor": {"tier": "tin"}}, nil
	}
	if report := preflight.Run(t.Context(), o); !report.OK || c.asked["rich"] != 3 || c.asked["poor"] != 0 {
		t.Errorf("got %v requests and\n%s", c.asked, report.Text(false))
	}
}
