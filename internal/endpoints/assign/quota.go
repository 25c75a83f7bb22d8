package assign

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// MaxChecks is how many distinct checks, an address and a health check each, one
// process does: 44 us of CPU each, so half a core at one every 2 s.
const MaxChecks = 20_000

// quota counts what was granted in one pass.
type quota struct {
	checks  func(Group) int
	targets map[tenant]map[Key]bool
	// off says that nothing is counted or refused.
	off bool
	// own are the groups that a namespace causes, made is how many checks they are, groups and
	// total are those of all.
	own    map[tenant]map[Group]bool
	made   map[tenant]int
	groups map[Group]bool
	total  int
}

// tenant is a namespace in a pool.
type tenant struct{ pool, namespace string }

// take counts a use, or says which limit it would exceed. What a target has already is never
// refused: a pool that got more nodes, or a lower limit, takes nothing away.
func (q *quota) take(key Key, u Use, allowed documents.Allowance, had []use) string {
	if q.off {
		return ""
	}
	hasTarget := slices.ContainsFunc(had, func(o use) bool { return o.Pool == u.Pool })
	hasCheck := slices.ContainsFunc(had, func(o use) bool { return o.Group == u.Group })
	targets, made, total := q.with(key, &u)
	switch {
	case hasTarget && hasCheck:
	case !hasTarget && targets > allowed.MaxServices:
		return fmt.Sprintf("pool %s backs %d Services of namespace %s, which is its limit: this one is not filled; remove another, or ask the platform for a larger spec.allow[].maxServices", u.Pool, allowed.MaxServices, key.Namespace)
	case !u.shared() && made > allowed.MaxChecks:
		return fmt.Sprintf("the different health checks of namespace %s on the endpoints of pool %s would be more than the %d that the pool allows it: this Service is not filled; use the check of another Service, or ask the platform for a larger spec.allow[].maxChecks", key.Namespace, u.Pool, allowed.MaxChecks)
	case total > MaxChecks:
		return fmt.Sprintf("this health check would be one of more than %d checks of the whole controller: this Service is not filled; use the check of another Service, or spec.healthCheck.port of pool %s for all", MaxChecks, u.Pool)
	}
	q.add(key, &u)
	return ""
}

// keep counts what a target has without being granted it now: a mistake, or a document that is
// gone, makes no room for others. What is handed over does not count beside what takes over.
func (q *quota) keep(key Key, t target) {
	for i := range t.uses {
		if u := &t.uses[i]; (u.end != replaced || t.refused) && u.next == nil && !u.emptied && !u.unknown {
			q.add(key, &u.Use)
		}
	}
}

// with returns what the counts are with one more use.
func (q *quota) with(key Key, u *Use) (targets, made, total int) {
	t := tenant{u.Pool, key.Namespace}
	targets, made, total = len(q.targets[t]), q.made[t], q.total
	if !q.targets[t][key] {
		targets++
	}
	if !u.shared() && !q.own[t][u.Group] {
		made += q.checks(u.Group)
	}
	if !q.groups[u.Group] {
		total += q.checks(u.Group)
	}
	return targets, made, total
}

// add counts a use, once.
func (q *quota) add(key Key, u *Use) {
	t := tenant{u.Pool, key.Namespace}
	_, q.made[t], q.total = q.with(key, u)
	put(q.targets, t, key)
	if !u.shared() {
		put(q.own, t, u.Group)
	}
	q.groups[u.Group] = true
}

// shared reports whether a use causes no check of its namespace's own: the pool does it for all
// its targets, or there is none.
func (u *Use) shared() bool { return u.PoolCheck || u.Check.Mode == v1alpha1.HealthCheckNone }

// sharedCheck is the check of a pool that has a port of its own; 0 where each target's is checked.
func sharedCheck(pool *v1alpha1.EndpointPool) Check {
	c := pool.Spec.HealthCheck
	return Check{Mode: c.Mode, Port: uint16(ptr.Deref(c.Port, 0)), Path: c.Path, Host: c.Host, ExpectedStatus: c.ExpectedStatus}
}

// put adds to a set of a map of sets.
func put[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][value] = true
}
