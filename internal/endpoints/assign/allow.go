package assign

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// forbids returns the first port of a use that may not be used, and whether there is
// one. The check that the pool does for everybody needs no permission; another check of
// the same port does.
func forbids(allowed documents.Allowance, u Use) (uint16, bool) {
	for _, p := range u.Ports {
		if !allowed.Ports.Contains(int(p.Number)) {
			return p.Number, true
		}
	}
	port := u.Check.Port
	if port == 0 || u.PoolCheck || allowed.Ports.Contains(int(port)) {
		return 0, false
	}
	return port, true
}

// follows reports whether a remote Service may be followed.
func follows(allowed documents.Allowance, remote inventory.RemoteService) bool {
	return remote == (inventory.RemoteService{}) || slices.Contains(allowed.RemoteNamespaces, remote.Namespace)
}

// remoteOf is the remote Service that a request names for a pool; zero where it names none.
func (r request) remoteOf(pool string) (remote inventory.RemoteService) {
	for _, p := range r.spec.Pools {
		if p.Name == pool && p.RemoteService != nil {
			remote = inventory.RemoteService(*p.RemoteService)
		}
	}
	return remote
}

// poolPort is the port that the pool checks for all its targets, 0 where each target's
// own is checked.
func poolPort(pool *v1alpha1.EndpointPool) uint16 {
	if pool.Spec.HealthCheck.Port == nil {
		return 0
	}
	return uint16(*pool.Spec.HealthCheck.Port)
}
