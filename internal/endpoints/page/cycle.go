package page

import (
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// maxNamed is how many endpoints of one change are named.
const maxNamed = 6

// what says what a cycle was.
func what(c report.Cycle) string {
	switch {
	case c.Writes > 0:
		return counted(c.Writes, "slice written", "slices written")
	case c.Error != "":
		return "failed"
	case c.Inventory == nil:
		return "decided"
	}
	said := "inventory of " + counted(c.Inventory.Nodes, "node", "nodes")
	if c.Inventory.Rejected != "" {
		said += " rejected: " + c.Inventory.Rejected
	}
	return said
}

// changes say how mode, states and slices changed in a cycle.
func changes(c report.Cycle) []string {
	var lines []string
	if c.Mode != nil {
		lines = append(lines, fmt.Sprintf("mode %s → %s (%s): %s", c.Mode.From, c.Mode.To, c.Mode.Reason, c.Mode.Message))
	}
	for _, s := range c.States[:min(len(c.States), maxNamed)] {
		line := fmt.Sprintf("%s: %s → %s", s.Address, s.From, s.To)
		if s.Reason != "" {
			line += " (" + s.Reason + ")"
		}
		lines = append(lines, line)
	}
	if more := len(c.States) + c.MoreStates - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	for _, change := range []struct {
		what      string
		addresses []string
	}{{"added", c.Added}, {"removed", c.Removed}, {"changed", c.Changed}} {
		if n := len(change.addresses); n > 0 {
			line := fmt.Sprintf("%d %s: %s", n, change.what, strings.Join(change.addresses[:min(n, maxNamed)], ", "))
			if n > maxNamed {
				line += fmt.Sprintf(" and %d more", n-maxNamed)
			}
			lines = append(lines, line)
		}
	}
	return lines
}
