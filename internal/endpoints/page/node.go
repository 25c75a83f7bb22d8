package page

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

const (
	// maxRows bounds the table of nodes: a browser on a phone draws so many at once.
	maxRows = 500
	// maxOpen is up to how many nodes are shown with their trails unfolded.
	maxOpen = 2
)

// rank is how urgent a node is; less is worse. The table is ordered by it.
type rank int

const (
	notServing rank = iota
	questioned
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
		return questioned
	case !n.Meant():
		return leftOut
	}
	return notServing
}

// inQuestion reports whether a node is ready, and something is wrong.
func inQuestion(n report.Node) bool { return rankOf(n) == questioned }

// group is a part of the table, with a heading of its own.
type group struct {
	Title string
	// Count is how many nodes belong to it, shown or not.
	Count int
	Nodes []report.Node
}

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
		if inQuestion(n) {
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
	case questioned:
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
func groups(nodes []report.Node) []group {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b report.Node) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	all := make([]group, ranks)
	for i, n := range sorted {
		g := &all[rankOf(n)]
		g.Title = rankOf(n).title()
		g.Count++
		if i < maxRows {
			g.Nodes = append(g.Nodes, n)
		}
	}
	return slices.DeleteFunc(all, func(g group) bool { return g.Count == 0 })
}
