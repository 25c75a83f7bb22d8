package controller_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Times of the checks of this world.
const (
	worldInterval = 2 * time.Second
	worldDrain    = 30 * time.Second
	worldPoll     = 30 * time.Second
)

// world is a local cluster with Services and slices, the documents, and remote clusters: all
// of what a Server needs, in simulated time.
type world struct {
	t  *testing.T
	mu sync.Mutex

	set        documents.Set
	docChanged chan struct{}
	hubChanged chan struct{}

	services map[string]*assign.Service // by namespace/name
	slices   map[string]storedSlice     // by namespace/name
	version  int
	followed map[*int]func()
	// tells is how often it was told that something changed.
	tells   int
	watched map[string]bool

	nodes map[string][]inventory.Node // by pool
	// dead are addresses, or address:port, that refuse; silent are addresses that do not
	// answer the checks, although clients reach them.
	dead, silent map[string]bool
	// fault is what becomes of a write: how long it takes, and its error.
	fault func(of publish.Target, w publish.Write) (time.Duration, error)
	// alter is what a webhook makes of a slice, and whether that is something else.
	alter func(of publish.Target, s *publish.Slice) bool
	// unread are Services whose slices cannot be read.
	unread map[string]bool
	// slow are Services whose slices are read as soon as their channel is closed, not before.
	slow map[string]chan struct{}
	// placements say where the Pods of remote Services are; noWay says that none can be followed,
	// and makeErr why no source can be made.
	placements map[inventory.RemoteService]*placements
	noWay      bool
	makeErr    error
	reads      int
	// checkErr is why the checks of a pool cannot be made.
	checkErr map[string]error
	// trouble is why the checks of all pools go on as before.
	trouble error
	writes  []string
	events  []string
	// plans is how often the program asked what there is.
	plans int
	// flying are the writes under way by slice; blind are namespaces whose watch is broken.
	flying map[string]int
	blind  map[string]bool
	// crowded says of namespaces what Hub says of one whose Services say too much: those that
	// are left are missing in a Snapshot.
	crowded map[string]error
	left    map[string]bool
	logger  *slog.Logger
	// maxChecks is that of the program.
	maxChecks int

	server *controller.Server
	stop   func()
}

type storedSlice struct {
	publish.Slice
	namespace, service, pool string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{
		t: t, docChanged: make(chan struct{}, 1), hubChanged: make(chan struct{}, 1), services: map[string]*assign.Service{}, slices: map[string]storedSlice{},
		followed: map[*int]func(){}, watched: map[string]bool{}, nodes: map[string][]inventory.Node{}, dead: map[string]bool{}, silent: map[string]bool{}, checkErr: map[string]error{}, flying: map[string]int{}, blind: map[string]bool{},
	}
}

// locked changes the world.
func (w *world) locked(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// documents puts these in place of all.
func (w *world) documents(texts ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set = documents.Advance(w.set, documents.Folder{Files: []documents.File{{Name: "all.yaml", Data: []byte(strings.Join(texts, "---\n"))}}})
	for _, m := range w.set.Mistakes {
		w.t.Fatalf("%v", m.Error())
	}
	notify(w.docChanged)
}

// poolOf is a document of a pool that allows shop and blog every port.
func poolOf(name string, subnets ...string) string {
	return "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointPool\nmetadata: {name: " + name + "}\nspec:\n  source: {file: {path: /x}}\n  subnets: [" + strings.Join(subnets, ", ") + "]\n" +
		"  allow: [{namespaces: [shop, blog], ports: [\"1-65535\"], maxServices: 10000, maxChecks: 20000}]\n"
}

// bindingOf binds a Service to pools; more are further fields of its spec.
func bindingOf(service, pools string, more ...string) string {
	namespace, name, _ := strings.Cut(service, "/")
	return "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: {" +
		strings.Join(append([]string{"pools: [{name: " + strings.ReplaceAll(pools, ", ", "}, {name: ") + "}]"}, more...), ", ") + "}\n"
}

// port is a port of a Service, like "http:8080" or "dns:53/UDP".
func portOf(text string) publish.ServicePort {
	name, rest, _ := strings.Cut(text, ":")
	number, protocol, _ := strings.Cut(rest, "/")
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		panic(err)
	}
	return publish.ServicePort{Name: name, Protocol: cmp.Or(publish.Protocol(protocol), publish.TCP), Port: uint16(n), TargetPort: uint16(n)}
}

