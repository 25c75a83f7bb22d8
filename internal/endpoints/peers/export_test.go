package peers

import (
	"context"
	"net/netip"
)

// Dial replaces how an Answerer connects.
func (a *Answerer) Dial(dial func(context.Context, netip.AddrPort) error) { a.dial = dial }
