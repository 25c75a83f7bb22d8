package pool

import (
	"context"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Source reads the inventory of the remote cluster.
type Source interface {
	// Read returns one complete list of nodes; anything less is an error. An
	// error may wrap a [retryafter.Error], which is honoured.
	Read(ctx context.Context) ([]inventory.Node, error)
}

// Placer knows where the Pods of the remote Service are that one group follows.
type Placer interface {
	// Placement returns the newest complete placement, the same pointer as long as it is that;
	// or an error while there was none yet, or it is not current any more. It never blocks.
	Placement() (*inventory.Placement, error)
	// Changed receives a value when the next answer will differ.
	Changed() <-chan struct{}
}

// Prober checks the health of one address. A failed check is a result.
type Prober interface {
	Check(ctx context.Context, addr netip.Addr) inventory.Result
}

const (
	// gather is how long a result of a check waits for others.
	gather = 20 * time.Millisecond
	// heartbeat is how often the loop comes round when nothing happens.
	heartbeat = time.Second
	// firstCheck bounds the time that the first inventory after a restart waits
	// for the checks of what is published, whatever HEALTH_CHECK_TIMEOUT is.
	firstCheck = 5 * time.Second
)
