package preflight

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Other programs that manage slices of a Service.
const (
	mirroring = "endpointslicemirroring-controller.k8s.io"
	selecting = "endpointslice-controller.k8s.io"
)

// JudgeSlices says of each slice of the Service, and of each slice with one of the
// target's names, whether it belongs to this program or publishes beside it.
func JudgeSlices(service plan.Service, objects []*discoveryv1.EndpointSlice, target plan.Target) []Check {
	state := manifest.State(service, objects, target)
	ready := Ready(objects, target)
	var checks []Check
	for _, s := range state.Slices {
		checks = append(checks, SlicesOurs.ok("slice "+s.Name, "belongs to this program, %s, %d ready", plural(len(s.Endpoints), "endpoint"), readyIn(s)))
	}
	for _, refusal := range state.Refused {
		what, remedy, _ := strings.Cut(refusal.Message, ": ")
		checks = append(checks, SlicesOurs.fail("slice "+refusal.Name, "%s", what).remedied(remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, SlicesOurs.skip("slice "+target.SliceName, "does not exist yet; the daemon will create it"))
	}
	for _, b := range state.Beside {
		checks = append(checks, judgeBeside(b, target, ready))
	}
	if len(state.Beside) == 0 {
		checks = append(checks, SlicesBeside.ok("other slices", "none publishes an endpoint"))
	}
	return checks
}

// Ready counts the endpoints that our slices among the objects say are ready.
func Ready(objects []*discoveryv1.EndpointSlice, target plan.Target) int {
	ready := 0
	for _, s := range manifest.State(plan.Service{}, objects, target).Slices {
		ready += readyIn(s)
	}
	return ready
}

func readyIn(s plan.Slice) int {
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
func judgeBeside(b plan.Beside, target plan.Target, ready int) Check {
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

// JudgeEndpoints says whether there is an Endpoints object that Kubernetes mirrors
// into another slice. ready is how many endpoints of our slices are.
func JudgeEndpoints(service plan.Service, object *corev1.Endpoints, err error, target plan.Target, ready int) Check { //nolint:staticcheck // deprecated; what is left of them is what we look for
	subject := "Endpoints " + target.Namespace + "/" + target.Service
	switch {
	case apierrors.IsForbidden(err):
		return SlicesEndpoints.skip(subject, "not checked: the daemon needs no right to get Endpoints; slices-beside would find a mirrored slice")
	case err != nil:
		return SlicesEndpoints.skip(subject, "cannot be read: %v", err)
	case service.HasSelector:
		return SlicesEndpoints.skip(subject, "Kubernetes manages it while the Service has a selector")
	case object == nil:
		return SlicesEndpoints.ok(subject, "none")
	case object.Labels[discoveryv1.LabelSkipMirror] == "true":
		return SlicesEndpoints.ok(subject, "exists, and is not mirrored: it is labelled %s=true", discoveryv1.LabelSkipMirror)
	}
	addresses := 0
	for _, subset := range object.Subsets {
		addresses += len(subset.Addresses) + len(subset.NotReadyAddresses)
	}
	if addresses == 0 {
		return SlicesEndpoints.ok(subject, "exists, without addresses")
	}
	return SlicesEndpoints.fail(subject, "left over with %s, which Kubernetes mirrors into another slice of the Service", plural(addresses, "address")).
		remedied(first(ready) + fmt.Sprintf("when the slices of this program hold the ready endpoints that are needed, run \"kubectl -n %s label endpoints %s %s=true\", and only then delete the Endpoints object",
			target.Namespace, target.Service, discoveryv1.LabelSkipMirror))
}
