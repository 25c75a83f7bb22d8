package cluster

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Whoever may write Services in one namespace decides how much they say, up to more than a
// megabyte each. Of that is kept what is read.
const (
	// mostOfValue is one byte more than any annotation is accepted with, so that one that is
	// too long still is.
	mostOfValue = 257
	// mostDecoded is how many annotations a Service has before those that nobody knows are not
	// decoded any more: more than are known.
	mostDecoded = 20
	// mostPorts is how many ports of a Service are known, the first ones.
	mostPorts = kube.MostPorts
	// mostOfNamespace bounds what is kept of the Services of one namespace, mostWithTargets
	// together with more of those that targets fill: whoever may write slices makes targets.
	mostOfNamespace = 4 << 20
	mostWithTargets = 2 * mostOfNamespace
)

// Service is what is kept of a Service. It is never changed.
type Service struct {
	// Annotations are those that choose a pool and a check, each cut where no decoder
	// accepts it, and the name of one of our API group that nobody knows.
	assign.Service
	// left says that there was no room for ports and annotations.
	left bool
}

func newService(object *corev1.Service) *Service {
	if len(object.Spec.Ports) > mostPorts {
		object.Spec.Ports = object.Spec.Ports[:mostPorts]
	}
	out := &Service{Service: assign.Service{
		Key: assign.Key{Namespace: object.Namespace, Service: object.Name}, Service: publish.ServiceOf(object), Annotations: make(map[string]string),
	}}
	for _, name := range v1alpha1.BindingAnnotations() {
		if value, ok := object.Annotations[name]; ok {
			out.Annotations[name] = strings.Clone(value[:min(len(value), mostOfValue)])
		}
	}
	if name := unknown(object.Annotations); name != "" {
		out.Annotations[name] = ""
	}
	return out
}

// mostOfAnnotation returns how many bytes of the value of an annotation are read, 0 of one
// that is not. Of those of our API group that the program does not know the names of
// the first are read, to tell them. A Service may have thousands, so no memory is allocated for one.
func mostOfAnnotation() func(name []byte, before int) int {
	read := make(map[string]bool)
	for _, name := range slices.Concat(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations(), publish.TopologyAnnotations()) {
		read[name] = true
	}
	prefix := []byte(publish.LabelPrefix)
	return func(name []byte, before int) int {
		switch {
		case read[string(name)]:
			return mostOfValue
		case before < mostDecoded && bytes.HasPrefix(name, prefix):
			return 1 // its name is told
		}
		return 0
	}
}

// unknown returns the first name of an annotation of our API group that this program does not know, to
// tell of it, or an empty text.
func unknown(annotations map[string]string) (first string) {
	ours := slices.Concat(v1alpha1.BindingAnnotations(), v1alpha1.ViewAnnotations())
	for name := range annotations {
		if strings.HasPrefix(name, publish.LabelPrefix) && !slices.Contains(ours, name) && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// size is how many bytes others decide of what is kept, 0 where there is no Service.
func (s *Service) size() int {
	if s == nil {
		return 0
	}
	size := len(s.Namespace) + len(s.Key.Service)
	for name, value := range s.Annotations {
		size += len(name) + len(value)
	}
	for _, port := range s.Ports {
		size += len(port.Name) + len(port.AppProtocol) + perPort
	}
	return size
}

// perPort is what a port takes without its texts.
const perPort = 56

// bare is what is kept of a Service that there is no room for.
func (s *Service) bare() *Service {
	bare := s.plan()
	bare.Ports = nil
	return &Service{Service: assign.Service{Key: s.Key, Service: bare}, left: true}
}

// plan returns what matters to a target, the zero value where there is no Service.
func (s *Service) plan() publish.Service {
	if s == nil {
		return publish.Service{}
	}
	return s.Service.Service
}

// same reports whether both say the same; nil says that there is none.
func (s *Service) same(other *Service) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.plan().Same(other.plan()) && s.left == other.left && maps.Equal(s.Annotations, other.Annotations)
}
