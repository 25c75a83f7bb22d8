package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// tryOut are documents that are tried out on this machine: pool blue with two backends, pool
// green with one, and the Services shop/web of blue and blog/api of both.
type tryOut struct {
	t        *testing.T
	dir      string
	port     int
	backends []io.Closer
}

func newTryOut(t *testing.T) *tryOut {
	t.Helper()
	o := &tryOut{t: t, dir: t.TempDir()}
	for i := range 3 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:%d", i+1, o.port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		o.port, o.backends = l.Addr().(*net.TCPAddr).Port, append(o.backends, l)
	}
	o.pool("blue", "{name: b1, addresses: [127.0.0.1]}, {name: b2, addresses: [127.0.0.2]}")
	o.pool("green", "{name: g1, addresses: [127.0.0.3]}")
	o.binding("shop", "web", "{name: blue}", true)
	o.binding("blog", "api", "{name: blue}, {name: green}", true)
	return o
}

// put replaces a file in one step.
func (o *tryOut) put(name, text string) {
	o.t.Helper()
	path := filepath.Join(o.dir, name+".yaml")
	writeFile(o.t, path+".next", "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\n"+text)
	if err := os.Rename(path+".next", path); err != nil {
		o.t.Fatal(err)
	}
}

func (o *tryOut) pool(name, nodes string) {
	o.t.Helper()
	o.put(name, fmt.Sprintf("kind: EndpointPool\nmetadata: {name: %s}\nspec: {source: {static: {nodes: [%s]}}, subnets: [127.0.0.0/29], healthCheck: {interval: 1s}, allow: [{namespaces: [shop, blog], ports: [\"%d\"]}]}\n", name, nodes, o.port))
}

func (o *tryOut) binding(namespace, name, pools string, ports bool) {
	o.t.Helper()
	text := fmt.Sprintf("kind: EndpointBinding\nmetadata: {namespace: %s, name: %s}\nspec:\n  pools: [%s]\n", namespace, name, pools)
	if ports {
		text += fmt.Sprintf("  ports: [{name: http, port: %d}]\n", o.port)
	}
	o.put(namespace+"-"+name, text)
}

func (o *tryOut) environ() []string {
	return []string{"DOCUMENTS_DIR=" + o.dir, "STORE_KIND=memory", "LOG_FORMAT=json", "ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0"}
}

// last returns which endpoints of a slice its newest print says to be ready, and down.
func last(printed, slice string) string {
	var found []string
	for document := range strings.SplitSeq(printed, "---\n") {
		if !strings.HasPrefix(document, "# slice "+slice+" ") {
			continue
		}
		found = nil
		for line := range strings.Lines(document) {
			if address, ok := strings.CutPrefix(line, "  - 127."); ok {
				found = append(found, "127."+strings.TrimSpace(address))
			}
			if ready, ok := strings.CutPrefix(line, "    ready: "); ok && strings.TrimSpace(ready) == "false" {
				found[len(found)-1] += " down"
			}
		}
	}
	return strings.Join(found, ", ")
}

func (o *tryOut) await(r *programRun, slice, want string) {
	o.t.Helper()
	for deadline := time.Now().Add(time.Minute); last(r.out.String(), slice) != want; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.t.Fatalf("slice %s: got %q, want %q; printed:\n%s\nlog:\n%s", slice, last(r.out.String(), slice), want, r.out.String(), r.errs.String())
		}
	}
}

