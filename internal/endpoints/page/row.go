package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// maxRows bounds the table of nodes: a browser on a phone draws so many at once.
const maxRows = 500

// rank is how urgent a node is; less is worse. The table is ordered by it.
type rank int

const (
	notServing rank = iota
	inQuestion
	departing
	leftOut
	serving
	ranks
)

// rankOf sorts a node in.
func rankOf(n report.Node) rank {
	switch {
	case n.State == inventory.StateDraining.String():
		return departing
	case n.State == inventory.StateReady.String() && n.Reason == string(inventory.Ready):
		return serving
	case n.State == inventory.StateReady.String():
		return inQuestion
	case !n.Meant():
		return leftOut
	}
	return notServing
}

// group is a part of the table, with a heading of its own.
type group struct {
	Title string
	// Count is how many nodes belong to it, shown or not.
	Count int
	Rows  []row
}

// row is a node as the table shows it.
type row struct {
	State, Sign             string
	Name, ID, Address, Zone string
	Pool                    string
	Reason, Message         string
	Probe                   *check
	Since                   *moment
	Trail                   []step
	// InQuestion says that it is ready, and that something is wrong; Open unfolds
	// the trail.
	InQuestion, Open bool
}

// check is the last health check of a node.
type check struct {
	Outcome, Latency, Message string
	Streak                    int
	Failed                    bool
	At                        *moment
}

// step is one decision of a trail.
type step struct{ Stage, Address, Verdict, Message string }

// verdict is what a stage decided, in a word: its reason, or that the node passed.
// A check that failed because of this machine did neither.
func verdict(n report.Node, d report.Decision) string {
	switch {
	case d.Reason != "":
		return d.Reason
	case d.Stage == string(inventory.StageHealth) && (n.HealthCheck == nil || n.HealthCheck.Message != d.Message || n.HealthCheck.Outcome != inventory.Pass.String()):
		return "not counted"
	}
	return "passed"
}

// sign is the state as a character, for readers who cannot tell colours apart.
func sign(n report.Node) string {
	switch n.State {
	case inventory.StateReady.String():
		if rankOf(n) == inQuestion {
			return "!"
		}
		return "✓"
	case inventory.StateDraining.String():
		return "↓"
	case inventory.StateDown.String():
		return "✗"
	}
	return "–"
}

// title names a group.
func (r rank) title() string {
	switch r {
	case notServing:
		return "Not ready"
	case inQuestion:
		return "Ready, with a problem"
	case departing:
		return "Leaving"
	case leftOut:
		return "Not eligible"
	case serving, ranks:
	}
	return "Ready"
}

// groups orders the nodes by urgency, the worst first, and returns the first
// maxRows of them as groups.
func groups(nodes []report.Node, m moments) []group {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b report.Node) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	all := make([]group, ranks)
	for i, n := range sorted {
		g := &all[rankOf(n)]
		g.Title = rankOf(n).title()
		g.Count++
		if i < maxRows {
			// A list that was narrowed down to a few nodes shows their trails unfolded.
			g.Rows = append(g.Rows, rowOf(n, m, len(nodes) <= maxOpen))
		}
	}
	return slices.DeleteFunc(all, func(g group) bool { return g.Count == 0 })
}

// maxOpen is up to how many nodes are shown with their trails unfolded.
const maxOpen = 2

// rowOf makes the row of a node.
func rowOf(n report.Node, m moments, open bool) row {
	r := row{
		State: n.State, Sign: sign(n), InQuestion: rankOf(n) == inQuestion, Name: legible(n.Name), ID: legible(n.ID), Address: n.Address, Zone: legible(n.Zone), Pool: legible(n.Pool),
		Reason: n.Reason, Message: prose(n.Message), Since: m.at(n.Since), Open: open,
	}
	if p := n.HealthCheck; p != nil {
		r.Probe = &check{Outcome: p.Outcome, Message: prose(p.Message), Streak: p.Streak, At: m.at(p.At), Failed: p.Outcome != inventory.Pass.String()}
		if p.Streak > 0 {
			r.Probe.Latency = latency(p.LatencySeconds)
		}
	}
	for _, d := range n.Decisions {
		r.Trail = append(r.Trail, step{Stage: d.Stage, Address: d.Address, Verdict: verdict(n, d), Message: prose(d.Message)})
	}
	return r
}

// cycle is a read or a change as the page shows it.
type cycle struct {
	At      *moment
	Took    string
	What    string
	Changes []string
	Error   string
	Repeats int
}

// maxNamed is how many addresses of one change are named.
const maxNamed = 6

// cycles makes the rows of the last cycles.
func cycles(d *report.Document, m moments) []cycle {
	all := make([]cycle, 0, len(d.Cycles))
	for _, c := range d.Cycles {
		shown := cycle{At: m.at(c.At), Took: latency(c.DurationSeconds), Error: prose(c.Error), Repeats: c.Repeats}
		switch {
		case c.Writes > 0:
			shown.What = counted(c.Writes, "slice written", "slices written")
		case c.Error != "":
			shown.What = "failed"
		case c.Inventory == nil:
			shown.What = "decided"
		case c.Inventory.Rejected != "":
			shown.What = fmt.Sprintf("inventory of %s rejected: %s", counted(c.Inventory.Nodes, "node", "nodes"), c.Inventory.Rejected)
		default:
			shown.What = "inventory of " + counted(c.Inventory.Nodes, "node", "nodes")
		}
		shown.Changes = decided(c)
		for _, change := range []struct {
			what  string
			addrs []string
		}{{"added", c.Added}, {"removed", c.Removed}, {"changed", c.Changed}} {
			if len(change.addrs) > 0 {
				shown.Changes = append(shown.Changes, fmt.Sprintf("%d %s: %s", len(change.addrs), change.what, named(change.addrs)))
			}
		}
		all = append(all, shown)
	}
	return all
}

// decided says how mode and states changed.
func decided(c report.Cycle) []string {
	var lines []string
	if c.Mode != nil {
		lines = append(lines, fmt.Sprintf("mode %s → %s (%s): %s", c.Mode.From, c.Mode.To, c.Mode.Reason, prose(c.Mode.Message)))
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
	return lines
}

// named lists the first of some addresses.
func named(addrs []string) string {
	text := ""
	for i, addr := range addrs {
		if i == maxNamed {
			return text + fmt.Sprintf(" and %d more", len(addrs)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += addr
	}
	return text
}
