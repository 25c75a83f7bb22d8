package page

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// serviceView is what the template of the page of one Service is filled with.
type serviceView struct {
	frame
	Document *report.Document
	Stages   []stage
	Groups   []group
	// Known counts all nodes, Matching those asked for, Hidden those of them that
	// are not shown, Uncounted those of all that the headline does not count.
	Known, Matching, Hidden, Uncounted int
}

// stage is one step of the way from the inventory to the slices.
type stage struct {
	Name  string
	Count int
	Means string
	Tone  tone
	// Last ends the way; what comes behind it are the states at its end.
	Last bool
}

// servicePage is the status page of one Service.
func (s *Server) servicePage(w http.ResponseWriter, r *http.Request) {
	path := listPath + "/" + url.PathEscape(r.PathValue("namespace")) + "/" + url.PathEscape(r.PathValue("service"))
	q, err := parseQuery(r.URL.Query())
	q.Page, q.JSONPath = path, "/api/v1"+path
	if r.URL.Path == "/" {
		q.Page = "/"
	}
	showPage(s, w, r, s.one, q, err, "service.html", func(d *report.Document) any { return serviceOf(d, q) })
}

// serviceOf makes the view of one Service.
func serviceOf(d *report.Document, q query) serviceView {
	m := moments{d.At}
	v := serviceView{
		frame:    frame{moments: m, Query: q, Headline: d.Summary, Banners: banners(d, m), Facts: facts(d, m)},
		Document: d, Stages: stages(d),
	}
	v.Tone, v.Word = mood(d.Condition, v.Banners)
	v.pick(d)
	return v
}

// Pools are those of the Service, where documents say which.
func (v serviceView) Pools() []report.PoolPart {
	if v.Document.OfVariables() {
		return nil
	}
	return v.Document.Pools
}

// Open unfolds the trails of a list that was narrowed down to a few nodes.
func (v serviceView) Open() bool { return v.Matching <= maxOpen }

// partLook is the mark of a pool of a Service.
func partLook(p report.PoolPart) string {
	switch {
	case p.Mode == guard.FailOpen.String():
		return bad.Look()
	case p.State != report.Active, p.Mode == guard.Hold.String():
		return warn.Look()
	}
	return good.Look()
}

// stages are the counts, in the order of the data's way. A standby has none.
func stages(d *report.Document) []stage {
	if !d.Leader {
		return nil
	}
	published := "published"
	if d.DryRun {
		published = "would be published"
	}
	unlessNone := func(n int, t tone) tone {
		if n == 0 {
			return ""
		}
		return t
	}
	return []stage{
		{Name: "nodes", Count: d.Stages.Nodes, Means: "in the last inventory"},
		{Name: "eligible", Count: d.Stages.Eligible, Means: "endpoints that may be published"},
		{Name: "passing", Count: d.Stages.Passing, Means: "their last health check passed", Last: true},
		{Name: "ready", Count: d.Stages.Ready, Means: published + ", get traffic", Tone: unlessNone(d.Stages.Ready, good)},
		{Name: "draining", Count: d.Stages.Draining, Means: published + ", finish what they have", Tone: unlessNone(d.Stages.Draining, warn)},
		{Name: "down", Count: d.Stages.Down, Means: published + ", get no traffic", Tone: unlessNone(d.Stages.Down, bad)},
	}
}

