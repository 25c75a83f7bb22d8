package cluster

import discoveryv1 "k8s.io/api/discovery/v1"

// Told is what a watch does with a slice that it tells of.
func Told(h *Hub, object *discoveryv1.EndpointSlice) {
	_ = h.scopeOf(object.Namespace).slicesFeed().Add(object)
}

// Kept is how many bytes are kept of the slices of a namespace.
func Kept(h *Hub, namespace string) int {
	s := h.scopeOf(namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for _, one := range s.space(namespace).slices {
		size += one.content.size()
	}
	return size
}

// MostOfAnnotation is mostOfAnnotation.
var MostOfAnnotation = mostOfAnnotation()

// Follows is follows.
var Follows = follows
