package xds

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// acknowledgeTime is how long a step of a fleet
// waits for the acknowledgement of its proxies.
const acknowledgeTime = 5 * time.Second

// fleet are the proxies of one name, and what they are sent. All access is under the lock
// of the server.
//
// A change goes in steps. Endpoints of clusters that are there never wait.
//
//	1  clusters and endpoints that are new
//	2  when all proxies have acknowledged these: listeners and routes
//	3  when all have acknowledged these: clusters and endpoints go that none needs now
type fleet struct {
	name string
	sent [envoyconfig.Kinds]*collection
	// wanted are the clusters that it is to have at the end.
	wanted  map[string]*resource
	proxies map[*client]struct{}
	// listed says that the file or an object names the fleet. Proxies of another one keep
	// the listeners that they have.
	listed bool
	// doubted is when something newer than what a listed fleet does may last have been unknown.
	doubted time.Time
	// told is what was last told of listeners that nothing confirms.
	told Definition
	// fresh are clusters that listeners and routes wait for, since when.
	fresh map[string]time.Time
	// led is what was sent last of listeners and routes, waiting what is to come, the oldest
	// first: while some wait for their clusters, those before them go.
	led     turn
	waiting []turn
	// leaving are clusters that no listener or route leads to any more, since when.
	leaving map[string]time.Time
	// late counts steps that were taken without all acknowledgements.
	late uint64
}

// turn are listeners and routes, and the clusters that they lead to.
type turn struct {
	at                          time.Time
	clusters, listeners, routes map[string]*resource
}

// turnGap is the time between two turns that wait. What comes in between waits with the later
// one.
const turnGap = 250 * time.Millisecond

func newFleet(name string) *fleet {
	f := &fleet{name: name, proxies: make(map[*client]struct{}), fresh: make(map[string]time.Time), leaving: make(map[string]time.Time)}
	for kind := range f.sent {
		f.sent[kind] = newCollection(envoyconfig.Kind(kind))
	}
	return f
}

// want makes the fleet get these resources.
func (f *fleet) want(all set, now time.Time) {
	f.wanted = all[envoyconfig.Clusters]
	for name := range all[envoyconfig.Clusters] {
		if f.sent[envoyconfig.Clusters].get(name) == nil {
			f.fresh[name] = now
		}
		delete(f.leaving, name)
	}
	if n := len(f.waiting); n > 1 && f.waiting[n-1].at.Sub(f.waiting[n-2].at) < turnGap {
		f.waiting = f.waiting[:n-1]
	}
	f.waiting = append(f.waiting, turn{now, all[envoyconfig.Clusters], all[envoyconfig.Listeners], all[envoyconfig.Routes]})
	// A proxy asks for the endpoints of a cluster as soon as it has the cluster, and is told
	// where there are none. A cluster that changed is followed by its endpoints.
	first := make(map[string]*resource)
	for name := range f.fresh {
		if one := all[envoyconfig.Endpoints][name]; one != nil {
			first[name] = one
		}
	}
	f.sent[envoyconfig.Endpoints].put(first)
	f.sent[envoyconfig.Clusters].put(all[envoyconfig.Clusters])
	f.sent[envoyconfig.Endpoints].put(all[envoyconfig.Endpoints])
	f.step(now)
}

// refresh replaces endpoints of clusters that the fleet has, also of those that are to go: routes
// lead to them until every proxy has acknowledged others. Nothing waits for endpoints. Those of
// another version of a cluster come with that version.
func (f *fleet) refresh(all set) {
	put := make(map[string]*resource)
	for name, one := range all[envoyconfig.Endpoints] {
		if f.sent[envoyconfig.Clusters].get(name) == all[envoyconfig.Clusters][name] {
			put[name] = one
		}
	}
	f.sent[envoyconfig.Endpoints].put(put)
}

// step goes as far as the acknowledgements allow.
func (f *fleet) step(now time.Time) {
	f.introduce(now)
	for n, next := range slices.Backward(f.waiting) {
		if f.ready(next) {
			f.lead(next)
			f.waiting = f.waiting[n+1:]
			break
		}
	}
	f.release(now)
	f.retire(now)
}

