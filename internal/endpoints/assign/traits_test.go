package assign_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

// Contract 75: what of a Service keeps its clients from its endpoints is told.
func TestContract75WhatKeepsClientsFromEndpointsIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*assign.Service)
		ipv6   int
		want   []string
	}{
		"nothing":                {func(*assign.Service) {}, 0, nil},
		"both families":          {func(s *assign.Service) { s.IPv6 = true }, 4, nil},
		"local":                  {func(s *assign.Service) { s.Local = "spec.internalTrafficPolicy" }, 0, []string{assign.TrafficPolicyLocal}},
		"topology":               {func(s *assign.Service) { s.Topology = "spec.trafficDistribution" }, 0, []string{assign.TopologyIgnored}},
		"IPv6 is missing":        {func(*assign.Service) {}, 4, []string{assign.FamilyUnused}},
		"IPv4 is missing":        {func(s *assign.Service) { s.IPv4, s.IPv6 = false, true }, 4, []string{assign.FamilyUnused}},
		"of IPv6 alone":          {func(s *assign.Service) { s.IPv4, s.IPv6 = false, true }, 10, nil},
		"headless":               {func(s *assign.Service) { s.Headless = true }, 0, []string{assign.HeadlessPort}},
		"headless, same port":    {func(s *assign.Service) { s.Headless, s.Ports[0].Port = true, 30080 }, 0, nil},
		"headless, both at once": {func(s *assign.Service) { s.Headless, s.Local = true, "spec.internalTrafficPolicy" }, 0, []string{assign.HeadlessPort, assign.TrafficPolicyLocal}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, pool("blue", []string{"shop"}, "30080"))
			s := service("shop/web", 30080)
			s.IPv4 = true
			c.change(&s)
			w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{binding("shop/web", "blue")}, []assign.Service{s}
			w.after(0)
			w.in.Published[0].IPv6 = c.ipv6
			w.after(0).want("shop/web blue:30080 active")
			var got []string
			for _, n := range w.plan.Notices {
				got = append(got, n.Reason)
				if n.Message == "" || n.Key != s.Key {
					t.Errorf("got %+v", n)
				}
			}
			if slices.Sort(got); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