// service makes or changes a Service.
func (w *world) service(key string, ports ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	namespace, name, _ := strings.Cut(key, "/")
	s := &assign.Service{Key: assign.Key{Namespace: namespace, Service: name}, Annotations: map[string]string{}, Service: publish.Service{UID: "uid-" + name, Traits: publish.Traits{IPv4: true, IPv6: true}}}
	if before := w.services[key]; before != nil {
		s.UID, s.Annotations = before.UID, before.Annotations
	}
	for _, text := range ports {
		s.Ports = append(s.Ports, portOf(text))
	}
	w.services[key] = s
	w.tell()
}

// remake deletes a Service and makes it again at once, as another object: the garbage
// collector takes the slices of the old one away a little later.
func (w *world) remake(key string) {
	w.mu.Lock()
	s := *w.services[key]
	old := s.UID
	w.version++
	s.UID = fmt.Sprintf("%s-%d", s.Key.Service, w.version)
	w.services[key] = &s
	w.tell()
	w.mu.Unlock()
	time.Sleep(42 * time.Millisecond)
	w.locked(func() {
		maps.DeleteFunc(w.slices, func(_ string, one storedSlice) bool { return one.Owner == old })
		w.tell()
	})
}

// tell says that something may be another. The lock is held.
func (w *world) tell() {
	w.tells++
	notify(w.hubChanged)
	for _, follow := range w.followed {
		follow()
	}
}

// pool gives a pool these nodes.
func (w *world) pool(name string, addresses ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[name] = nil
	for _, text := range addresses {
		w.nodes[name] = append(w.nodes[name], inventory.Node{Name: "n" + text, Addresses: []netip.Addr{netip.MustParseAddr(text)}, Ready: true, Worker: true})
	}
}

// Set and Changed are controller.Documents.
func (w *world) Set() documents.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

func (w *world) Changed() <-chan struct{} { return w.docChanged }

// worldHub is the local cluster.
type worldHub struct{ *world }

