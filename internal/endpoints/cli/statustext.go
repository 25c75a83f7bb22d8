package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// shortMessage is how much of a message -o text shows, in characters; wide shows
// all.
const shortMessage = 80

// statusText renders a document for people.
func statusText(d *report.Document, all bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, plain(d.Summary))
	for _, banner := range banners(d) {
		fmt.Fprintln(&b, plain(banner))
	}
	if standsBy(d) {
		return b.String()
	}
	b.WriteString("\n")
	facts := newRows()
	facts.add("Source", sourceLine(d))
	facts.add("Store", storeLine(d))
	if d.Election.Enabled {
		facts.add("Leader", d.Election.Holder+", since "+ago(d, d.Election.Since))
	}
	b.WriteString(facts.String())
	if len(d.Nodes) > 0 {
		b.WriteString("\n")
		b.WriteString(nodeTable(d, all))
	}
	return b.String()
}

// modeBanners say which replica answers, that the program stands still, why an
// inventory was rejected or silent checks do not count, which endpoints that will
// remove and when, and how many endpoints are not checked.
func modeBanners(d *report.Document) []string {
	all := headBanners(d.Election, d.HandedOnBy, d.Standstill)
	if d.Mode != guard.Publish.String() {
		all = append(all, fmt.Sprintf("%s for %s: %s: %s", strings.ToUpper(d.Mode), ageOf(d.At, d.Since), d.Reason, d.Message))
	}
	if d.Removal != nil {
		all = append(all, "PENDING: "+d.Removal.String())
	}
	if n := d.Stages.Unchecked; n > 0 {
		all = append(all, "NOT CHECKED: the health checks of "+plural(n, "endpoint")+" cannot be carried out; their messages name the error")
	}
	return all
}

// banners are what must not be overlooked.
func banners(d *report.Document) []string {
	all := modeBanners(d)
	if d.Problem != nil {
		all = append(all, fmt.Sprintf("%s: %s", d.Problem.Kind, d.Problem.Message))
	}
	if d.Source.LastError != "" {
		all = append(all, "The source cannot be read: no node joins or leaves; health checks still take dead endpoints down and bring them back.")
	}
	all = append(all, oddities(d)...)
	if d.DryRun {
		all = append(all, "Dry run: nothing is written.")
	}
	return all
}

// oddities are foreign slices of the Service, and the warnings of the source.
func oddities(d *report.Document) []string {
	var all []string
	for _, refused := range d.Store.SlicesOfOthers {
		all = append(all, "Slice of another program: "+refused)
	}
	for _, beside := range d.Store.SlicesBeside {
		all = append(all, "Other slice of the Service: "+beside)
	}
	for _, warning := range d.Source.Warnings {
		all = append(all, "Warning: "+warning)
	}
	return all
}

func sourceLine(d *report.Document) string {
	s := d.Source
	line := s.Kind + ", never read"
	if !s.LastSuccess.IsZero() {
		line = fmt.Sprintf("%s, %d nodes read %s ago", s.Kind, d.Stages.Nodes, ageOf(d.At, s.LastSuccess))
	}
	if s.RejectedInventories > 0 {
		line += fmt.Sprintf(", %d rejected in a row", s.RejectedInventories)
	}
	if s.LastError != "" {
		line += ", failing: " + s.LastError
	}
	return line
}

func storeLine(d *report.Document) string {
	s := d.Store
	line := s.Kind + ", no slices"
	if len(d.Service.Slices) > 0 {
		line = s.Kind + ", slices " + strings.Join(d.Service.Slices, " ")
	}
	if !s.LastWrite.IsZero() {
		line += ", written " + ageOf(d.At, s.LastWrite) + " ago"
	}
	if s.PendingSlices > 0 {
		line += fmt.Sprintf(", %d not as decided", s.PendingSlices)
	}
	switch {
	case s.LoadError != "":
		line += ", cannot be read: " + s.LoadError
	case s.WriteError != "":
		line += ", cannot be written: " + s.WriteError
	}
	return line
}

// nodeTable lists the nodes, first those that are not ready and should be.
func nodeTable(d *report.Document, all bool) string {
	nodes := slices.Clone(d.Nodes)
	slices.SortStableFunc(nodes, func(a, b report.Node) int { return cmp.Compare(concern(a), concern(b)) })
	columns := []string{"NODE", "ADDRESS", "STATE", "REASON", "MESSAGE"}
	if all {
		columns = []string{"NODE", "ID", "ADDRESS", "ZONE", "STATE", "REASON", "SINCE", "PROBE", "MESSAGE"}
	}
	r := newRows(columns...)
	for _, n := range nodes {
		if all {
			r.add(n.Name, n.ID, n.Address, n.Zone, n.State, n.Reason, ageOf(d.At, n.Since), probeCell(n.HealthCheck), n.Message)
		} else {
			r.add(n.Name, n.Address, n.State, n.Reason, short(n.Message))
		}
	}
	return r.String()
}

// concern orders nodes: first those with a problem.
func concern(n report.Node) int {
	switch {
	case n.Meant() && n.State != inventory.StateReady.String():
		return 0
	case n.Meant() && n.Reason != string(inventory.Ready):
		return 1
	case !n.Meant():
		return 2
	}
	return 3
}

// probeCell is a health check in a word or two.
func probeCell(p *report.HealthCheck) string {
	switch {
	case p == nil:
		return ""
	case p.At.IsZero():
		return p.Outcome
	}
	return fmt.Sprintf("%s x%d %s", p.Outcome, p.Streak, latency(p))
}

// latency is how long a check took.
func latency(p *report.HealthCheck) string {
	return time.Duration(p.LatencySeconds * float64(time.Second)).Round(100 * time.Microsecond).String()
}

// ago is how old a time was when the document was made, with a word for what is not known.
func ago(d *report.Document, at time.Time) string {
	if at.IsZero() {
		return "an unknown time"
	}
	return agoOf(d.At, at)
}

// short cuts a message.
func short(message string) string {
	if letters := []rune(message); len(letters) > shortMessage {
		return string(letters[:shortMessage-1]) + "…"
	}
	return message
}

// plain replaces characters that a terminal does not show: names and messages come
// from elsewhere, and could move the cursor.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// dash replaces an empty text.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
