package controller_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// at is a port of an address.
func at(address string, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(address), port)
}

// look holds what kube-proxy uses against what there is.
func (h *history) look() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	its := h.byService()
	for _, name := range slices.Sorted(maps.Keys(h.ports)) {
		away := controllertest.None
		if time.Since(h.changed[name]) < 3*time.Second {
			away = controllertest.OtherPorts
		}
		if _, left := h.Left[name]; left && time.Since(h.removed) > v1alpha1.DefaultReleaseAfter-time.Second {
			away = controllertest.Released
		}
		if problem := h.oracle.Look(name, h.truth(name, its[name]), away); problem != "" {
			return problem
		}
	}
	return ""
}

// truth are the endpoints of a Service: those that slices have or had just now, and those that its
// documents name.
func (h *history) truth(name string, its []storedSlice) []controllertest.Endpoint {
	found := make(map[netip.AddrPort]controllertest.Endpoint, 12)
	port := h.services[name].Ports[0].TargetPort
	for _, pool := range h.Bindings[name].Pools {
		for _, addr := range h.Pools[pool].nodes {
			e := controllertest.Endpoint{At: at(addr, port), Unable: h.unable(name, pool)}
			found[e.At] = e
		}
	}
	for key := range h.used[name] {
		if _, named := found[key]; !named {
			found[key] = controllertest.Endpoint{At: key, Unable: controllertest.Replaced, Old: true}
		}
	}
	for _, s := range its {
		if len(s.Ports) == 0 {
			continue
		}
		for _, m := range s.Endpoints {
			key := netip.AddrPortFrom(m.Address, s.Ports[0].Number)
			e, named := found[key]
			if e.At = key; !named {
				e.Unable = controllertest.Replaced
			}
			e.Old = e.Old || !slices.Contains(h.Bindings[name].Pools, s.pool)
			if m.State == inventory.StateReady {
				e.Stays = max(e.Stays, h.stays(s))
			}
			found[e.At] = e
		}
	}
	used := h.usableIn(name, its)
	h.used[name] = used
	var all []controllertest.Endpoint
	for _, key := range slices.SortedFunc(maps.Keys(found), netip.AddrPort.Compare) {
		e := found[key]
		e.Answers, e.Used = h.works(key), used[key]
		all = append(all, e)
	}
	controllertest.TooFew(all)
	if h.altered(name, its) {
		for i := range all {
			all[i].Unable = controllertest.StoredOtherwise
		}
	}
	return all
}

// delayed is how long what was refused may wait until it is tried again, and what was stored
// otherwise.
func delayed(kind string) time.Duration {
	if kind == aWebhook {
		return 5*time.Minute + 30*time.Second
	}
	return 45 * time.Second
}

// unable is why the endpoints of a pool cannot be published for a Service.
func (h *history) unable(name, pool string) controllertest.Promise {
	if len(h.ports[name]) != 1 {
		return controllertest.Unclear
	}
	if h.empty[pool] || time.Since(h.filled[pool]) < worldPoll+time.Second {
		return controllertest.WrongInventory
	}
	namespace, _, _ := strings.Cut(name, "/")
	for _, t := range h.troubles {
		if t.concerns(namespace, pool) && (t.ended.IsZero() || time.Since(t.ended) < delayed(t.kind)) {
			return controllertest.Refused
		}
	}
	return controllertest.None
}

// altered reports whether a webhook may change slices of a Service, or did so a while ago: those that it
// has, and those of the pools that its documents name.
func (h *history) altered(name string, its []storedSlice) bool {
	namespace, _, _ := strings.Cut(name, "/")
	pools := slices.Clone(h.Bindings[name].Pools)
	for _, s := range its {
		pools = append(pools, s.pool)
	}
	return slices.ContainsFunc(h.troubles, func(t trouble) bool {
		concerns := func(pool string) bool { return t.concerns(namespace, pool) }
		return t.kind == aWebhook && slices.ContainsFunc(pools, concerns) && (t.ended.IsZero() || time.Since(t.ended) < delayed(t.kind))
	})
}

// stays is why an endpoint may stay in a slice of a Service when it is dead.
func (h *history) stays(s storedSlice) controllertest.Promise {
	if _, described := h.Pools[s.pool]; !described {
		return controllertest.Kept
	}
	for _, t := range h.troubles {
		if t.kind == noWrites && t.concerns(s.namespace, s.pool) && (t.ended.IsZero() || time.Since(t.ended) < delayed(t.kind)) {
			return controllertest.CannotWrite
		}
	}
	return controllertest.None
}