func (h worldHub) Changed() <-chan struct{}      { return h.hubChanged }
func (h worldHub) Watch(namespace string)        { h.locked(func() { h.watched[namespace] = true }) }
func (h worldHub) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (h worldHub) Find(context.Context) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]bool{}
	for _, s := range h.slices {
		found[s.namespace] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func (h worldHub) Local() assign.Local {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.world.plans++
	var out assign.Local
	for _, key := range slices.Sorted(maps.Keys(h.services)) {
		if namespace, _, _ := strings.Cut(key, "/"); h.watched[namespace] && !h.left[key] {
			out.Services = append(out.Services, *h.services[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.slices)) {
		s := h.slices[key]
		if !h.watched[s.namespace] {
			continue
		}
		p := assign.PublishedSlice{Key: assign.Key{Namespace: s.namespace, Service: s.service}, Slice: s.Name, Pool: s.pool, Ports: s.Ports, Endpoints: len(s.Endpoints), Changed: s.Changed}
		if s.Family == publish.IPv6 {
			p.IPv6 = p.Endpoints
		}
		p.Addresses = func() (all []netip.Addr) {
			for _, m := range s.Endpoints {
				all = append(all, m.Address)
			}
			return all
		}
		out.Published = append(out.Published, p)
	}
	for _, namespace := range slices.Sorted(maps.Keys(h.watched)) {
		sight := assign.Sight{Namespace: namespace, Complete: true}
		if h.blind[namespace] {
			sight.Err = errors.New("the watch is refused")
		}
		out.Sights = append(out.Sights, sight)
		if err := h.crowded[namespace]; err != nil {
			out.Sights = append(out.Sights, assign.Sight{Namespace: namespace, Complete: true, Crowded: true, Err: err})
		}
	}
	return out
}

// Open opens no store while a write of its slices is under way: whoever reads them then would
// not know of it.
func (h worldHub) Open(of publish.Target) (controller.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, n := range h.flying {
		if namespace, name, _ := strings.Cut(key, "/"); n > 0 && namespace == of.Namespace {
			if _, _, its := of.ParseName(name); its {
				h.t.Errorf("%s is opened while a write of it is under way", key)
			}
		}
	}
	return worldStore{h.world, of, new(h.tells)}, nil
}

// worldStore is the store of one target.
type worldStore struct {
	*world
	of publish.Target
	// opened is how often the world had told that something changed when the store was opened.
	opened *int
}

func (s worldStore) Release() { s.locked(func() { delete(s.followed, s.opened) }) }

// Follow tells at once of what changed before, as the store of the API server does.
func (s worldStore) Follow(changed func()) {
	s.locked(func() {
		if s.followed[s.opened] = changed; s.tells != *s.opened {
			changed()
		}
	})
}

func (s worldStore) Load(context.Context) (publish.State, error) {
	s.mu.Lock()
	slow := s.slow[s.of.Namespace+"/"+s.of.Service]
	s.mu.Unlock()
	if slow != nil {
		<-slow
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var state publish.State
	if s.unread[s.of.Namespace+"/"+s.of.Service] {
		return state, errors.New("not now")
	}
	if service := s.services[s.of.Namespace+"/"+s.of.Service]; service != nil {
		state.Service = service.Service
	}
	for _, one := range s.world.slices {
		if _, _, its := s.of.ParseName(one.Name); its && one.namespace == s.of.Namespace {
			state.Slices = append(state.Slices, one.Slice)
		}
	}
	slices.SortFunc(state.Slices, publish.CompareSlices)
	return state, nil
}

func (s worldStore) Write(ctx context.Context, w publish.Write) (string, error) {
	s.mu.Lock()
	fault := s.fault
	s.flying[s.of.Namespace+"/"+w.Slice.Name]++
	s.mu.Unlock()
	defer s.locked(func() { s.flying[s.of.Namespace+"/"+w.Slice.Name]-- })
	if fault != nil {
		takes, err := fault(s.of, w)
		timer := time.NewTimer(takes)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-timer.C:
		}
		if err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.of.Namespace + "/" + w.Slice.Name
	before, exists := s.world.slices[key]
	if exists != (w.Operation == publish.Update) || exists && before.Version != w.Slice.Version {
		return "", publish.ErrConflict
	}
	s.world.version++
	after := storedSlice{w.Slice, s.of.Namespace, s.of.Service, s.of.Pool}
	after.Version, after.Changed = strconv.Itoa(s.world.version), w.Trigger
	var err error
	if s.alter != nil && s.alter(s.of, &after.Slice) {
		err = publish.ErrStoredOtherwise
	}
	s.world.slices[key] = after
	s.world.writes = append(s.world.writes, fmt.Sprintf("%s %s", w.Operation, key))
	return after.Version, err
}

// usable are the addresses and ports that kube-proxy sends connections of the Service to.
func (w *world) usable(key string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.usableOf(key)
}

// usableOf is usable with the lock held.
func (w *world) usableOf(key string) (all []string) {
	for at, is := range w.usableIn(key, w.byService()[key]) {
		if is {
			all = append(all, at.String())
		}
	}
	slices.Sort(all)
	return all
}

// byService are the slices of each Service.
func (w *world) byService() map[string][]storedSlice {
	all := make(map[string][]storedSlice, len(w.services))
	for _, s := range w.slices {
		all[s.namespace+"/"+s.service] = append(all[s.namespace+"/"+s.service], s)
	}
	return all
}

// usableIn is what is usable of the slices of a Service. What terminates and serves counts where
// nothing is ready; families are apart.
func (w *world) usableIn(key string, its []storedSlice) map[netip.AddrPort]bool {
	all := map[netip.AddrPort]bool{}
	service := w.services[key]
	if service == nil {
		return all
	}
	for _, family := range []publish.Family{publish.IPv4, publish.IPv6} {
		for _, state := range []inventory.State{inventory.StateReady, inventory.StateDraining} {
			before := len(all)
			for _, s := range its {
				i := slices.IndexFunc(s.Ports, func(p publish.Port) bool {
					return p.Name == service.Ports[0].Name && p.Protocol == service.Ports[0].Protocol
				})
				if s.Family != family || i < 0 {
					continue
				}
				for _, m := range s.Endpoints {
					if m.State == state {
						all[netip.AddrPortFrom(m.Address, s.Ports[i].Number)] = true
					}
				}
			}
			if len(all) > before {
				break
			}
		}
	}
	return all
}

// shown is what all slices hold, for a failure's story.
func (w *world) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, key := range slices.Sorted(maps.Keys(w.slices)) {
		s := w.slices[key]
		text := key
		for _, p := range s.Ports {
			text += fmt.Sprintf(" %s:%d/%s", p.Name, p.Number, p.Protocol)
		}
		for _, m := range s.Endpoints {
			text += fmt.Sprintf(" %s=%s", m.Address, m.State)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// in returns the endpoints of a slice with their states.
func (w *world) in(slice string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []string{}
	for _, m := range w.slices[slice].Endpoints {
		all = append(all, fmt.Sprintf("%s=%s", m.Address, m.State))
	}
	return all
}

type worldSource struct {
	*world
	name string
}

func (s worldSource) Read(context.Context) ([]inventory.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.world.reads++
	return slices.Clone(s.nodes[s.name]), nil
}

// worldProber does one check.
type worldProber struct {
	*world
	check assign.Check
}

func (p worldProber) Check(_ context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready}
	time.Sleep(time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.silent[addr.String()]:
		r.Outcome, r.Reason = inventory.Silent, inventory.ProbeTimeout
	case !p.works(netip.AddrPortFrom(addr, p.check.Port)):
		r.Outcome, r.Reason = inventory.Refused, inventory.ProbeRefused
	}
	return r
}

// works reports whether a port of an address answers. The lock is held.
func (w *world) works(at netip.AddrPort) bool {
	return len(w.dead) == 0 || !w.dead[at.Addr().String()] && !w.dead[at.String()]
}

func (w *world) options() controller.Options {
	policy := guard.Policy{
		Rise: 2, Fall: 3, Interval: worldInterval, MaxSilentPercent: 50, FailOpen: true, MaxRemovalPercent: 50,
		Threshold: 10, PollInterval: worldPoll, DrainPeriod: worldDrain,
	}
	return controller.Options{
		Documents: w, Hub: worldHub{w}, Watch: func(ctx context.Context) error { <-ctx.Done(); return nil },
		Labels: func(context.Context) (map[string]map[string]string, error) { return nil, errors.New("not asked for") },
		Supply: func(p *v1alpha1.EndpointPool) (controller.Supply, error) {
			var rules filter.Rules
			for _, s := range p.Spec.Subnets {
				rules.Subnets = append(rules.Subnets, netip.MustParsePrefix(s))
			}
			return controller.Supply{
				Make: func() (controller.Origin, error) {
					w.mu.Lock()
					defer w.mu.Unlock()
					made := controller.Origin{Source: worldSource{w, p.Name}, Follow: w.follow}
					if w.noWay {
						made.Follow = nil
					}
					return made, w.makeErr
				},
				Free: true, Rules: rules, PollInterval: policy.PollInterval, Timeout: time.Second,
			}, nil
		},
		Checking: func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return controller.GroupCheck{Prober: worldProber{w, check}, Key: fmt.Sprint(check), Policy: policy, Timeout: time.Second, Trouble: func() (err error) {
				w.locked(func() { err = w.trouble })
				return err
			}}, w.checkErr[p.Name]
		},
		Announce: func(key assign.Key, n explain.Notice) {
			w.locked(func() { w.events = append(w.events, fmt.Sprintf("%s %s: %s", key, n.Reason, n.Note)) })
		},
		Logger: w.logger, ManagedBy: "us", MaxEndpoints: 100, Concurrency: 64, MaxChecks: w.maxChecks,
	}
}

// start starts the program.
func (w *world) start() {
	w.t.Helper()
	server, err := controller.New(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Run(ctx) }()
	w.server, w.stop = server, func() { cancel(); <-done }
}

// restart ends the program and starts it again: what is not in the slices is forgotten.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// during lets time pass.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// emptyFor lets time pass and returns for how long of it the Service had no usable endpoint.
func (w *world) emptyFor(key string, d time.Duration) (empty time.Duration) {
	const step = 20 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); {
		if during(step); len(w.usable(key)) == 0 {
			empty += step
		}
	}
	return empty
}

// told reports whether an Event of that reason was announced.
func (w *world) told(reason string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.events, func(e string) bool { return strings.Contains(e, " "+reason+": ") })
}

// annotate lets the Service ask for a pool.
func (w *world) annotate(key, pool string) {
	w.locked(func() {
		s := *w.services[key]
		s.Annotations = map[string]string{v1alpha1.AnnotationPool: pool}
		w.services[key] = &s
		w.tell()
	})
}

// endpoints are ready ones.
func endpoints(addresses ...string) (all []inventory.Member) {
	for _, text := range addresses {
		all = append(all, inventory.Member{Address: netip.MustParseAddr(text), State: inventory.StateReady})
	}
	return all
}

// quiet reports whether the program plans anew no more often than at rest.
func (w *world) quiet() bool {
	plans := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.plans
	}
	before := plans()
	during(5 * time.Minute)
	return plans()-before <= 12
}
