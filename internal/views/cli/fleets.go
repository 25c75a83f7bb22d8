package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// fleets makes what the proxies of fleets do, of the file and of objects, as far as the
// configuration wants these.
func (p Program) fleets(c settings.Views, s *serving) (*xds.Fleets, error) {
	fleets := xds.NewFleets()
	if c.XDS.Fleets != "" {
		var err error
		if fleets, err = xds.ReadFleets(c.XDS.Fleets); err != nil {
			return nil, &exitError{exitUsage, fmt.Errorf("XDS_FLEETS_FILE: %w", err)}
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
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return fleets, nil
}

// tellObjects logs what changes about the sight of fleets in the API server.
func (s *serving) tellObjects(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var missing, silent bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var lacks, fails error
		if err := s.objects.Problem(); errors.Is(err, watch.ErrNoKind) {
			lacks = err
		} else {
			fails = err
		}
		s.turn(&missing, lacks, "no fleets from the API server, fleets that are known stay", "")
		s.turn(&silent, fails, "the API server says nothing of fleets, the last state is kept", "the API server tells fleets again")
	}
}
