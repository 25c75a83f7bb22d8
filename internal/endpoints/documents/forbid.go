package documents

import (
	"fmt"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// forbid notes what the pools of the set forbid its bindings. A new version of a binding
// that is forbidden does not replace an old one. A binding that did not change stays as
// it is: there the pool changed, and Allowed decides what follows.
func forbid(before Set, after *Set) {
	pools := map[string]*v1alpha1.EndpointPool{}
	for _, pool := range after.Pools() {
		pools[pool.Name] = pool
	}
	for i := range after.Entries {
		e := &after.Entries[i]
		if e.Binding == nil || e.Kept {
			continue
		}
		e.Forbidden = forbidden(*e, pools)
		old, existed := before.Entry(e.Key)
		if len(e.Forbidden) > 0 && existed && old.Usable() && !sameVersion(old, *e) && len(forbidden(old, pools)) == 0 {
			e.Binding, e.Kept = old.Binding, true
		}
	}
}

// forbidden says what pools forbid a binding. A pool that is not in the set, and one that
// selects namespaces by labels, cannot be judged without the cluster.
func forbidden(e Entry, pools map[string]*v1alpha1.EndpointPool) []Mistake {
	var found []Mistake
	note := func(field, rule, remedy string) {
		found = append(found, Mistake{File: e.File, Line: e.Line, Document: e.Key.String(), Field: field, Rule: rule, Remedy: remedy})
	}
	for i, of := range e.Binding.Spec.Pools {
		name := of.Name
		pool := pools[name]
		if pool == nil || slices.ContainsFunc(pool.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil }) {
			continue
		}
		allowed := Allowed(&pool.Spec, e.Key.Namespace, nil)
		if len(allowed.Ports) == 0 {
			note(fmt.Sprintf("spec.pools[%d]", i), fmt.Sprintf("the pool %s does not allow the namespace %s", name, e.Key.Namespace), "name another pool, or ask the platform for an entry in spec.allow of the pool")
			continue
		}
		if r := of.RemoteService; r != nil && !slices.Contains(allowed.RemoteNamespaces, r.Namespace) {
			note(fmt.Sprintf("spec.pools[%d].remoteService", i), fmt.Sprintf("the pool %s does not allow the namespace %s to follow Services of the remote namespace %s", name, e.Key.Namespace, r.Namespace), "remove it, or ask the platform to name the remote namespace in spec.allow[].remoteNamespaces of the pool")
		}
		for field, port := range portsOf(&e.Binding.Spec) {
			if !allowed.Ports.Contains(int(port)) {
				note(field, fmt.Sprintf("the pool %s does not allow the namespace %s to use port %d", name, e.Key.Namespace, port), "use one of the ports "+allowed.Ports.String()+", or ask the platform for an entry in spec.allow of the pool")
			}
		}
	}
	slices.SortFunc(found, Mistake.compare)
	return found
}

// portsOf returns every port that a binding names, by field.
func portsOf(s *v1alpha1.EndpointBindingSpec) map[string]int32 {
	ports := map[string]int32{}
	for i, port := range s.Ports {
		ports[fmt.Sprintf("spec.ports[%d].port", i)] = port.Port
	}
	if c := s.HealthCheck; c != nil && c.Port != nil {
		ports["spec.healthCheck.port"] = *c.Port
	}
	return ports
}
