package stream

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
)

// TestContract44OneClientTakesNoMoreThanItsShareOfTheLists: a place is taken until the list is sent,
// and who reads slowly would shut out all others.
func TestContract44OneClientTakesNoMoreThanItsShareOfTheLists(t *testing.T) {
	options := Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: &cache.Cache{}, Stale: func(time.Time) (time.Time, error) { return time.Time{}, nil }, MostClients: 10, MostOfOne: 5,
		Logger: slog.New(slog.DiscardHandler),
	}
	taken := func(s *Server, name string) int {
		n := 0
		for s.lists.enter(name) == nil {
			n++
		}
		return n
	}
	alone, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if got := taken(alone, ""); got != mostLists {
		t.Errorf("without identities %d lists at a time, want %d", got, mostLists)
	}
	options.Identities = &Identities{}
	s, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop/a", "shop/b", "shop/c"} {
		if got := taken(s, name); got != mostListsOfOne {
			t.Errorf("%s gets %d lists at a time, want %d", name, got, mostListsOfOne)
		}
	}
	s.lists.leave("shop/a")
	if got := taken(s, "shop/a"); got != 1 {
		t.Errorf("got %d lists after one was sent, want 1", got)
	}
}
