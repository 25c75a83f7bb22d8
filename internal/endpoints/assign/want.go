package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// rules are what wishes are held against.
type rules struct {
	in *Input
	// before and after are what targets have in the memory, and by this plan so far.
	before, after map[Key]target
	// adopted says in which namespaces a name is adopted, or asked for.
	adopted map[string]bool

	pools    map[string]*v1alpha1.EndpointPool
	services map[Key]*Service
	slices   map[Key][]PublishedSlice
	quota    quota
}

// broken reports whether a pool exists and its document cannot be used.
func (r *rules) broken(name string) bool {
	return r.pools[name] == nil && slices.ContainsFunc(r.in.OnlyChecked, func(p v1alpha1.EndpointPool) bool { return p.Name == name })
}

func newRules(in *Input) *rules {
	r := &rules{
		in: in, pools: make(map[string]*v1alpha1.EndpointPool, len(in.Pools)), services: make(map[Key]*Service, len(in.Services)),
		slices: make(map[Key][]PublishedSlice, len(in.Published)), quota: quota{checks: in.Checks, targets: map[tenant]map[Key]bool{}, own: map[tenant]map[Group]bool{}, made: map[tenant]int{}, groups: map[Group]bool{}},
	}
	for i := range in.Pools {
		r.pools[in.Pools[i].Name] = &in.Pools[i]
	}
	for i := range in.Services {
		r.services[in.Services[i].Key] = &in.Services[i]
	}
	for _, p := range in.Published {
		r.slices[p.Key] = append(r.slices[p.Key], p)
	}
	return r
}

// wish is what one request asks for: a use of each pool that grants it, and why the
// others, or all, do not.
type wish struct {
	uses     []Use
	refusals []Refusal
	// broken says that the request cannot be carried out as it stands. What is in use
	// stays.
	broken bool
}

// wish holds a request against the pools.
func (r *rules) wish(key Key, req request, had []use) wish {
	ports, refusal := r.ports(key, req)
	if refusal.Reason != "" {
		return wish{refusals: []Refusal{refusal}, broken: true}
	}
	if refusal := adoptInUse(key, req, had); refusal.Reason != "" {
		return wish{refusals: []Refusal{refusal}, broken: true}
	}
	var w wish
	for _, name := range req.spec.PoolNames() {
		u := Use{Group: Group{Pool: name, Remote: req.remoteOf(name)}, Ports: ports.Ports, PortFromService: ports.PortFromService, Adopt: req.spec.Adopt, By: req.by(), CheckBy: req.checkBy(req.spec.HealthCheck)}
		if refusal := r.grant(key, req, &u, had); refusal.Reason != "" {
			w.refusals = append(w.refusals, refusal)
			continue
		}
		if refusal := r.sharesNames(key, req, u, had); refusal.Reason != "" { // last, as it looks at every Service
			return wish{refusals: []Refusal{refusal}, broken: true}
		}
		w.uses = append(w.uses, u)
	}
	return w
}

// adoptInUse refuses a binding whose adopt names slices that another pool fills: whose
// endpoints are in them could not be told any more.
func adoptInUse(key Key, req request, had []use) Refusal {
	for _, u := range had {
		if req.spec.Adopt == "" || req.variables || u.emptied || u.SliceName(key) != req.spec.Adopt || slices.Contains(req.spec.PoolNames(), u.Pool) {
			continue
		}
		return Refusal{key, req.spec.Pools[0].Name, v1alpha1.ReasonInvalid, fmt.Sprintf(
			"slices %s of Service %s hold the endpoints of pool %s (%s), so no other pool can take them over: the Service stays as it is; remove spec.adopt first, wait until the endpoints are in the slices %s.%s, then change spec.pools",
			req.spec.Adopt, key, u.Pool, req.subject(key, "spec.adopt"), key.Service, u.Pool)}
	}
	return Refusal{}
}