// introduce ends the wait for each cluster that every proxy knows, or that is old enough.
func (f *fleet) introduce(now time.Time) {
	for name, since := range f.fresh {
		cluster := f.sent[envoyconfig.Clusters].get(name)
		if cluster == nil || f.due(since, now, f.all(func(c *client) bool { return c.knows(name, cluster.version()) })) {
			delete(f.fresh, name)
		}
	}
}

// due reports whether a step may be taken: all have acknowledged what comes before, or it has
// waited long enough, which counts.
func (f *fleet) due(since, now time.Time, acknowledged bool) bool {
	late := now.Sub(since) >= acknowledgeTime
	if late && !acknowledged {
		f.late++
	}
	return acknowledged || late
}

// ready reports whether listeners and routes of a turn may be sent.
func (f *fleet) ready(t turn) bool {
	for name := range f.fresh {
		if _, leads := t.clusters[name]; leads {
			return false
		}
	}
	return true
}

// lead sends listeners and routes.
func (f *fleet) lead(t turn) {
	f.led = t
	f.sent[envoyconfig.Routes].put(t.routes)
	f.sent[envoyconfig.Listeners].become(t.listeners)
	f.sent[envoyconfig.Routes].become(t.routes)
}

// leads reports whether routes that were sent, or will be, lead to a cluster.
func (f *fleet) leads(cluster string) bool {
	_, leads := f.led.clusters[cluster]
	return leads || slices.ContainsFunc(f.waiting, func(t turn) bool { _, leads := t.clusters[cluster]; return leads })
}

// retire removes clusters and endpoints that no proxy needs any more.
func (f *fleet) retire(now time.Time) {
	var gone []string
	surplus := slices.DeleteFunc(f.sent[envoyconfig.Clusters].surplus(f.wanted), f.leads)
	if len(surplus) == 0 {
		return
	}
	listeners, routes := f.sent[envoyconfig.Listeners].versions(), f.sent[envoyconfig.Routes].versions()
	led := f.all(func(c *client) bool {
		return c.follows(envoyconfig.Listeners, listeners) && c.follows(envoyconfig.Routes, routes)
	})
	for _, name := range surplus {
		since, known := f.leaving[name]
		if !known {
			since = now
			f.leaving[name] = now
		}
		if f.due(since, now, led) {
			delete(f.leaving, name)
			gone = append(gone, name)
		}
	}
	f.sent[envoyconfig.Clusters].drop(gone)
	f.sent[envoyconfig.Endpoints].drop(gone)
}

// release tells proxies of what is to be removed that they had when they connected: of
// clusters once they had time to follow the newest routes, of listeners once something says
// which ones the fleet has. Such a proxy comes from another replica, which may know more: what
// is kept in doubt leads to its clusters.
func (f *fleet) release(now time.Time) {
	for c := range f.proxies {
		if now.Sub(f.sure(c)) < acknowledgeTime {
			continue
		}
		for _, kind := range f.releases() {
			c.wants[kind].release()
		}
	}
}

// sure is since when it is known what a proxy that came is not to have.
func (f *fleet) sure(c *client) time.Time {
	if f.doubted.After(c.since) {
		return f.doubted
	}
	return c.since
}

// releases are the kinds of which something may be removed, no listener before new ones are sent.
func (f *fleet) releases() []envoyconfig.Kind {
	if f.listed && len(f.waiting) == 0 {
		return []envoyconfig.Kind{envoyconfig.Listeners, envoyconfig.Clusters}
	}
	return []envoyconfig.Kind{envoyconfig.Clusters}
}

// waits returns when the next step is taken without acknowledgements; zero while none
// waits.
func (f *fleet) waits() time.Time {
	var next time.Time
	earliest := func(since time.Time) {
		if at := since.Add(acknowledgeTime); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for _, waiting := range []map[string]time.Time{f.fresh, f.leaving} {
		for _, since := range waiting {
			earliest(since)
		}
	}
	for c := range f.proxies {
		if slices.ContainsFunc(f.releases(), c.keeps) {
			earliest(f.sure(c))
		}
	}
	return next
}

// all reports whether something holds for each proxy.
func (f *fleet) all(holds func(*client) bool) bool {
	for c := range f.proxies {
		if !holds(c) {
			return false
		}
	}
	return true
}
