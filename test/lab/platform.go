//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/apiproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// group is the API group of documents and annotations.
const group = "endpoints.ablmnzde.github.io"

// PlatformOptions say which pools and Services one daemon has.
type PlatformOptions struct {
	Pools []PoolOptions
	// Services are the pools of each Service. One pool is chosen by an annotation, several
	// by a binding.
	Services [][]string
}

// PoolOptions say what a pool is like.
type PoolOptions struct {
	Name string
	// Source is file or kubernetes.
	Source  string
	Workers int
	// Spec is added to the spec of the document, for example "healthCheck: {rise: 3}".
	Spec string
}

// Platform is one daemon that fills many Services, each in a namespace of its own, as
// the documents of a folder say. Every pool reads its source every 2 s; all other
// settings have their defaults.
type Platform struct {
	// Daemon is the one that runs.
	Daemon   *Daemon
	Pools    []*Pool
	Services []*Target

	t           testing.TB
	world       *World
	name        string
	prober      string
	documents   string
	credentials string
}

// Pool is the workers of one remote cluster, and the Services that they back.
type Pool struct {
	*Inventory
	// Name is that of the document.
	Name     string
	Services []*Target
	// API is before the API server that lists the nodes, with the source kubernetes.
	API *apiproxy.Proxy

	from string // spec.source
	spec string // what else is in the spec
}

// Platform makes a platform, and returns when every Service publishes all workers of its
// pools as ready.
func (w *World) Platform(t testing.TB, options PlatformOptions) *Platform {
	t.Helper()
	n := numbers.Add(1)
	p := &Platform{t: t, world: w, name: fmt.Sprintf("p%d", n), documents: t.TempDir(), credentials: t.TempDir(), prober: w.prober(t, n)}
	for _, o := range options.Pools {
		p.addPool(o)
	}
	for _, pools := range options.Services {
		p.addService(pools)
	}
	for _, pool := range p.Pools {
		p.write("pool-"+pool.Name, pool.document())
	}
	p.Daemon = newDaemon(t, p.name, p.prober, 0, map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": t.TempDir(), "STORE_KIND": "client-go", "KUBECONFIG": w.Local.UserKubeconfig(t, p.user()),
		"DOCUMENTS_DIR": p.documents, "CREDENTIALS_DIR": p.credentials,
	})
	p.Daemon.Start()
	for _, x := range p.Services {
		x.Daemon = p.Daemon
		x.AwaitAllReady()
	}
	return p
}

// user is the user of the daemon at the local API server.
func (p *Platform) user() string { return "daemon-" + p.name }

// addPool starts the workers of a pool and lists them.
func (p *Platform) addPool(o PoolOptions) {
	p.t.Helper()
	pool := &Pool{Inventory: &Inventory{t: p.t, world: p.world}, Name: o.Name, spec: o.Spec}
	switch o.Source {
	case "file":
		path := filepath.Join(p.t.TempDir(), "inventory.json")
		pool.source = file{p.t, path}
		pool.from = fmt.Sprintf("file: {path: %q}", path)
	case "kubernetes":
		p.world.grantNodes(p.t)
		pool.API = apiproxy.Start(p.t, netip.MustParseAddr(gateway), p.world.Remote.Config())
		p.credential(pool.Name, pool.API.Kubeconfig(p.t, p.world.Remote.UserConfig(watcher)))
		label := p.name + "-" + pool.Name
		pool.source = newNodes(p.t, p.world, label)
		pool.from = fmt.Sprintf("kubernetes: {nodeSelector: %q}", targetLabel+"="+label)
	default:
		p.t.Fatalf("pool %s: no source %q", o.Name, o.Source)
	}
	for range o.Workers {
		pool.workers = append(pool.workers, pool.AddWorker())
	}
	pool.list()
	p.Pools = append(p.Pools, pool)
}

