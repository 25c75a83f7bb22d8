package idle

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/wire"

// MaxConnections returns how many connections may be held beside so many checks at a
// time.
func MaxConnections(checks int) int { return wire.SpareSockets(checks) }