// sharesNames refuses a use that is new if a slice of it could have the name of a slice of another use in
// the namespace: whose endpoints are in that could not be told any more. Only an adopted name can be so.
func (r *rules) sharesNames(key Key, req request, u Use, had []use) (refusal Refusal) {
	name, first := u.SliceName(key), Key{}
	if req.variables || !r.adopted[key.Namespace] || slices.ContainsFunc(had, func(o use) bool { return o.SliceName(key) == name }) {
		return Refusal{}
	}
	field, remedy := "spec.adopt", "set another spec.adopt, or none"
	if u.Adopt == "" {
		field, remedy = "spec.pools", "set spec.adopt to that name, if the slices are its own, or to a name of its own"
	}
	for _, targets := range []map[Key]target{r.before, r.after} {
		for other, t := range targets {
			if other.Namespace != key.Namespace || refusal.Reason != "" && first.Compare(other) <= 0 {
				continue
			}
			i := slices.IndexFunc(t.uses, func(o use) bool { return o.owns(other, name) || u.owns(key, o.SliceName(other)) })
			if i < 0 {
				continue
			}
			first = other // of several the same one in every process
			refusal = Refusal{key, u.Pool, v1alpha1.ReasonInvalid, fmt.Sprintf(
				"slices %s of Service %s would have names in common with slices %s of Service %s (%s): the Service stays as it is; %s",
				name, key, t.uses[i].SliceName(other), other, req.subject(key, field), remedy)}
		}
	}
	return refusal
}

// grant completes a use with its check, or says why the pool does not grant it. A pool
// that does not exist and one that is forbidden get the same answer, so that no answer
// tells which pools there are.
func (r *rules) grant(key Key, req request, u *Use, had []use) Refusal {
	refuse := func(reason, field, format string, args ...any) Refusal {
		seen, remedy, _ := strings.Cut(fmt.Sprintf(format, args...), "; ")
		return Refusal{key, u.Pool, reason, seen + " (" + req.subject(key, field) + "); " + remedy}
	}
	pool := r.pools[u.Pool]
	if req.variables {
		u.Check, _ = CheckOf(pool, nil, u.Ports)
		u.PoolCheck = true
		return Refusal{}
	}
	var allowed documents.Allowance
	if pool != nil {
		allowed = documents.Allowed(&pool.Spec, key.Namespace, r.in.Namespaces[key.Namespace])
	}
	has := slices.ContainsFunc(had, func(before use) bool { return before.Pool == u.Pool })
	if has && r.broken(u.Pool) {
		return refuse(v1alpha1.ReasonInvalid, "spec.pools", "the document of pool %s has a mistake: the published endpoints of Service %s stay and are checked, and no new endpoint is published; ask the platform to correct the document", u.Pool, key)
	}
	if len(allowed.Ports) == 0 {
		return refuse(v1alpha1.ReasonPoolNotAllowed, "spec.pools", "namespace %s may not use a pool %s: no endpoint of it is published; ask the platform to name the namespace in spec.allow of that pool, or correct its name", key.Namespace, u.Pool)
	}
	check, ok := CheckOf(pool, req.spec.HealthCheck, u.Ports)
	if !ok {
		return refuse(v1alpha1.ReasonHealthCheckPortAmbiguous, "spec.healthCheck.port", "Service %s has not exactly one TCP port, so it is not clear which one to check; set the port of the health check", key)
	}
	u.Check, u.PoolCheck = check, check == sharedCheck(pool)
	if port, forbidden := forbids(allowed, *u); forbidden {
		field := "spec.healthCheck.port"
		if slices.ContainsFunc(u.Ports, func(p publish.Port) bool { return p.Number == port }) {
			field = "spec.ports"
		}
		return refuse(v1alpha1.ReasonPortNotAllowed, field, "pool %s does not allow namespace %s port %d: no endpoint of it is published; use an allowed port, or ask the platform to add it to spec.allow of the pool", u.Pool, key.Namespace, port)
	}
	if !follows(allowed, u.Remote) {
		return refuse(v1alpha1.ReasonRemoteNamespaceNotAllowed, "spec.pools[].remoteService", "pool %s does not allow namespace %s to follow Services of the remote namespace %s: no endpoint of it is published; remove remoteService, or ask the platform to name the remote namespace in spec.allow[].remoteNamespaces of the pool", u.Pool, key.Namespace, u.Remote.Namespace)
	}
	if message := r.quota.take(key, *u, allowed, had); message != "" {
		return refuse(v1alpha1.ReasonLimitReached, "spec.pools", "%s", message)
	}
	return Refusal{}
}

// CheckOf returns the check of a target: its own, else the pool's. The port is the
// check's, else the only TCP port of the target; without one it is not clear.
func CheckOf(pool *v1alpha1.EndpointPool, own *v1alpha1.BindingHealthCheck, ports []publish.Port) (Check, bool) {
	c := pool.Spec.HealthCheck
	check, port := Check{Mode: c.Mode, Path: c.Path, Host: c.Host, ExpectedStatus: c.ExpectedStatus}, c.Port
	if own != nil {
		check, port = Check{Mode: own.Mode, Path: own.Path, Host: own.Host, ExpectedStatus: own.ExpectedStatus}, own.Port
	}
	if check.Mode == v1alpha1.HealthCheckNone {
		return Check{Mode: v1alpha1.HealthCheckNone}, true
	}
	if port != nil {
		check.Port = uint16(*port)
		return check, true
	}
	for _, p := range ports {
		if p.Protocol == publish.TCP {
			if check.Port != 0 && check.Port != p.Number {
				return Check{}, false
			}
			check.Port = p.Number
		}
	}
	return check, check.Port != 0
}

