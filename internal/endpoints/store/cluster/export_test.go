package cluster

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Told is what a watch does with a slice that it tells of.
func Told(h *Hub, object *discoveryv1.EndpointSlice) {
	_ = h.scopeOf(object.Namespace).slicesFeed().Add(object)
}

// Removed is what a watch does with a slice that is gone.
func Removed(h *Hub, object *discoveryv1.EndpointSlice) {
	_ = h.scopeOf(object.Namespace).slicesFeed().Delete(object)
}

// SetRoom sets how many bytes are kept in each watched namespace of slices without an owner. It comes before Run.
func SetRoom(h *Hub, bytes int) {
	for _, s := range h.scopes {
		s.space.room = bytes
	}
}

// Entries is how many slices of a namespace something is kept of.
func Entries(h *Hub, namespace string) int {
	s := h.scopeOf(namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.space.slices)
}

// Kept is how many bytes are kept of the slices of a namespace.
func Kept(h *Hub, namespace string) int {
	s := h.scopeOf(namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for _, one := range s.space.slices {
		size += one.content.size()
	}
	return size
}

// MostOfAnnotation is mostOfAnnotation.
var MostOfAnnotation = mostOfAnnotation()

// Follows is follows.
var Follows = follows

// Listing is what each Service of one list goes through as it comes, and what takes the complete list.
func Listing(h *Hub) (reduce func(any) any, complete func([]any)) {
	return listingOf(h.all()[0].services.Store)
}

// ListingSlices is the same of slices.
func ListingSlices(h *Hub) (reduce func(any) any, complete func([]any)) {
	return listingOf(h.all()[0].slices.Store)
}

func listingOf(feed kube.Store) (reduce func(any) any, complete func([]any)) {
	transform := feed.Transformer()
	reduce = func(object any) any {
		kept, err := transform(object)
		if err != nil {
			panic(err)
		}
		return kept
	}
	return reduce, func(all []any) { _ = feed.Replace(all, "1000000") }
}
