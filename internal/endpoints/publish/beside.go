package publish

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// mirrorer is the controller of Kubernetes that copies the Endpoints object of a
// Service without a selector into slices.
const mirrorer = "endpointslicemirroring-controller.k8s.io"

// toBeside returns what the object publishes beside our slices.
func toBeside(object *discoveryv1.EndpointSlice, target Target) ForeignSlice {
	manager := object.Labels[discoveryv1.LabelManagedBy]
	beside := ForeignSlice{Name: object.Name, Manager: bounded(manager), Endpoints: len(object.Endpoints)}
	count := inventory.Counted(beside.Endpoints, "endpoint", "endpoints")
	beside.Message = fmt.Sprintf("slice %s/%s also publishes %s for Service %s, without health checks; ",
		target.Namespace, object.Name, count, target.Service) + remedy(beside, target)
	return beside
}

// remedy says where the slice comes from and how to remove it. Until our own slices
// hold what is needed, the other one may be all that serves.
func remedy(b ForeignSlice, target Target) string {
	const first = "once the slices of this daemon hold the ready endpoints that are needed, "
	switch b.Manager {
	case mirrorer:
		return fmt.Sprintf("it mirrors the Endpoints object %[2]s: %[3]srun \"kubectl -n %[1]s label endpoints %[2]s %[4]s=true\", "+
			"which removes the slice (remove the label to undo that); delete the Endpoints object only after that, and not the slice: it would come back",
			target.Namespace, target.Service, first, discoveryv1.LabelSkipMirror)
	case target.ManagedBy:
		return fmt.Sprintf("it has the managed-by label of this daemon: if another installation writes it, set another TARGET_MANAGED_BY there, because an installation with pools empties slices with its label; if no other instance of this program writes it, as after a change of TARGET_ENDPOINTSLICE_NAME, %sdelete it", first)
	case "":
		return fmt.Sprintf("it has no label %s, so it may have been made by hand: %sdelete it", discoveryv1.LabelManagedBy, first)
	}
	return fmt.Sprintf("it is managed by %q: %sstop that from managing slices of this Service, then delete the slice if it is still there", b.Manager, first)
}
