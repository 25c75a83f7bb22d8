package cli

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// count is how many endpoints the slices publish in which state.
type count map[inventory.State]int

// countOf counts the endpoints of the slices as they should be.
func countOf(f *controller.AssessedFill) count {
	c := make(count)
	for _, m := range publish.Published(publish.State{Slices: f.Desired}) {
		c[m.State]++
	}
	return c
}

// String says what is published.
func (c count) String() string {
	if len(c) == 0 {
		return "no endpoint is published"
	}
	text := plural(c[inventory.StateReady], "endpoint") + " ready"
	if c[inventory.StateReady] == 0 {
		text = "no endpoint ready"
	}
	for _, state := range []inventory.State{inventory.StateDraining, inventory.StateDown} {
		if c[state] > 0 {
			text += fmt.Sprintf(", %d %s", c[state], state)
		}
	}
	return text
}
