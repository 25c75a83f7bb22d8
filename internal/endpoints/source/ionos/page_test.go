package ionos_test

import (
	"net/http"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
)

// An API that caps its pages says so in "limit", and need not link to the next one.
func TestContract02APageThatTheServerCapsIsNotTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		items int
		limit float64
		want  bool
	}{
		{1000, 0, true}, {999, 0, false}, {100, 100, true}, {99, 100, false}, {100, 1000, false}, {0, 100, false}, {1000, 5000, true},
	} {
		if got := ionos.HasMore(c.items, c.limit, 1000); got != c.want {
			t.Errorf("%d items, limit %v: got %t, want %t", c.items, c.limit, got, c.want)
		}
	}
}

// Where the answer does not say what remains, nothing is known to be used up.
func TestARateLimitThatDoesNotSayWhatRemainsSparesNothing(t *testing.T) {
	t.Parallel()
	got, ok := ionos.RateLimitOf(http.Header{"X-Ratelimit-Limit": {"600"}})
	if !ok || got.Remaining != 600 {
		t.Errorf("got %+v, %t, want that all 600 remain", got, ok)
	}
}
