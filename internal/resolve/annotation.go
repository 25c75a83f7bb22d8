package resolve

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"

func unknownAnnotations(s Service) []Notice { return nil }
func fromAnnotations(s Service) request {
	return request{spec: v1alpha1.EndpointBindingSpec{Pools: []string{s.Annotations[v1alpha1.AnnotationPool]}}}
}
