package ionos_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

const (
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	cluster    = "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"
	lan        = 2
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cloud is a running fake.
type cloud struct {
	*ionostest.API
	url    string
	server *httptest.Server
}

func newCloud(t testing.TB) *cloud {
	t.Helper()
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		api.Heal()
		server.CloseClientConnections()
		server.Close()
	})
	return &cloud{API: api, url: server.URL, server: server}
}

// options are for the managed cluster.
func (c *cloud) options() ionos.Options {
	return ionos.Options{
		Credentials: bearer(text("token")), APIURL: c.url, DatacenterID: datacenter, LANID: lan, ClusterID: cluster,
	}
}

func text(t string) func() (string, error) { return func() (string, error) { return t, nil } }

func bearer(token func() (string, error)) func() ionos.Credentials {
	return func() ionos.Credentials { return ionos.Credentials{Token: token} }
}

func basic(username, password string) func() ionos.Credentials {
	return func() ionos.Credentials {
		return ionos.Credentials{Username: username, Password: text(password)}
	}
}

// source reads the nodes that the test gives.
func (c *cloud) source(t testing.TB, nodes ionos.NodeReader, change ...func(*ionos.Options)) *ionos.Source {
	t.Helper()
	options := c.options()
	options.Nodes = nodes
	if teller, ok := nodes.(*givenNodes); ok {
		options.NodesChanged = teller.changed
	}
	counting, err := metrics.New(metrics.Options{}) // as in the daemon
	if err != nil {
		t.Fatal(err)
	}
	options.Wrap = counting.Transport(metrics.ClientSource)
	for _, f := range change {
		f(&options)
	}
	source, err := ionos.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// givenNodes are the nodes that the test gives.
type givenNodes struct {
	mu      sync.Mutex
	nodes   []inventory.Node
	changed chan struct{}
}

func tell(nodes ...inventory.Node) *givenNodes {
	return &givenNodes{nodes: nodes, changed: make(chan struct{}, 1)}
}

func (n *givenNodes) Read(ctx context.Context) ([]inventory.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.nodes), ctx.Err()
}

func (n *givenNodes) set(nodes ...inventory.Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = nodes
}

// worker is a ready node without addresses.
func worker(id, name string) inventory.Node {
	return inventory.Node{ID: id, Name: name, Ready: true, Worker: true}
}

func serverID(n int) string { return fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", n) }
func nicID(n int) string    { return fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", n) }

// machine is a server with one network card on the LAN.
func machine(n int, name string, ips ...string) ionostest.Server {
	return ionostest.Server{ID: serverID(n), Name: name, NICs: []ionostest.NIC{{ID: nicID(n), LAN: lan, IPs: ips}}}
}

// read reads, and fails the test on an error.
func read(t testing.TB, source *ionos.Source) []inventory.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nodes, err := source.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return nodes
}

// readError makes a read that must fail, and returns the error.
func readError(t testing.TB, source *ionos.Source) error {
	t.Helper()
	return readErrorWithin(t, source, time.Minute)
}

// readFault makes a read that must fail by a fault. Only a slow API has to be waited for.
func readFault(t testing.TB, source *ionos.Source, kind ionostest.Kind) error {
	t.Helper()
	if kind == ionostest.Slow {
		return readErrorWithin(t, source, 2*time.Second)
	}
	return readError(t, source)
}

func readErrorWithin(t testing.TB, source *ionos.Source, timeout time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	nodes, err := source.Read(ctx)
	if err == nil || nodes != nil {
		t.Fatalf("got %d nodes and error %v, want an error alone", len(nodes), err)
	}
	return err
}

// brief is a node in one line: name, addresses, flags.
func brief(n inventory.Node) string {
	var texts []string
	for _, addr := range n.Addresses {
		texts = append(texts, addr.String())
	}
	text := n.Name + " " + strings.Join(texts, ",")
	if n.Leaving {
		text += " leaving"
	}
	if !n.Ready {
		text += " notready"
	}
	return text
}

func briefs(nodes []inventory.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, brief(n))
	}
	return all
}
