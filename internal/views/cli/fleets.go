package cli

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// fleets makes what the proxies of fleets do, of the file and of objects, as far as the
// configuration wants these.
func (p Program) fleets(c settings.Views, s *serveParts) (*xds.Fleets, error) {
	fleets := xds.NewFleets()
	if c.XDS.Fleets != "" {
		var err error
		if fleets, err = xds.ReadFleets(c.XDS.Fleets); err != nil {
			return nil, fmt.Errorf("XDS_FLEETS_FILE: %w", err)
		}
	}
	if !c.XDS.Watch {
		return fleets, nil
	}
	fleets.Await()
	var err error
	s.objects, err = watch.NewEnvoys(watch.EnvoyOptions{
		Way: p.way(c, false), UserAgent: "endpoint-views/" + p.Version, Namespaces: c.Cluster.Namespaces, Fleets: fleets,
	})
	return fleets, err
}
