package assign

import (
	"fmt"
	"maps"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// request is what a team wants for one Service.
type request struct {
	spec v1alpha1.EndpointBindingSpec
	// annotated says that annotations of the Service say it, and no binding.
	annotated bool
	// variables says that the environment says it.
	variables bool
	// mistakes say why the annotations of the Service, or its binding, say nothing; empty
	// otherwise.
	mistakes string
}

// by is the kind of what says it.
func (r request) by() naming.Kind {
	switch {
	case r.annotated:
		return naming.Service
	case r.variables:
		return naming.Environment
	}
	return naming.Binding
}

// checkBy is the kind of what says the check, where own is the request's.
func (r request) checkBy(own *v1alpha1.BindingHealthCheck) naming.Kind {
	if own == nil && !r.variables {
		return naming.Pool
	}
	return r.by()
}

// subject names the object and the field of it that say something.
func (r request) subject(key Key, field string) string {
	switch {
	case field == "spec.ports" && len(r.spec.Ports) == 0:
		return "Service " + key.String() + " spec.ports[].targetPort"
	case r.annotated:
		return "Service " + key.String() + " " + annotationOf(field)
	}
	return v1alpha1.KindEndpointBinding + " " + key.String() + " " + field
}

// requests collects bindings and annotated Services. Where a Service has both, the
// binding counts.
func requests(in Input, before map[Key]annotated) (wanted map[Key]request, notices []Notice, read map[Key]annotated) {
	wanted, read = make(map[Key]request, len(in.Bindings)), make(map[Key]annotated, len(before))
	for _, b := range in.Bindings {
		wanted[Key{b.Namespace, b.Name}] = request{spec: b.Spec, variables: in.Variables}
	}
	for _, b := range in.Broken {
		wanted[b.Key] = request{spec: v1alpha1.EndpointBindingSpec{HealthCheck: b.HealthCheck}, mistakes: b.Mistakes}
	}
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
		known, again := before[s.Key]
		if !again || !maps.Equal(known.annotations, s.Annotations) {
			known = annotated{s.Annotations, fromAnnotations(s)}
		}
		wanted[s.Key], read[s.Key] = known.request, known
	}
	return wanted, notices, read
}
