package many_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// step is something that happens. It says what with note.
type step struct {
	weight int
	happen func(w *world, r *rand.Rand)
}

// steps are all that may happen.
func steps() []step {
	return []step{
		{4, func(w *world, r *rand.Rand) { w.hurt(r, "dies", func(m *machine) map[uint16]bool { return m.dead }) }},
		{2, func(w *world, r *rand.Rand) {
			w.hurt(r, "falls silent", func(m *machine) map[uint16]bool { return m.silent })
		}},
		{5, (*world).heal},
		{1, (*world).dieTogether},
		{3, (*world).replace},
		{3, (*world).troubleSource},
		{4, (*world).troubleWrites},
		{5, (*world).edit},
		{4, (*world).restore},
		{1, (*world).recreate},
		{1, (*world).renamePort},
		{2, (*world).troubleKinds},
		{3, (*world).move},
		{1, (*world).moveAll},
		{2, (*world).adopt},
		{2, (*world).change},
	}
}

// happen lets one thing happen. The lock is held.
func (w *world) happen(r *rand.Rand) {
	all, sum := steps(), 0
	for _, s := range all {
		sum += s.weight
	}
	at := r.IntN(sum)
	for _, s := range all {
		if at -= s.weight; at < 0 {
			s.happen(w, r)
			return
		}
	}
}

// any returns a machine, and the ports of those that use it.
func (w *world) any(r *rand.Rand) *machine {
	c := w.clusters[[]string{"blue", "red"}[r.IntN(2)]]
	return c.machines[r.IntN(len(c.machines))]
}

// hurt lets a machine, or one of its workloads, stop answering.
func (w *world) hurt(r *rand.Rand, how string, of func(*machine) map[uint16]bool) {
	m, port := w.any(r), []uint16{0, 0, 30080, 30082, 31080, 31081}[r.IntN(6)]
	of(m)[port] = true
	m.since = time.Now()
	w.note("%s %s at port %d", m.Name, how, port)
}

// dieTogether lets most machines of a pool die at once.
func (w *world) dieTogether(r *rand.Rand) {
	c := w.clusters[[]string{"blue", "red"}[r.IntN(2)]]
	for _, m := range c.machines[1:] {
		m.dead[0], m.since = true, time.Now()
	}
	w.note("all of %s but %s die", c.name, c.machines[0].Name)
}

// heal lets a machine that does not answer everywhere answer again.
func (w *world) heal(r *rand.Rand) {
	for range 10 {
		if m := w.any(r); len(m.dead)+len(m.silent) > 0 {
			clear(m.dead)
			clear(m.silent)
			m.since = time.Now()
			w.note("%s answers again", m.Name)
			return
		}
	}
}

// replace lets a machine join and announces that another leaves.
func (w *world) replace(r *rand.Rand) {
	c := w.clusters[[]string{"blue", "red"}[r.IntN(2)]]
	old := c.machines[r.IntN(len(c.machines))]
	w.note("%s joins, %s leaves", w.join(c).Name, old.Name)
	old.Leaving, old.since = true, time.Now()
	time.AfterFunc(time.Duration(15+r.IntN(20))*time.Second+w.dice("gone").odd(), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		c.machines = slices.DeleteFunc(c.machines, func(m *machine) bool { return m == old })
		w.note("%s is gone", old.Name)
		w.tell(c)
	})
}

// troubleSource lets the source of a pool fail or lie.
func (w *world) troubleSource(r *rand.Rand) {
	c := w.clusters[[]string{"blue", "red"}[r.IntN(2)]]
	c.trouble = []string{sourceFails, sourceHangs, sourceEmpty, sourceTruncated, sourcePanics}[r.IntN(5)]
	c.until = time.Now().Add(time.Duration(5+r.IntN(60)) * time.Second)
	if c.trouble == sourceTruncated && time.Since(c.truncated) >= readAgain {
		c.lies = time.Now()
	}
	if c.trouble == sourceTruncated || time.Since(c.truncated) < readAgain { // it may not have been read as a whole since
		c.truncated = c.until
	}
	w.note("the source of %s %s for %s", c.name, c.trouble, time.Until(c.until))
	w.tell(c)
}

// troubleWrites lets the API server be in trouble with one namespace, or the slices of one pool.
func (w *world) troubleWrites(r *rand.Rand) {
	t := trouble{
		kind:  []string{refusesWrites, refusesWrites, refusesCreates, leavesOut, isNotWatched}[r.IntN(5)],
		place: []string{"shop", "blog", "pay", "blue", "red"}[r.IntN(5)],
	}
	takes := time.Duration(5+r.IntN(60)) * time.Second
	w.local.until[t] = time.Now().Add(takes)
	w.note("%s %s for %s", t.place, t.kind, takes)
	w.local.tell()
}

// one draws a key of a map.
func one[V any](r *rand.Rand, of map[string]V) string {
	names := slices.Sorted(maps.Keys(of))
	return names[r.IntN(len(names))]
}

// some draws one or two pools that a Service may use, if there are any.
func (w *world) some(r *rand.Rand, of wish) []string {
	allowed := maps.Clone(w.Pools)
	maps.DeleteFunc(allowed, func(_ string, p part) bool { return p.cluster.allow[of.namespace] == "" })
	if len(allowed) == 0 {
		return nil
	}
	pools := []string{one(r, allowed)}
	if other := one(r, allowed); other != pools[0] && r.IntN(3) == 0 {
		pools = append(pools, other)
	}
	return pools
}