// Contract 6: the memory store accepts loopback addresses, for trying the program, also those
// of pools in files.
func TestContract06DocumentsAreTriedOutWithoutACluster(t *testing.T) {
	t.Parallel()
	o := newTryOut(t)
	r := start(t, o.environ())
	o.await(r, "web.blue", "127.0.0.1, 127.0.0.2")
	o.await(r, "api.blue", "127.0.0.1, 127.0.0.2")
	o.await(r, "api.green", "127.0.0.3")
	_ = o.backends[1].Close()
	o.await(r, "web.blue", "127.0.0.1, 127.0.0.2 down")
	o.await(r, "api.blue", "127.0.0.1, 127.0.0.2 down")
	o.binding("shop", "web", "{name: green}", true) // the Service takes another pool
	o.await(r, "web.green", "127.0.0.3")
	o.await(r, "web.blue", "")
	o.binding("shop", "new", "{name: blue}", false)
	for !strings.Contains(r.errs.String(), "knows no Service to take ports from") {
		<-time.After(10 * time.Millisecond)
	}
	o.binding("shop", "new", "{name: blue}", true)
	o.await(r, "new.blue", "127.0.0.1, 127.0.0.2 down")
}

func TestCommandsTryDocumentsOutWithoutACluster(t *testing.T) {
	t.Parallel()
	o := newTryOut(t)
	once(t, o.environ()).want(t, cli.Written, "2 of 2 Services as they should be", "3 slices written")
	code, stdout, stderr := run(t, o.environ(), "diff", "-A")
	if code != cli.ExitDifferent || strings.Count(stdout, "+kind: EndpointSlice") != 3 || !strings.HasPrefix(stderr, "STORE_KIND=memory has no slices to compare with") {
		t.Errorf("diff: got status %d, %s and %q", code, stdout, stderr)
	}
	_, stdout, stderr = run(t, o.environ(), "status", "--compute", "-A", "-o", "json")
	var status struct {
		DryRun   bool
		Services []struct{ Ready, Endpoints int }
	}
	if err := json.Unmarshal([]byte(stdout), &status); err != nil || !status.DryRun || len(status.Services) != 2 {
		t.Errorf("status: got %s and %q", stdout, stderr)
	}
	if code, stdout, _ := run(t, o.environ(), "explain", "--compute", "-A", "g1"); code != cli.ExitOK || !strings.Contains(stdout, "published ready by 1") {
		t.Errorf("explain: got status %d and %s", code, stdout)
	}
}

func TestWhatTheMemoryStoreCannotKnowHasToBeInTheDocuments(t *testing.T) {
	t.Parallel()
	o := newTryOut(t)
	o.binding("shop", "web", "{name: blue}", false)
	once(t, o.environ()).want(t, cli.ServiceProblem, "shop/web: PortMismatch: STORE_KIND=memory knows no Service to take ports from", "set spec.ports")
	// Objects of an API server are tried out too.
	environ := append(replacedIn(withObjects(t, poolObject), "STORE_KIND=memory"), o.environ()...)
	o.binding("shop", "object", "{name: blue}", true)
	_ = os.Remove(filepath.Join(o.dir, "blue.yaml"))
	if _, stdout, stderr := run(t, environ, "status", "--compute", "-A"); !strings.Contains(stdout, "PortNotAllowed: pool blue does not allow namespace shop port") {
		t.Errorf("got %s and %q, want the pool of the API server", stdout, stderr)
	}
	o = newTryOut(t)
	o.put("labels", fmt.Sprintf("kind: EndpointPool\nmetadata: {name: labels}\nspec: {source: {static: {nodes: [{name: l, addresses: [127.0.0.4]}]}}, subnets: [127.0.0.0/29], allow: [{namespaceSelector: {matchLabels: {a: b}}, ports: [\"%d\"]}]}\n", o.port))
	once(t, o.environ()).want(t, cli.StoreFailed, "STORE_KIND=memory reads no labels of namespaces; name the namespaces in spec.allow")
}

// A try-out is the only one that may have loopback addresses.
func TestContract06OtherStoresRefuseLoopbackAddressesOfDocuments(t *testing.T) {
	t.Parallel()
	o := newTryOut(t)
	code, _, stderr := run(t, replacedIn(o.environ(), "STORE_KIND=client-go"), "config", "validate")
	if code != cli.ExitUsage || strings.Count(stderr, "contains a loopback address, which is never published") != 2 {
		t.Errorf("got status %d and %s", code, stderr)
	}
}
