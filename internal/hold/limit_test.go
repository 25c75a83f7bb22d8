package hold_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/hold"
)

func TestContract33HeldConnectionsLeaveDescriptorsForTheRest(t *testing.T) {
	for _, c := range []struct {
		limit  uint64
		checks int
		want   int
	}{
		{1024, 256, 352}, {0, 256, 352}, {65536, 256, 32608}, {1 << 40, 256, 524128}, {100, 256, 1},
	} {
		if got := hold.Limit(c.limit, c.checks); got != c.want {
			t.Errorf("got %d connections of %d descriptors beside %d checks, want %d", got, c.limit, c.checks, c.want)
		}
	}
	if got := hold.MaxConnections(10); got < 1 {
		t.Errorf("got %d connections, want at least one", got)
	}
}