// move lets a Service want other pools.
func (w *world) move(r *rand.Rand) {
	of := w.wishes[r.IntN(len(w.wishes))]
	w.moveTo(of, w.some(r, of))
	w.note("Service %s wants %v", of.key(), w.uses(of))
	w.write()
}

// moveAll lets all Services that may use the pools of one of them want these.
func (w *world) moveAll(r *rand.Rand) {
	as := w.wishes[r.IntN(len(w.wishes))]
	pools := w.some(r, as)
	for _, of := range w.wishes {
		if of.namespace == as.namespace {
			w.moveTo(of, pools)
		}
	}
	w.note("all Services of %s want %v", as.namespace, pools)
	w.write()
}

// moveTo changes the pools of a Service that has a binding or an annotation.
func (w *world) moveTo(of wish, pools []string) {
	if _, bound := w.Bindings[of.key().String()]; bound && len(pools) > 0 {
		w.Bindings[of.key().String()] = controllertest.Binding{Pools: pools}
	}
}

// adopt lets a Service have slices of another name, or of none.
func (w *world) adopt(r *rand.Rand) {
	of := w.wishes[r.IntN(len(w.wishes))]
	b := w.Bindings[of.key().String()]
	if of.annotated || len(b.Pools) != 1 {
		return
	}
	b.Adopt = []string{"", w.Fresh(adoptedName(of))}[r.IntN(2)]
	w.Bindings[of.key().String()] = b
	w.note("Service %s adopts %q", of.key(), b.Adopt)
	w.write()
}

// adoptedName is how the names begin that a Service adopts.
func adoptedName(of wish) string { return of.namespace + "-" + of.service + "-remote" }

// change lets a pool have another name, be two pools or one, or go together with its bindings.
func (w *world) change(r *rand.Rand) {
	pool := one(r, w.Pools)
	change := []func(string) string{w.Rename, w.Split, w.Remove}[r.IntN(3)]
	w.note("%s", change(pool))
	w.write()
}

// edit changes a document: so that it means the same, is invalid, or is gone.
func (w *world) edit(r *rand.Rand) {
	name := one(r, w.should)
	was := w.should[name]
	switch what := r.IntN(7); what {
	case 6:
		if strings.Contains(was, "EndpointPool") {
			w.files[name] = rewrite(r, was)
			w.note("%s changes how it is read or judged", name)
		}
	case 0:
		w.files[name] = was + "# the same\n"
		w.note("%s changes and says the same", name)
	case 1:
		w.files[name] = was + "  unknown: field\n"
		w.note("%s has a mistake", name)
	case 2:
		w.files[name] = was[:r.IntN(len(was))]
		w.note("%s is cut off", name)
	case 3:
		delete(w.files, name)
		w.note("%s is gone", name)
	case 4:
		w.files[name] = ""
		w.note("%s is empty", name)
	default:
		if r.IntN(3) == 0 {
			clear(w.files)
			w.note("all files are gone")
		}
	}
	w.read()
}

// restore makes the documents sound again.
func (w *world) restore(*rand.Rand) {
	if w.soundNow() {
		return
	}
	clear(w.files)
	maps.Copy(w.files, w.should)
	w.note("the documents are sound")
	w.read()
}

// soundNow reports whether every document is as it should be.
func (w *world) soundNow() bool {
	for name, text := range w.should {
		if w.files[name] != text {
			return false
		}
	}
	return w.kindsAreThere()
}

// recreate deletes a Service, and makes it again later.
func (w *world) recreate(r *rand.Rand) {
	of := w.wishes[r.IntN(len(w.wishes))]
	if w.local.services[of.key().String()] == nil {
		return
	}
	w.local.remove(of)
	w.note("Service %s is deleted", of.key())
	w.rough[of.key().String()] = time.Now().Add(time.Hour)
	time.AfterFunc(time.Duration(r.IntN(20_000))*time.Millisecond+w.dice("again").odd(), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.local.create(of)
		w.note("Service %s is made again", of.key())
		w.rough[of.key().String()] = time.Now().Add(30 * time.Second)
	})
}

// renamePort gives the port of a Service another name. Until slices have it, kube-proxy uses none.
func (w *world) renamePort(r *rand.Rand) {
	of := w.wishes[r.IntN(len(w.wishes))]
	was := w.local.services[of.key().String()]
	if was == nil {
		return
	}
	service, port := *was, was.Ports[0]
	port.Name = map[string]string{"": "web", "web": "http", "http": ""}[port.Name]
	service.Ports = []publish.ServicePort{port}
	w.local.services[of.key().String()] = &service
	w.note("the port of Service %s is %q", of.key(), port.Name)
	w.rough[of.key().String()] = time.Now().Add(30 * time.Second)
	w.local.tell()
}

// calm ends all trouble except single machines that refuse. The lock is held.
func (w *world) calm() {
	w.note("calm")
	if w.carrier != nil {
		clear(w.carrier.absent)
		clear(w.carrier.refused)
		w.readObjects()
	}
	w.Back()
	w.Whole()
	w.write()
	w.restore(nil)
	for _, name := range []string{"blue", "red"} {
		c := w.clusters[name]
		c.trouble, c.until = "", time.Now()
		for _, m := range c.machines {
			if len(m.silent) > 0 {
				clear(m.silent)
				m.since = time.Now()
			}
		}
		w.tell(c)
	}
	for t, until := range w.local.until {
		if time.Now().Before(until) {
			w.local.until[t] = time.Now()
		}
	}
	w.local.tell()
}