// ports returns the ports of the endpoints: those of the binding, else the numeric
// target ports of the Service.
func (r *rules) ports(key Key, req request) (publish.Target, Refusal) {
	refuse := func(reason, message string) (publish.Target, Refusal) {
		return publish.Target{}, Refusal{Key: key, Reason: reason, Message: message}
	}
	if req.mistakes != "" {
		return refuse(v1alpha1.ReasonInvalid, req.mistakes)
	}
	service := publish.Service{}
	switch s := r.services[key]; {
	case s != nil:
		service = s.Service
	case !r.in.complete(key.Namespace) && !req.variables:
		return refuse(v1alpha1.ReasonServiceMissing, fmt.Sprintf("Service %s was not read: not all Services could be read yet; if that lasts, give the controller the right to list Services in namespace %s", key, key.Namespace))
	}
	target := publish.Target{Namespace: key.Namespace, Service: key.Service}
	for _, p := range req.spec.Ports {
		target.Ports = append(target.Ports, publish.Port{Name: p.Name, Protocol: publish.Protocol(p.Protocol), Number: uint16(p.Port)})
	}
	target.PortFromService = len(target.Ports) == 1 && target.Ports[0].Name == ""
	if len(target.Ports) == 0 {
		target.Ports = r.offered(key)
		for _, p := range target.Ports {
			if p.Number == 0 {
				return refuse(v1alpha1.ReasonPortMismatch, fmt.Sprintf("port %q of Service %s has a target port that is no number, which names a port of Pods: no slice is made; give it the number of the port on the nodes, or set spec.ports of a binding", p.Name, key))
			}
		}
	}
	if _, problem := publish.ResolvePorts(service, target); problem.Kind != "" && !req.variables {
		return refuse(string(problem.Kind), Use{By: req.by()}.Names(key).Of(problem.Message))
	}
	return target, Refusal{}
}

// traits tells what of a Service keeps its clients from endpoints that it has. It
// changes nothing: the Service belongs to the team.
func (r *rules) traits(key Key, uses []use) []Notice {
	service := r.services[key]
	if service == nil || service.UID == "" {
		return nil
	}
	var notices []Notice
	note := func(reason, format string, args ...any) {
		notices = append(notices, Notice{Key: key, Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	if service.Local != "" {
		note(TrafficPolicyLocal, "%s of Service %s is Local, so each node uses only endpoints on itself, and remote endpoints are on no node of this cluster: connections are dropped; set it to Cluster", service.Local, key)
	}
	if service.Topology != "" {
		note(TopologyIgnored, "%s of Service %s has no effect: it needs hints in every slice, and these slices have none; remove it", service.Topology, key)
	}
	endpoints, ipv6 := 0, 0
	for _, p := range r.slices[key] {
		endpoints, ipv6 = endpoints+p.Endpoints, ipv6+p.IPv6
	}
	if endpoints > ipv6 && !service.IPv4 && service.IPv6 {
		note(FamilyUnused, "Service %s has only IPv6, so its endpoints of IPv4 are published but never used; add the family to spec.ipFamilies, or leave the subnet out", key)
	}
	if ipv6 > 0 && !service.IPv6 && service.IPv4 {
		note(FamilyUnused, "Service %s has only IPv4, so its endpoints of IPv6 are published but never used; add the family to spec.ipFamilies, or leave the subnet out", key)
	}
	if port, target, differ := otherPort(service, uses); service.Headless && differ {
		note(HeadlessPort, "Service %s is headless, so its clients get addresses from DNS and choose the port themselves: the endpoints listen on port %d, not on port %d of the Service; give both the same number", key, target, port)
	}
	return notices
}

// otherPort returns the first port of a Service that differs from the one that its
// endpoints listen on.
func otherPort(service *Service, uses []use) (port, target uint16, differ bool) {
	for _, u := range uses {
		ports, _ := publish.ResolvePorts(service.Service, publish.Target{Ports: u.Ports, PortFromService: u.PortFromService})
		for _, p := range ports {
			for _, s := range service.Ports {
				if s.Name == p.Name && s.Protocol == p.Protocol && s.Port != p.Number {
					return s.Port, p.Number, true
				}
			}
		}
	}
	return 0, 0, false
}
