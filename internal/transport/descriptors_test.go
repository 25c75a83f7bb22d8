package transport_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

func TestContract33HeldConnectionsLeaveDescriptorsForTheRest(t *testing.T) {
	for _, c := range []struct {
		limit  uint64
		checks int
		want   int
	}{
		{1024, 256, 352}, {0, 256, 352}, {65536, 256, 32608}, {1 << 40, 256, 524128}, {100, 256, 1}, {100, 25, 12}, {64, 16, 8},
	} {
		if got := transport.SpareOf(c.limit, c.checks); got != c.want {
			t.Errorf("got %d connections of %d descriptors beside %d checks, want %d", got, c.limit, c.checks, c.want)
		}
	}
	if got := transport.SpareSockets(10); got < 1 {
		t.Errorf("got %d connections, want at least one", got)
	}
}

func TestContract180ChecksAndClientsLeaveDescriptorsForTheRest(t *testing.T) {
	for _, c := range []struct {
		limit        uint64
		wanted, want int
	}{
		{1024, 256, 256}, {1024, 10_000, 256}, {0, 10_000, 256}, {350, 64, 64}, {350, 256, 87}, {100, 256, 25}, {2, 256, 1}, {1 << 40, 65535, 65535}, {100, 0, 0},
	} {
		if got := transport.ShareOf(c.limit, c.wanted); got != c.want {
			t.Errorf("got %d sockets of %d descriptors, want %d of %d", got, c.limit, c.want, c.wanted)
		}
	}
}

func TestContract180HalfOfTheDescriptorsOrHalfOfWhatChecksLeaveStayFree(t *testing.T) {
	for limit := uint64(16); limit <= 4096; limit++ {
		checks := transport.ShareOf(limit, 65535)
		held := transport.SpareOf(limit, checks)
		if free := int(limit) - checks - held; free < int(limit)*3/8 {
			t.Fatalf("of %d descriptors %d checks and %d held connections leave %d, want three eighths at least", limit, checks, held, free)
		}
	}
}
