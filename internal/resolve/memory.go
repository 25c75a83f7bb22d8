package resolve

import (
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Memory is what one call of Resolve leaves for the next. The zero Memory is that of a
// process that just began.
type Memory struct {
	targets map[Key]target
	// pools are the last versions of the pools in use.
	pools map[string]v1alpha1.EndpointPool
}

// target is what a Service has.
type target struct {
	dryRun bool
	uses   []use
}

// use is what a target takes from one pool.
type use struct {
	Use
	// next is wanted instead.
	next *Use
	// end is why it is not wanted any more, since when; empty while it is wanted.
	end   end
	since time.Time
	// emptied says that its time is over.
	emptied bool
}

// end is why a use ends.
type end string

// The ends.
const (
	// vanished: the binding, the annotation or the pool is gone. That may be a mistake.
	vanished end = "vanished"
	// replaced: the team left the pool out of a valid binding.
	replaced end = "replaced"
	// revoked: the pool does not allow it any more.
	revoked end = "revoked"
)

// recovered adds to what is remembered the slices that nothing accounts for: after a
// restart a target that vanished meanwhile is in them alone. Such a target is checked
// as the pool says.
func recovered(in *Input, memory Memory, requests map[Key]request) (map[Key]target, []Published) {
	targets := make(map[Key]target, len(memory.targets))
	for key, t := range memory.targets {
		t.uses = slices.Clone(t.uses)
		targets[key] = t
	}
	pools := maps.Clone(memory.pools)
	if pools == nil {
		pools = map[string]v1alpha1.EndpointPool{}
	}
	for _, p := range in.Pools {
		pools[p.Name] = p
	}
	var lost []Published
	for _, p := range in.Published {
		t := targets[p.Key]
		known := slices.ContainsFunc(t.uses, func(u use) bool { return u.Pool == p.Pool })
		wanted := slices.Contains(requests[p.Key].spec.Pools, p.Pool)
		pool, exists := pools[p.Pool]
		switch {
		case known || p.Endpoints == 0:
		case !exists:
			lost = append(lost, p)
		case !wanted:
			t.uses = append(t.uses, use{Use: fromSlices(p, &pool)})
			targets[p.Key] = t
		}
	}
	return targets, lost
}

// fromSlices is the use that slices show.
func fromSlices(p Published, pool *v1alpha1.EndpointPool) Use {
	u := Use{Group: Group{Pool: p.Pool}, Ports: p.Ports}
	check, ok := checkOf(pool, nil, p.Ports)
	if !ok {
		first := slices.IndexFunc(p.Ports, func(port plan.Port) bool { return port.Protocol == plan.TCP })
		if first < 0 {
			check = Check{Mode: v1alpha1.HealthCheckNone}
		} else {
			check.Port = p.Ports[first].Number
		}
	}
	u.Check = check
	if p.Slice != u.SliceName(p.Key) {
		u.Adopt = p.Slice
	}
	return u
}
