package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// fakeCluster is an API server with Services and EndpointSlices, whose watches tell of no
// change.
type fakeCluster struct {
	server *httptest.Server

	mu       sync.Mutex
	version  int
	services []corev1.Service
	slices   map[string]*discoveryv1.EndpointSlice
	writes   int
	// conflicts is how many writes are answered with a conflict first.
	conflicts int
	// forbidden are namespaces that may not be written.
	forbidden map[string]bool
}

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{version: 100, slices: map[string]*discoveryv1.EndpointSlice{}, forbidden: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/services", c.list)
	mux.HandleFunc("GET /apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", c.list)
	mux.HandleFunc("POST /apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices", c.write)
	mux.HandleFunc("PUT /apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{name}", c.write)
	c.server = httptest.NewTLSServer(mux) // client-go sends no token without TLS
	t.Cleanup(func() { c.server.CloseClientConnections(); c.server.Close() })
	return c
}

// service adds a Service whose endpoints listen on the port.
func (c *fakeCluster) service(namespace, name string, port int, annotations map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{
		Name: "http", Port: 80, TargetPort: intstr.FromInt(port), Protocol: corev1.ProtocolTCP,
	}}}}
	s.Kind, s.APIVersion = "Service", "v1"
	s.Namespace, s.Name, s.Annotations, s.UID, s.ResourceVersion = namespace, name, annotations, "u", "1"
	c.services = append(c.services, s)
}

// list answers a list, or a watch that begins with one.
func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	kind, version, objects := c.objects(r)
	c.mu.Lock()
	revision := strconv.Itoa(c.version)
	c.mu.Unlock()
	answerList(w, r, kind, version, revision, objects)
}

func answerList(w http.ResponseWriter, r *http.Request, kind, version, revision string, objects []any) {
	w.Header().Set("Content-Type", "application/json")
	if r.FormValue("watch") == "" {
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind + "List", "apiVersion": version, "metadata": map[string]string{"resourceVersion": revision}, "items": objects})
		return
	}
	if r.FormValue("sendInitialEvents") != "" {
		for _, object := range objects {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": object})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{
			"resourceVersion": revision, "annotations": map[string]string{"k8s.io/initial-events-end": "true"},
		}}})
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// objects are what a list has.
func (c *fakeCluster) objects(r *http.Request) (kind, version string, objects []any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	namespace := r.PathValue("namespace")
	if strings.HasSuffix(r.URL.Path, "/services") {
		for _, s := range c.services {
			if s.Namespace == namespace {
				objects = append(objects, s)
			}
		}
		return "Service", "v1", objects
	}
	wanted := strings.TrimPrefix(r.FormValue("fieldSelector"), "metadata.name=")
	for _, name := range slices.Sorted(maps.Keys(c.slices)) {
		if s := c.slices[name]; s.Namespace == namespace && (wanted == "" || wanted == s.Name) {
			objects = append(objects, s)
		}
	}
	return "EndpointSlice", "discovery.k8s.io/v1", objects
}

func (c *fakeCluster) write(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		panic(err)
	}
	slice := object.(*discoveryv1.EndpointSlice)
	slice.Namespace = r.PathValue("namespace")
	switch {
	case c.forbidden[slice.Namespace]:
		refuse(w, http.StatusForbidden, "Forbidden", "endpointslices is forbidden")
		return
	case c.conflicts > 0:
		c.conflicts--
		refuse(w, http.StatusConflict, "Conflict", "the object has been modified")
		return
	}
	c.version++
	c.writes++
	slice.Kind, slice.APIVersion, slice.ResourceVersion = "EndpointSlice", "discovery.k8s.io/v1", strconv.Itoa(c.version)
	c.slices[slice.Namespace+"/"+slice.Name] = slice
	answerJSON(w, http.StatusOK, slice)
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	answerJSON(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}

func answerJSON(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// published is what each slice holds.
func (c *fakeCluster) published() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]string{}
	for key, s := range c.slices {
		var endpoints []string
		for _, e := range s.Endpoints {
			state := "down"
			if *e.Conditions.Ready {
				state = "ready"
			}
			endpoints = append(endpoints, e.Addresses[0]+" "+state)
		}
		all[key] = strings.Join(endpoints, ", ")
	}
	return all
}

// node is a machine of a pool; without health checks its address may be any.
func nodeList(names ...string) string {
	var all []string
	for i, name := range names {
		all = append(all, fmt.Sprintf("{name: %s, addresses: [%s]}", name, netip.AddrFrom4([4]byte{10, 0, 0, byte(11 + i)})))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// poolOf is a pool without health checks, whose source is given.
func poolOf(name, source, namespaces string) string {
	return fmt.Sprintf(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: %s}
spec:
  source: %s
  subnets: [10.0.0.0/24]
  healthCheck: {mode: None}
  allow: [{namespaces: %s, ports: ["8080"]}]
---
`, name, source, namespaces)
}

// bindingOf is a binding to pools, in the namespace shop.
func bindingOf(service, pools string) string {
	return fmt.Sprintf(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointBinding
metadata: {name: %s, namespace: shop}
spec: {pools: [{name: %s}], ports: [{name: http, port: 8080}]}
---
`, service, strings.ReplaceAll(pools, ", ", "}, {name: "))
}

// environ is a configuration with documents, and no daemon that answers.
func (c *fakeCluster) environ(t *testing.T, documents string) []string {
	t.Helper()
	// A port that nothing listens on.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return append(mounted(t, documents), kubeconfig(t, c.server.URL, "token"), "STORE_KIND=client-go", "LOG_FORMAT=json", "ADMIN_ADDRESS="+listener.Addr().String())
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
