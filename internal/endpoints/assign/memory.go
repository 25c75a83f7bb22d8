package assign

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Memory is what one call of Resolve leaves for the next. The zero Memory is that of a
// process that just began.
type Memory struct {
	targets map[Key]target
	// pools are the last versions of the pools in use.
	pools map[string]v1alpha1.EndpointPool
	// read are annotations, and what they stand for: to read those of 1,000 Services
	// takes longer than all the rest.
	read map[Key]annotationRequest
}

// annotationRequest is what annotations stand for.
type annotationRequest struct {
	annotations map[string]string
	request     request
}

// target is what a Service has.
type target struct {
	dryRun bool
	// refused says that what it asks for is not granted, or not all of it.
	refused bool
	uses    []use
}

// use is what a target takes from one pool.
type use struct {
	Use
	// began is since when it is wanted, and left since when it is not any more; both are zero for what
	// a restart found.
	began, left time.Time
	// uncounted says that it was granted before it was known how many checks that is.
	uncounted bool
	// recovered says that only slices tell of it yet, unknown that nothing is known of its
	// pool: lost is how many endpoints the slices hold then.
	recovered, unknown bool
	lost               int
	// next is wanted instead, and waits is what for.
	next  *Use
	waits handOver
	// end is why it is not wanted any more, since when; empty while it is wanted.
	end   end
	since time.Time
	// drains is since when others have taken over, emptied says that its time is over.
	drains  time.Time
	emptied bool
}

// end is why a use ends.
type end string

// The ends.
const (
	// vanished: the binding, the annotation or the pool is gone. That may be a mistake.
	vanished end = "vanished"
	// replaced: a valid binding or annotation does not name the pool, or the slices.
	replaced end = "replaced"
	// revoked: the pool does not allow it any more.
	revoked end = "revoked"
	// broken: the document of the pool cannot be used. Nothing ends by that.
	broken end = "broken"
)

// recovered adds to what is remembered the slices that nothing accounts for: after a
// restart a target that vanished meanwhile, or is not granted any more, is in them
// alone, and so is what a hand-over had not taken yet. Such a target is checked as the
// pool says.
func (r *rules) recovered(memory Memory, wanted map[Key]request) map[Key]target {
	targets := make(map[Key]target, len(memory.targets))
	pools := knownPools(r.in, memory)
	for key, t := range memory.targets {
		t.uses = slices.DeleteFunc(slices.Clone(t.uses), func(u use) bool {
			_, known := pools[u.Pool]
			return u.unknown && known || // its slices tell the rest
				u.uncounted && r.in.Nodes[u.Pool] > 0 && !r.publishes(key, &u) // it is asked for as if it were new
		})
		if len(t.uses) == 0 {
			continue
		}
		for i := range t.uses {
			t.uses[i].lost = 0
		}
		targets[key] = t
	}
	const mostUses = 100 // of one Service: whoever may write slices decides how many names these have, and each is compared with all
	for _, p := range r.in.Published {
		t := targets[p.Key]
		i := slices.IndexFunc(t.uses, func(u use) bool { return u.owns(p.Key, p.Slice) })
		switch {
		case p.Endpoints == 0, i < 0 && len(t.uses) >= mostUses:
		case i < 0:
			if u, ours := r.fromSlice(p, memory, pools, wanted); ours {
				t.uses = append(t.uses, u)
				targets[p.Key] = t
			}
		case t.uses[i].unknown:
			t.uses[i].lost += p.Endpoints
		case t.uses[i].recovered && r.wantsPorts(p, wanted): // of several slices one has the new ports already
			t.uses[i].Ports = p.Ports
		}
	}
	return targets
}

// wantsPorts reports whether a slice has the ports that are wanted.
func (r *rules) wantsPorts(p PublishedSlice, wanted map[Key]request) bool {
	req, asked := wanted[p.Key]
	if !asked {
		return false
	}
	ports, refusal := r.ports(p.Key, req)
	return refusal.Reason == "" && r.samePorts(p.Key, &Use{Ports: p.Ports}, &Use{Ports: ports.Ports, PortFromService: ports.PortFromService})
}

