package serve_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract232WhatKeepsClientsAwayIsToldWithAnyCarrier: the store of one Service knows
// it as well as the hub of many.
func TestContract232WhatKeepsClientsAwayIsToldWithAnyCarrier(t *testing.T) {
	t.Parallel()
	for carrier, variables := range map[string]bool{"documents": false, "variables": true} {
		t.Run(carrier, func(t *testing.T) {
			t.Parallel()
			bubble.Test(t, func(t *testing.T) {
				r := newResting("web")
				if variables {
					r.set = documents.OfVariables(r.set.Pools()[0], r.set.Bindings()[0])
				}
				of := plan.Target{Namespace: "shop", Service: "web", SliceName: "web.blue"}
				store := &counted{state: plan.State{
					Service: plan.Service{
						UID: "1", Ports: []plan.ServicePort{{Protocol: plan.TCP, Port: 8080, TargetPort: 80}},
						Traits: plan.Traits{IPv6: true, Headless: true, Local: "spec.internalTrafficPolicy", Topology: "spec.trafficDistribution"},
					},
					Slices: []plan.Slice{{Name: "web.blue", Ports: []plan.Port{{Protocol: plan.TCP, Number: 80}}, Endpoints: []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateReady}}}},
				}}
				var told []narration.NoticeReason
				options := r.options(passing{}, nil)
				options.Hub = serve.NewOne(store, of, nil, time.Minute)
				options.Announce = func(_ resolve.Key, n narration.Notice) { told = append(told, n.Reason) }
				server, err := serve.New(options)
				if err != nil {
					t.Fatal(err)
				}
				go func() { _ = server.Run(t.Context()) }()
				during(10 * time.Second)
				for _, reason := range []narration.NoticeReason{narration.TrafficPolicyLocal, narration.TopologyIgnored, narration.FamilyUnused, narration.HeadlessPort} {
					if n := len(slices.DeleteFunc(slices.Clone(told), func(r narration.NoticeReason) bool { return r != reason })); n != 1 {
						t.Errorf("%s was told %d times, want once: %v", reason, n, told)
					}
				}
			})
		})
	}
}
