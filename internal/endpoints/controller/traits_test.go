package controller_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
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
				of := publish.Target{Namespace: "shop", Service: "web", SliceName: "web.blue"}
				store := &countStore{state: publish.State{
					Service: publish.Service{
						UID: "1", Ports: []publish.ServicePort{{Protocol: publish.TCP, Port: 8080, TargetPort: 80}},
						Traits: publish.Traits{IPv6: true, Headless: true, Local: "spec.internalTrafficPolicy", Topology: "spec.trafficDistribution"},
					},
					Slices: []publish.Slice{{Name: "web.blue", Ports: []publish.Port{{Protocol: publish.TCP, Number: 80}}, Endpoints: []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateReady}}}},
				}}
				var told []explain.NoticeReason
				options := r.options(passProber{}, nil)
				options.Hub = controller.NewOne(store, of, nil, time.Minute)
				options.Announce = func(_ assign.Key, n explain.Notice) { told = append(told, n.Reason) }
				server, err := controller.New(options)
				if err != nil {
					t.Fatal(err)
				}
				go func() { _ = server.Run(t.Context()) }()
				during(10 * time.Second)
				for _, reason := range []explain.NoticeReason{explain.TrafficPolicyLocal, explain.TopologyIgnored, explain.FamilyUnused, explain.HeadlessPort} {
					if n := len(slices.DeleteFunc(slices.Clone(told), func(r explain.NoticeReason) bool { return r != reason })); n != 1 {
						t.Errorf("%s was told %d times, want once: %v", reason, n, told)
					}
				}
			})
		})
	}
}
