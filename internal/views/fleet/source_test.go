package fleet_test

import (
	"context"
	"sync"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// served is what the server of xDS learns of an Envoy.
func served(t *testing.T, w *world) {
	namespace := w.namespace(t, "served")
	fleets := xds.NewFleets()
	fleets.Await()
	source, err := watch.NewEnvoys(watch.EnvoyOptions{Way: kube.Fixed(w.api.Config()), UserAgent: "served", Namespaces: []string{namespace}, Fleets: fleets})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { source.Run(ctx) })
	defer running.Wait()
	defer cancel()
	await(t, "the list is complete", func() string {
		if fleets.Complete() {
			return ""
		}
		return "it is not"
	})
	e := parse(t, edge+"  listeners: [{name: http, port: 80, httpsRedirectPort: 443, routes: [{pathPrefix: /.well-known/acme-challenge, service: acme}]}]\n")
	e.SetNamespace(namespace)
	w.make(t, e)
	definition := func(want xds.Definition) func() string {
		return func() string {
			if got := fleets.Definition(namespace + "/edge"); got != want {
				return got.Problem + " of " + string(got.Carrier)
			}
			return ""
		}
	}
	await(t, "the Envoy is a fleet", definition(xds.Definition{Carrier: xds.InObject}))
	if err := w.client.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	await(t, "the fleet is kept", definition(xds.Definition{Kept: true}))
}
