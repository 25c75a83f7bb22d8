package controller

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// lists are the endpoint lists of slices that were just read. After a start the slices of
// many Services hold the same endpoints, and then share one list.
type lists struct {
	mu   sync.Mutex
	seen map[listKey][]inventory.Member
}

// listKey tells lists apart that are surely different.
type listKey struct {
	first inventory.Member
	last  netip.Addr
	size  int
}

// share makes the slices hold lists that were seen before, where these are equal. The
// caller owns the slices.
func (l *lists) share(own []publish.Slice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range own {
		list := own[i].Endpoints
		if len(list) == 0 {
			continue
		}
		key := listKey{first: list[0], last: list[len(list)-1].Address, size: len(list)}
		if seen := l.seen[key]; slices.Equal(seen, list) {
			own[i].Endpoints = seen
			continue
		}
		if l.seen == nil {
			l.seen = make(map[listKey][]inventory.Member)
		}
		l.seen[key] = slices.Clip(list)
	}
}

// forget forgets what was seen.
func (l *lists) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
}