// fromSlice is the use that a slice shows, with the target's own check or, without one, the
// pool's. A slice without the label of a pool is another installation's, unless its name or
// its addresses are those of a pool that the Service asks for. Where the Service asks for
// another pool than the label says, of which nothing is known, as after a pool was renamed, the one
// that has all its addresses can check them, where it begins with them: what it decided without them
// would take them away.
func (r *rules) fromSlice(p PublishedSlice, memory Memory, pools map[string]v1alpha1.EndpointPool, wanted map[Key]request) (use, bool) {
	req, asked := wanted[p.Key]
	u := use{Use: Use{Group: Group{Pool: p.Pool}, Ports: p.Ports}, recovered: true}
	if asked {
		u.By = req.by()
	}
	if !u.owns(p.Key, p.Slice) {
		u.Adopt = firstName(p)
	}
	for _, name := range req.spec.PoolNames() {
		if is := (Use{Group: Group{Pool: name}, Adopt: req.spec.Adopt}); is.owns(p.Key, p.Slice) {
			u.Adopt, u.Pool = req.spec.Adopt, cmp.Or(u.Pool, name)
		}
	}
	pool, exists := pools[u.Pool]
	if !exists && asked && r.in.complete(p.Namespace) && !slices.Contains(req.spec.PoolNames(), u.Pool) {
		if other := r.poolOf(p, req.spec.PoolNames(), pools); other != "" && !memory.uses(other) {
			u.Adopt, u.Pool = cmp.Or(u.Adopt, u.SliceName(p.Key)), other
			pool, exists = pools[other], true
		}
	}
	if !u.owns(p.Key, p.Slice) {
		u.Adopt = p.Slice // otherwise each plan would find one more use in it
	}
	switch {
	case u.Pool == "":
		return use{}, false
	case !exists:
		u.unknown, u.lost = true, p.Endpoints
		return u, true
	}
	own := r.ownCheck(p, req, &pool)
	check, ok := CheckOf(&pool, own, p.Ports)
	if !ok {
		first := slices.IndexFunc(p.Ports, func(port publish.Port) bool { return port.Protocol == publish.TCP })
		if first < 0 {
			check = Check{Mode: v1alpha1.HealthCheckNone}
		} else {
			check = Check{Mode: v1alpha1.HealthCheckTCP, Port: p.Ports[first].Number}
		}
	}
	u.Check, u.PoolCheck, u.CheckBy = check, check == sharedCheck(&pool), req.checkBy(own)
	if remote := req.remoteOf(u.Pool); req.variables || follows(documents.Allowed(&pool.Spec, p.Namespace, r.in.Namespaces[p.Namespace]), remote) {
		u.Remote = remote
	}
	return u, true
}

// uses reports whether something was taken from a pool before.
func (m Memory) uses(pool string) bool {
	for _, t := range m.targets {
		if slices.ContainsFunc(t.uses, func(u use) bool { return u.Pool == pool }) {
			return true
		}
	}
	return false
}

// poolOf returns the one of the named pools that has all addresses of a slice in its subnets and
// allows its ports, empty if none has, or several have or may have.
func (r *rules) poolOf(p PublishedSlice, names []string, pools map[string]v1alpha1.EndpointPool) string {
	if p.Addresses == nil {
		return ""
	}
	addresses, found := p.Addresses(), ""
	for _, name := range names {
		pool, known := pools[name]
		outside := func(addr netip.Addr) bool {
			return !slices.ContainsFunc(pool.Spec.Subnets, func(text string) bool {
				subnet, err := netip.ParsePrefix(text)
				return err == nil && subnet.Contains(addr)
			})
		}
		_, forbidden := forbids(documents.Allowed(&pool.Spec, p.Namespace, r.in.Namespaces[p.Namespace]), Use{Ports: p.Ports})
		has := len(addresses) > 0 && !forbidden && !slices.ContainsFunc(addresses, outside)
		switch {
		case !known, has && found != "":
			return ""
		case has:
			found = name
		}
	}
	return found
}

// firstName is the name of the first of the slices, of which this is one that has another
// name than the pool gives.
func firstName(p PublishedSlice) string {
	for at := len(p.Slice); at > 0; at = strings.LastIndexAny(p.Slice[:at], "-.") {
		first := publish.Target{Service: p.Service, Pool: p.Pool, SliceName: p.Slice[:at]}
		if family, number, ok := first.ParseName(p.Slice); ok && (number > 1 || family == publish.IPv6) {
			return first.SliceName
		}
	}
	return p.Slice
}

// ownCheck is the check that a request says, nil for that of the pool. Where it checks one
// of the wanted ports, the slices' own is checked in place of that; any other port has to be
// allowed.
func (r *rules) ownCheck(p PublishedSlice, req request, pool *v1alpha1.EndpointPool) *v1alpha1.BindingHealthCheck {
	own := req.spec.HealthCheck
	has := func(ports []publish.Port) bool {
		return slices.ContainsFunc(ports, func(port publish.Port) bool { return port.Protocol == publish.TCP && int32(port.Number) == *own.Port })
	}
	switch {
	case own == nil, own.Port == nil, has(p.Ports):
		return own
	case has(r.offered(p.Key)), slices.ContainsFunc(req.spec.Ports, func(port v1alpha1.BindingPort) bool { return port.Port == *own.Port }):
		of := *own
		of.Port = nil
		return &of
	case documents.Allowed(&pool.Spec, p.Namespace, r.in.Namespaces[p.Namespace]).Ports.Contains(int(*own.Port)):
		return own
	}
	return nil
}
