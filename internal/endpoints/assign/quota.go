package assign

import (
	"fmt"
	"slices"

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
	// own are the groups that a namespace causes, made is how many checks they are, groups and
	// total are those of all.
	own    map[tenant]map[Group]bool
	made   map[tenant]int
	groups map[Group]bool
	total  int
}

// tenant is a namespace in a pool.
type tenant struct{ pool, namespace string }

// take counts a use, or says which limit it would exceed. Checks that the pool does for
// all its targets count for no namespace. What a target has already is never refused:
// a pool that got more nodes, or a lower limit, takes nothing away.
func (q *quota) take(key Key, u Use, allowed documents.Allowance, pool *v1alpha1.EndpointPool, had []use) string {
	t := tenant{u.Pool, key.Namespace}
	more := q.checks(u.Group)
	shared := u.Check.Mode == v1alpha1.HealthCheckNone || u.Check.Port == poolPort(pool) && u.Check == sharedCheck(pool)
	hasTarget := slices.ContainsFunc(had, func(o use) bool { return o.Pool == u.Pool })
	hasCheck := slices.ContainsFunc(had, func(o use) bool { return o.Group == u.Group })
	targets, made, total := len(q.targets[t])+1, q.made[t], q.total
	if !shared && !q.own[t][u.Group] {
		made += more
	}
	if !q.groups[u.Group] && u.Check.Mode != v1alpha1.HealthCheckNone {
		total += more
	}
	switch {
	case hasTarget && hasCheck:
	case !hasTarget && targets > allowed.MaxServices:
		return fmt.Sprintf("pool %s backs %d Services of namespace %s, which is its limit: this one is not filled; remove another, or ask the platform for a larger spec.allow[].maxServices", u.Pool, allowed.MaxServices, key.Namespace)
	case !shared && made > allowed.MaxChecks:
		return fmt.Sprintf("the different health checks of namespace %s on the endpoints of pool %s would be %d, more than the %d that the pool allows it: this Service is not filled; use the check of another Service, or ask the platform for a larger spec.allow[].maxChecks", key.Namespace, u.Pool, made, allowed.MaxChecks)
	case total > MaxChecks:
		return fmt.Sprintf("this health check would be one of more than %d checks of the whole controller: this Service is not filled; use the check of another Service, or spec.healthCheck.port of pool %s for all", MaxChecks, u.Pool)
	}
	put(q.targets, t, key)
	if !shared {
		put(q.own, t, u.Group)
		q.made[t] = made
	}
	q.groups[u.Group], q.total = true, total
	return ""
}

// sharedCheck is the check of a pool that has a port of its own.
func sharedCheck(pool *v1alpha1.EndpointPool) Check {
	c := pool.Spec.HealthCheck
	return Check{Mode: c.Mode, Port: poolPort(pool), Path: c.Path, Host: c.Host, ExpectedStatus: c.ExpectedStatus}
}

// put adds to a set of a map of sets.
func put[K, V comparable](sets map[K]map[V]bool, key K, value V) {
	if sets[key] == nil {
		sets[key] = map[V]bool{}
	}
	sets[key][value] = true
}
