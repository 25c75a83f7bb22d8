package resolve

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// request is what a team wants for one Service.
type request struct {
	spec v1alpha1.EndpointBindingSpec
	// mistakes say why the annotations of the Service say nothing; empty otherwise.
	mistakes string
}

// requests collects bindings and annotated Services. Where a Service has both, the
// binding counts.
func requests(in Input) (map[Key]request, []Notice) {
	wanted := make(map[Key]request, len(in.Bindings))
	for _, b := range in.Bindings {
		wanted[Key{b.Namespace, b.Name}] = request{spec: b.Spec}
	}
	var notices []Notice
	for _, s := range in.Services {
		notices = append(notices, unknownAnnotations(s)...)
		if s.Annotations[v1alpha1.AnnotationPool] == "" {
			continue
		}
		if _, bound := wanted[s.Key]; bound {
			notices = append(notices, Notice{s.Key, BindingWins, fmt.Sprintf(
				"Service %s has the annotation %s and an EndpointBinding: the binding counts; remove one of them", s.Key, v1alpha1.AnnotationPool)})
			continue
		}
		wanted[s.Key] = fromAnnotations(s)
	}
	return wanted, notices
}
