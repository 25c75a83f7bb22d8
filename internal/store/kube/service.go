package kube

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Service is what is kept of a Service. It is never changed.
type Service struct {
	plan.Service
	plan.Traits

	Namespace, Name string
	Labels          map[string]string
	// Annotations are those whose names begin with manifest.Prefix.
	Annotations map[string]string
}

func newService(object *corev1.Service) *Service {
	out := &Service{Service: manifest.ServiceOf(object), Traits: manifest.TraitsOf(object), Namespace: object.Namespace, Name: object.Name, Labels: object.Labels}
	for name, value := range object.Annotations {
		if strings.HasPrefix(name, manifest.Prefix) {
			if out.Annotations == nil {
				out.Annotations = make(map[string]string)
			}
			out.Annotations[name] = value
		}
	}
	return out
}

// GetObjectMeta lets the reflector keep it in place of the object.
func (s *Service) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}
}

// plan returns what matters to a target, the zero value where there is no Service.
func (s *Service) plan() plan.Service {
	if s == nil {
		return plan.Service{}
	}
	return s.Service
}

// same reports whether both say the same; nil says that there is none.
func (s *Service) same(other *Service) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Service.Same(other.Service) && s.Traits == other.Traits && maps.Equal(s.Labels, other.Labels) && maps.Equal(s.Annotations, other.Annotations)
}
