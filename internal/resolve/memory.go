package resolve

import (
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
	// read are annotations, and what they stand for: to read those of 1,000 Services
	// takes longer than all the rest.
	read map[Key]annotated
}

// annotated is what annotations stand for.
type annotated struct {
	annotations map[string]string
	request     request
}

// target is what a Service has.
type target struct {
	dryRun bool
	uses   []use
}

// use is what a target takes from one pool.
type use struct {
	Use
	// recovered says that only slices tell of it yet.
	recovered bool
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
	// broken: the document of the pool cannot be used. Nothing ends by that.
	broken end = "broken"
)

// recovered adds to what is remembered the slices that nothing accounts for: after a
// restart a target that vanished meanwhile, or is not granted any more, is in them
// alone. Such a target is checked as the pool says.
func recovered(in *Input, memory Memory, wanted map[Key]request) (map[Key]target, []Published) {
	targets := make(map[Key]target, len(memory.targets))
	for key, t := range memory.targets {
		t.uses = slices.Clone(t.uses)
		targets[key] = t
	}
	pools := knownPools(in, memory)
	var lost []Published
	for _, p := range in.Published {
		t := targets[p.Key]
		known := slices.ContainsFunc(t.uses, func(u use) bool { return u.Pool == p.Pool })
		pool, exists := pools[p.Pool]
		switch {
		case known || p.Endpoints == 0:
		case !exists:
			lost = append(lost, p)
		default:
			t.uses = append(t.uses, use{Use: fromSlices(p, &pool, wanted), recovered: true})
			targets[p.Key] = t
		}
	}
	return targets, lost
}

// ownCheck is the check that a request says, nil for that of the pool. It counts for a port
// that the slices publish: that one was granted.
func ownCheck(p Published, req request) *v1alpha1.BindingHealthCheck {
	own := req.spec.HealthCheck
	if own == nil || own.Port != nil && !slices.ContainsFunc(p.Ports, func(port plan.Port) bool {
		return port.Protocol == plan.TCP && int32(port.Number) == *own.Port
	}) {
		return nil
	}
	return own
}

// fromSlices is the use that slices show, with the target's own check or, without one, the
// pool's.
func fromSlices(p Published, pool *v1alpha1.EndpointPool, wanted map[Key]request) Use {
	req, asked := wanted[p.Key]
	own := ownCheck(p, req)
	u := Use{Group: Group{Pool: p.Pool}, Ports: p.Ports, CheckBy: req.checkBy(own)}
	if asked {
		u.By = req.by()
	}
	check, ok := checkOf(pool, own, p.Ports)
	if !ok {
		first := slices.IndexFunc(p.Ports, func(port plan.Port) bool { return port.Protocol == plan.TCP })
		if first < 0 {
			check = Check{Mode: v1alpha1.HealthCheckNone}
		} else {
			check.Port = p.Ports[first].Number
		}
	}
	u.Check, u.PoolCheck = check, check == sharedCheck(pool)
	if p.Slice != u.SliceName(p.Key) {
		u.Adopt = p.Slice
	}
	return u
}