// credential puts a kubeconfig into the folder of a pool.
func (p *Platform) credential(pool, kubeconfig string) {
	p.t.Helper()
	dir := filepath.Join(p.credentials, pool)
	if err := os.Mkdir(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Symlink(kubeconfig, filepath.Join(dir, "kubeconfig")); err != nil {
		p.t.Fatal(err)
	}
}

// addService makes a Service that chooses pools.
func (p *Platform) addService(names []string) {
	p.t.Helper()
	var pools []*Pool
	var inventories []*Inventory
	for _, name := range names {
		pools = append(pools, p.Pool(name))
		inventories = append(inventories, p.Pool(name).Inventory)
	}
	name, annotations := fmt.Sprintf("%s-%d", p.name, len(p.Services)), map[string]string(nil)
	if len(names) == 1 {
		annotations = map[string]string{group + "/pool": names[0]}
	} else {
		p.write("binding-"+name, fmt.Sprintf("kind: EndpointBinding\nmetadata: {name: web, namespace: %s}\nspec: {pools: [{name: %s}], ports: [{name: http, port: %d}]}\n",
			name, strings.Join(names, "}, {name: "), Port))
	}
	x := p.world.service(name, p.user(), annotations, inventories...)
	x.grant()
	p.Services = append(p.Services, x)
	for _, pool := range pools {
		pool.Services = append(pool.Services, x)
	}
}

// document is the pool as a document, which allows the namespaces of its Services.
func (p *Pool) document() string {
	var namespaces []string
	for _, x := range p.Services {
		namespaces = append(namespaces, x.namespace)
	}
	text := fmt.Sprintf("kind: EndpointPool\nmetadata: {name: %s}\nspec:\n  source: {%s}\n  subnets: [10.77.0.0/16]\n  pollInterval: 2s\n  allow: [{namespaces: [%s], ports: [\"%d\"]}]\n",
		p.Name, p.from, strings.Join(namespaces, ", "), Port)
	if p.API != nil {
		text += "  credentials: " + p.Name + "\n"
	}
	if p.spec != "" {
		text += "  " + p.spec + "\n"
	}
	return text
}

// write writes a document into the folder.
func (p *Platform) write(name, document string) {
	p.t.Helper()
	text := "apiVersion: " + group + "/v1alpha1\n" + document
	if err := os.WriteFile(filepath.Join(p.documents, name+".yaml"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Pool is the pool of that name.
func (p *Platform) Pool(name string) *Pool {
	p.t.Helper()
	i := slices.IndexFunc(p.Pools, func(pool *Pool) bool { return pool.Name == name })
	if i < 0 {
		p.t.Fatalf("there is no pool %s", name)
	}
	return p.Pools[i]
}

// Begin is [Target.Begin] of every Service, with so many requests a second for each. Only
// the first shows its progress.
func (p *Platform) Begin(rate int) {
	p.t.Helper()
	for i, x := range p.Services {
		x.quiet = i > 0
		x.Begin(rate)
	}
}

// AwaitHeld waits until the daemon holds a connection to every worker of a pool. A
// connection is held when it is open at two looks: a check is over before the second.
func (p *Platform) AwaitHeld(pool *Pool) {
	p.t.Helper()
	const between = 250 * time.Millisecond
	before := map[string]bool{}
	for deadline := time.Now().Add(waitTimeout); ; <-time.After(between) {
		now, held := map[string]bool{}, map[string]bool{}
		for _, c := range established(p.t, p.prober) {
			now[c] = true
			if before[c] {
				worker, _, _ := strings.Cut(c, " ")
				held[worker] = true
			}
		}
		if !slices.ContainsFunc(pool.Workers(), func(w *Worker) bool { return !held[w.Address.String()] }) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: waited %v for a connection to each worker of pool %s, there is one to %v", p.name, waitTimeout, pool.Name, held)
		}
		before = now
	}
}

// Together is a target that holds what was measured of these Services, for a report.
func (p *Platform) Together(services ...*Target) *Target {
	x := &Target{Name: p.name, User: p.user(), Inventory: services[0].Inventory}
	var records []*traffic.Record
	for _, each := range services {
		records = append(records, each.Record())
	}
	x.record.Store(traffic.Merged(records...))
	return x
}
