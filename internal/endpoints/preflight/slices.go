package preflight

import (
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish/manifest"
)

// Other programs that manage slices of a Service.
const (
	mirroring = "endpointslicemirroring-controller.k8s.io"
	selecting = "endpointslice-controller.k8s.io"
)

// JudgeSlices says of each slice of the Service, and of each slice with a name of one of
// its targets, whether it belongs to this program or publishes beside it.
func JudgeSlices(service publish.Service, objects []*discoveryv1.EndpointSlice, targets ...publish.Target) []Check {
	ready := Ready(objects, targets...)
	var checks []Check
	for _, target := range targets {
		var ours []Check
		state := manifest.State(service, objects, target)
		for _, s := range state.Slices {
			ours = append(ours, SlicesOurs.ok("slice "+s.Name, "belongs to this program, %s, %d ready", plural(len(s.Endpoints), "endpoint"), readyIn(s)))
		}
		for _, refusal := range state.Refused {
			what, remedy, _ := strings.Cut(refusal.Message, ": ")
			ours = append(ours, SlicesOurs.fail("slice "+refusal.Name, "%s", what).remedied(remedy))
		}
		if len(ours) == 0 {
			ours = append(ours, SlicesOurs.skip("slice "+target.SliceName, "does not exist yet; the daemon will create it"))
		}
		checks = append(checks, ours...)
	}
	beside := slices.DeleteFunc(manifest.State(service, objects, targets[0]).Beside, func(b publish.Beside) bool { return owned(b.Name, targets) })
	for _, b := range beside {
		checks = append(checks, judgeBeside(b, targets[0], ready))
	}
	if len(beside) == 0 {
		checks = append(checks, SlicesBeside.ok("other slices", "none publishes an endpoint"))
	}
	return checks
}

// Ready counts the endpoints that our slices among the objects say are ready.
func Ready(objects []*discoveryv1.EndpointSlice, targets ...publish.Target) int {
	ready := 0
	for _, target := range targets {
		for _, s := range manifest.State(publish.Service{}, objects, target).Slices {
			ready += readyIn(s)
		}
	}
	return ready
}

func readyIn(s publish.Slice) int {
	ready := 0
	for _, m := range s.Endpoints {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	return ready
}

// judgeBeside judges a slice of the Service that is not ours. A slice that Kubernetes
// left there is a mistake; a slice of another program may be intended.
func judgeBeside(b publish.Beside, target publish.Target, ready int) Check {
	id, subject := SlicesBeside, "slice "+b.Name
	what := "publishes " + plural(b.Endpoints, "endpoint") + " for the same Service, which this program does not check"
	_, remedy, _ := strings.Cut(b.Message, "; ")
	remedy = first(ready) + remedy
	switch b.Manager {
	case mirroring:
		return id.fail(subject, "%s: a mirror of the Endpoints object %s", what, target.Service).remedied(remedy)
	case selecting:
		return id.fail(subject, "%s: left over from when the Service had a selector", what).remedied(remedy)
	}
	return id.warn(subject, "%s: managed by %q", what, b.Manager).remedied(remedy)
}

// first says whether another slice may be removed now: it may be all that serves the
// users at this moment.
func first(ready int) string {
	if ready == 0 {
		return "not now: no endpoint of this program is ready, so the other slice may be what serves the users; run the daemon first; "
	}
	return fmt.Sprintf("the slices of this program hold %s now; ", plural(ready, "ready endpoint"))
}
