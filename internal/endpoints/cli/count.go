package cli

import (
	"fmt"
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// count is how many endpoints the slices publish in which state.
type count struct{ ready, draining, down int }

// countOf counts the endpoints of the slices as they should be. One that is in two
// slices counts in the better state, because that is how it is used.
func countOf(f *controller.AssessedFill) count {
	states := make(map[netip.Addr]inventory.State)
	for _, s := range f.Desired {
		for _, m := range s.Endpoints {
			if was, known := states[m.Address]; !known || m.State < was {
				states[m.Address] = m.State
			}
		}
	}
	var c count
	for _, state := range states {
		switch state {
		case inventory.StateReady:
			c.ready++
		case inventory.StateDraining:
			c.draining++
		case inventory.StateDown:
			c.down++
		case inventory.Absent:
		}
	}
	return c
}

// String says what is published.
func (c count) String() string {
	if c == (count{}) {
		return "no endpoint is published"
	}
	text := plural(c.ready, "endpoint") + " ready"
	if c.ready == 0 {
		text = "no endpoint ready"
	}
	if c.draining > 0 {
		text += fmt.Sprintf(", %d draining", c.draining)
	}
	if c.down > 0 {
		text += fmt.Sprintf(", %d down", c.down)
	}
	return text
}
