package cluster

import (
	"container/heap"
	"slices"
)

// listing bounds what is kept of the Services of one list until it is complete: of those that say
// most, known ones and those of targets last, only that they exist.
func (s *scope) listing() func(*Service) *Service {
	var kept cutOrder
	size := 0
	return func(is *Service) *Service {
		s.mu.Lock()
		known := s.space.services[is.Key.Service]
		last := s.space.fills(is.Key.Service) || known != nil && !known.left && is.size() <= known.size()
		s.mu.Unlock()
		size += is.size()
		heap.Push(&kept, listedService{is, last})
		for size > 2*mostWithTargets {
			most := heap.Pop(&kept).(listedService) //nolint:errcheck // Push takes no other
			size -= most.size()
			*most.Service = *most.bare() // it was given to no one yet
		}
		return is
	}
}

// listingSlices bounds what is kept of the slices with our label of one list until it is complete: twice
// what is kept whole of those of no target, and then the number of their endpoints.
func (s *scope) listingSlices() func(*content) *content {
	size := 0
	return func(c *content) *content {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.ours {
			size += c.size()
		}
		if size > 2*s.space.room && c.ours && !slices.ContainsFunc(s.space.stores, func(store *Store) bool { return store.owns(c.Slice) }) {
			return c.number()
		}
		return c
	}
}

// listedService is a Service of a list that is not complete.
type listedService struct {
	*Service

	last bool
}

// cutOrder has first what is cut first.
type cutOrder []listedService

func (l cutOrder) Len() int      { return len(l) }
func (l cutOrder) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l cutOrder) Less(i, j int) bool {
	return l[i].last == l[j].last && l[i].size() > l[j].size() || !l[i].last && l[j].last
}

// Push implements heap.Interface.
func (l *cutOrder) Push(one any) { *l = append(*l, one.(listedService)) } //nolint:errcheck // listing pushes no other

// Pop implements heap.Interface.
func (l *cutOrder) Pop() any {
	end := len(*l) - 1
	one := (*l)[end]
	(*l)[end] = listedService{}
	*l = (*l)[:end]
	return one
}