// facts are the lines about source, store and program.
func facts(d *report.Document, m moments) []fact {
	all := []fact{
		{Name: "Mode", Text: d.Mode, Detail: d.Reason},
		{Name: "Last inventory", At: m.When(d.Source.LastSuccess), Text: "never", Detail: "source " + d.Source.Kind},
		{Name: "Next inventory", At: m.When(d.Source.NextRead), Text: "not planned"},
		{Name: "Last write", At: m.When(d.Store.LastWrite), Text: "none by this process", Detail: "store " + d.Store.Kind},
		{Name: "Slices", Text: strings.Join(d.Service.Slices, ", ")},
	}
	all = append(all, programFacts(d.Headline, m)...)
	if r := d.Source.RemoteService; r != nil {
		all = append(all, fact{Name: "Follows", Text: r.String()})
	}
	if d.Source.RejectedInventories > 0 {
		all[1].Detail += ", " + inventory.Counted(d.Source.RejectedInventories, "rejected inventory", "rejected inventories") + " in a row"
	}
	if d.Store.PendingSlices > 0 {
		all[3].Detail += ", " + strconv.Itoa(d.Store.PendingSlices) + " pending"
	}
	if len(d.Service.Slices) == 0 {
		all[4].Text = "none"
	}
	for _, document := range d.DecidedBy {
		all = append(all, fact{Name: "Decided by", Text: document.String()})
	}
	return all
}

// pick chooses the nodes that are asked for.
func (v *serviceView) pick(d *report.Document) {
	terms := v.Query.terms()
	found := slices.DeleteFunc(slices.Clone(d.Nodes), func(n report.Node) bool { return !contains(n, terms) })
	for _, state := range append([]string{""}, filterStates()...) {
		q := v.Query
		q.State = state
		c := choice{Text: state, Link: q.link(), Chosen: state == v.Query.State}
		switch state {
		case "":
			c.Text = "all"
		case notReady:
			c.Text = "not ready"
		}
		for _, n := range found {
			if q.hasState(n) {
				c.Count++
			}
		}
		v.Choices = append(v.Choices, c)
	}
	for _, n := range d.Nodes {
		if !n.Meant() {
			v.Uncounted++
		}
	}
	found = slices.DeleteFunc(found, func(n report.Node) bool { return !v.Query.hasState(n) })
	v.Known, v.Matching, v.Hidden = len(d.Nodes), len(found), max(0, len(found)-maxRows)
	v.Groups = groups(found)
	switch {
	case len(d.Nodes) == 0 && !d.Leader:
		v.Empty = "This replica stands by and knows no nodes."
	case len(d.Nodes) == 0 && d.Source.LastSuccess.IsZero():
		v.Empty = "The source has not been read yet, and no slice publishes an endpoint."
	case len(d.Nodes) == 0:
		v.Empty = "The source lists no node, and no slice publishes an endpoint."
	case len(found) == 0:
		v.Empty = "No node matches."
	}
}

const (
	// maxRows bounds the table of nodes: a browser on a phone draws so many at once.
	maxRows = 500
	// maxOpen is up to how many nodes are shown with their trails unfolded.
	maxOpen = 2
)

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
		if n.Concern() == report.Questioned {
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

// groups orders the nodes by urgency, the worst first, and returns the first
// maxRows of them as groups.
func groups(nodes []report.Node) []group {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b report.Node) int { return cmp.Compare(a.Concern(), b.Concern()) })
	all := []group{report.NotServing: {Title: "Not ready"}, report.Questioned: {Title: "Ready, with a problem"}, report.Departing: {Title: "Leaving"}, report.LeftOut: {Title: "Not eligible"}, report.Serving: {Title: "Ready"}}
	for i, n := range sorted {
		g := &all[n.Concern()]
		g.Count++
		if i < maxRows {
			g.Nodes = append(g.Nodes, n)
		}
	}
	return slices.DeleteFunc(all, func(g group) bool { return g.Count == 0 })
}

// maxNamed is how many endpoints of one change are named.
const maxNamed = 6

// what says what a cycle was.
func what(c report.Cycle) string {
	switch {
	case c.Writes > 0:
		return inventory.Counted(c.Writes, "slice written", "slices written")
	case c.Error != "":
		return "failed"
	case c.Inventory == nil:
		return "decided"
	}
	said := "inventory of " + inventory.Counted(c.Inventory.Nodes, "node", "nodes")
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
