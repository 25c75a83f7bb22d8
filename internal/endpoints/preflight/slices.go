package preflight

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// judgeSlices says of each slice of the Service, and of each slice with a name of one of
// its targets, whether it belongs to this program or publishes beside it.
func judgeSlices(service publish.Service, objects []*discoveryv1.EndpointSlice, targets []publish.Target) []Check {
	var checks []Check
	for _, target := range targets {
		state := publish.StateOf(service, objects, target)
		for _, s := range state.Slices {
			checks = append(checks, SlicesOurs.ok("slice "+s.Name, "belongs to this program, %s", plural(len(s.Endpoints), "endpoint")))
		}
		for _, refusal := range state.Refused {
			what, remedy, _ := strings.Cut(refusal.Message, ": ")
			checks = append(checks, SlicesOurs.fail("slice "+refusal.Name, "%s", what).remedied(remedy))
		}
		if len(state.Slices)+len(state.Refused) == 0 {
			checks = append(checks, SlicesOurs.skip("slice "+target.SliceName, "does not exist yet; the daemon will create it"))
		}
	}
	for _, b := range publish.StateOf(service, objects, targets[0]).Beside {
		ours := slices.ContainsFunc(targets, func(t publish.Target) bool {
			_, _, its := t.ParseName(b.Name)
			return its
		})
		if ours {
			continue
		}
		result := Warn // a slice of another program may be intended
		if b.Manager == "endpointslicemirroring-controller.k8s.io" || b.Manager == "endpointslice-controller.k8s.io" {
			result = Fail // Kubernetes left it there
		}
		checks = append(checks, split(SlicesBeside, result, "slice "+b.Name, "", b.Message))
	}
	return checks
}

// judgeKept names the slices of this program in a namespace whose pool no document describes:
// their endpoints are neither checked nor removed. A Service that asks for another pool gets
// other endpoints.
func (l *look) judgeKept(s *space) []Check {
	var checks []Check
	for _, o := range s.slices {
		pool, key := o.Labels[publish.LabelPool], assign.Key{Namespace: s.name, Service: o.Labels[discoveryv1.LabelServiceName]}
		_, known := l.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: pool})
		asks := slices.ContainsFunc(l.plan.Targets, func(t assign.Assignment) bool { return t.Key == key })
		if o.Labels[discoveryv1.LabelManagedBy] != l.Config.Target.ManagedBy || pool == "" || known || asks || len(o.Endpoints) == 0 || !l.asked(key.Namespace, key.Service) {
			continue
		}
		checks = append(checks, SlicesKept.fail("slice "+s.name+"/"+o.Name, "publishes %s of Service %s from pool %s, which no document describes: they stay published and get no health check", plural(len(o.Endpoints), "endpoint"), key, pool))
	}
	return checks
}
