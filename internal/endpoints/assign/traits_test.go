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

// TestContract76WhatIsToldOfAServiceHasNoNumberThatChangesByItself: it is told again, at the Service and by its
// status, when it is another one, and one node more is so for each Service of a team.
func TestContract76WhatIsToldOfAServiceHasNoNumberThatChangesByItself(t *testing.T) {
	t.Parallel()
	p := pool("blue", []string{"shop"}, "30000-32767")
	p.Spec.Allow[0].MaxChecks = new(int32(15))
	w := newWorld(t, p)
	w.in.Bindings = []v1alpha1.EndpointBinding{binding("shop/api", "blue"), binding("shop/web", "blue")}
	w.in.Services = []assign.Service{service("shop/api", 30080), service("shop/web", 30081)}
	w.in.Services[0].IPv4 = true
	told := func(nodes int) (all []string) {
		w.in.Nodes["blue"] = nodes
		w.after(0)
		w.in.Published[0].IPv6 = nodes - 5
		w.after(0).refused("shop/web blue LimitReached")
		for _, n := range w.plan.Notices {
			all = append(all, n.Message)
		}
		return append(all, w.plan.Refusals[0].Message)
	}
	if few, more := told(10), told(12); len(few) != 2 || !slices.Equal(few, more) {
		t.Errorf("got %q and then %q, want two messages that stay the same", few, more)
	}
}
