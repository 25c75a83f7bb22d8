package documents

import (
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// onlyChecked returns what of a pool with mistakes is enough to check what its slices
// publish. It has no source, so it brings no endpoint and takes none away. The check is the
// one that the document says, or there is none: an easier one would bring back endpoints
// that fail the right one.
func (w *walk) onlyChecked(pool *v1alpha1.EndpointPool) *v1alpha1.EndpointPool {
	const health = "spec.healthCheck."
	times := []string{health + "interval", health + "timeout", health + "rise", health + "fall"}
	if len(w.mistakes) == maxMistakes {
		return nil // of those that are not told, one may be of the check
	}
	for broken := range w.broken {
		if within(broken, "spec.healthCheck") && !slices.Contains(times, broken) || within("spec.healthCheck", broken) {
			return nil
		}
	}
	if pool.Spec.HealthCheck.Mode == v1alpha1.HealthCheckHTTPS && !w.sound("spec.credentials") {
		return nil // they may hold the authorities of the certificates
	}
	out := withoutSource(pool)
	s, c := &out.Spec, &out.Spec.HealthCheck
	if !w.sound(times[0]) || !w.sound(times[1]) {
		c.Interval, c.Timeout = nil, nil
	}
	if !w.sound(times[2]) {
		c.Rise = nil
	}
	if !w.sound(times[3]) {
		c.Fall = nil
	}
	for path, forget := range map[string]func(){
		"spec.subnets":      func() { s.Subnets = nil },
		"spec.credentials":  func() { s.Credentials = "" },
		"spec.allow":        func() { s.Allow = nil },
		"spec.guard":        func() { s.Guard = v1alpha1.PoolGuard{} },
		"spec.pollInterval": func() { s.PollInterval = nil },
		"spec.releaseAfter": func() { s.ReleaseAfter = nil },
	} {
		if !w.sound(path) {
			forget()
		}
	}
	out.SetDefaults()
	return out
}

// withoutSource returns a pool from which nothing new is published.
func withoutSource(pool *v1alpha1.EndpointPool) *v1alpha1.EndpointPool {
	out := pool.DeepCopy()
	out.Spec.Source = v1alpha1.PoolSource{}
	return out
}

// checkable returns the pool where something of it can be checked, else nil. Where nothing
// is, its slices stay as they are.
func checkable(pool *v1alpha1.EndpointPool) *v1alpha1.EndpointPool {
	if pool == nil || len(pool.Spec.Subnets) == 0 || pool.Spec.HealthCheck.Mode == v1alpha1.HealthCheckNone {
		return nil
	}
	return pool
}

// onlyChecked is what of an object that does not count can be checked: what is beyond the
// bounds may be out of the reach of checks, so it stays as it is.
func (b Bounds) onlyChecked(d Document) *v1alpha1.EndpointPool {
	pool := d.OnlyChecked
	if d.Pool != nil {
		pool = withoutSource(d.Pool)
	}
	if pool == nil {
		return nil
	}
	pool = pool.DeepCopy()
	s := &pool.Spec
	s.Subnets = b.common(s.Subnets)
	for i := range s.Allow {
		s.Allow[i].Namespaces = slices.DeleteFunc(s.Allow[i].Namespaces, func(name string) bool { return !b.allows(name) })
	}
	s.Allow = slices.DeleteFunc(s.Allow, func(a v1alpha1.PoolAllowance) bool {
		return len(a.Namespaces) == 0 && (a.NamespaceSelector == nil || !b.everywhere())
	})
	return checkable(pool)
}

// common are the ranges that subnets and bounds have in common; those of the bounds where
// the subnets are not known.
func (b Bounds) common(subnets []string) []string {
	var out []string
	for _, bound := range b.Subnets {
		if len(subnets) == 0 {
			out = append(out, bound.String())
		}
		for _, text := range subnets {
			switch subnet, err := netip.ParsePrefix(text); {
			case err != nil || !subnet.Overlaps(bound):
			case subnet.Bits() >= bound.Bits():
				out = append(out, subnet.String())
			default:
				out = append(out, bound.String())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// OnlyChecked returns the pools that exist and cannot be used, as far as the endpoints in
// their slices can still be checked: without a source, sorted by name.
func (s Set) OnlyChecked() []*v1alpha1.EndpointPool {
	return each(s, func(e Entry) *v1alpha1.EndpointPool { return e.OnlyChecked })
}
