package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// serviceText renders one Service for people.
func serviceText(d *report.Document, wide bool) string {
	banners := append(modeBanners(d), serviceTroubles(d)...)
	if d.Source.LastError != "" {
		banners = append(banners, "No node joins or leaves; health checks still take dead endpoints down and bring them back.")
	}
	if d.DryRun {
		banners = append(banners, dryRun)
	}
	if d.StandsBy() {
		return sheet(d.Summary, banners)
	}
	facts := newTable(true)
	facts.add("Source", sourceLine(d))
	if r := d.Source.RemoteService; r != nil {
		facts.add("Follows", r.String())
	}
	facts.add("Store", storeLine(d))
	if d.Election.Enabled {
		facts.add("Leader", d.Election.Holder+", since "+agoOf(d.At, d.Election.Since))
		facts.add("Replicas", d.Election.String())
	}
	return sheet(d.Summary, banners, facts, nodeTable(d, wide))
}

// dryRun is said where nothing is written.
const dryRun = "Dry run: no slice is written."

// headBanners say which replica answers, and that the program stands still.
func headBanners(h *report.Head) []string {
	var all []string
	if h.HandedOnBy != "" {
		all = append(all, fmt.Sprintf("%s stands by and hands on the status of the leader, %s.", h.HandedOnBy, h.Election.Holder))
	}
	if h.Election.LeaderError != "" {
		all = append(all, "The status of the leader cannot be read: "+h.Election.LeaderError)
	}
	if h.Standstill != "" {
		all = append(all, "STANDS STILL, the rest is old: "+h.Standstill)
	}
	return all
}

// modeBanners say besides why an inventory was rejected or silent checks do not count, which
// endpoints that will remove and when, and how many endpoints are not checked.
func modeBanners(d *report.Document) []string {
	all := headBanners(&d.Head)
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

// serviceTroubles are what is wrong with the Service, its slices and its source.
func serviceTroubles(d *report.Document) []string {
	var all []string
	if d.Problem != nil {
		all = append(all, d.Problem.Kind+": "+d.Problem.Message)
	}
	switch s := d.Store; {
	case s.LoadError != "":
		all = append(all, "The slices cannot be read: "+s.LoadError)
	case s.LastError != "":
		all = append(all, "The slices cannot be written: "+s.LastError)
	case s.PendingSlices > 0:
		all = append(all, plural(s.PendingSlices, "slice")+" not written yet")
	}
	if d.Source.LastError != "" {
		all = append(all, "The source cannot be read: "+d.Source.LastError)
	}
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
		line = fmt.Sprintf("%s, %d nodes read %s", s.Kind, d.Stages.Nodes, agoOf(d.At, s.LastSuccess))
	}
	if s.RejectedInventories > 0 {
		line += fmt.Sprintf(", %d rejected in a row", s.RejectedInventories)
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
		line += ", written " + agoOf(d.At, s.LastWrite)
	}
	return line
}

// nodeTable lists the nodes, first those that are not ready and should be.
func nodeTable(d *report.Document, wide bool) *table {
	nodes := slices.Clone(d.Nodes)
	slices.SortStableFunc(nodes, func(a, b report.Node) int { return cmp.Compare(a.Concern(), b.Concern()) })
	t := newTable(wide, "NODE", "+ID", "ADDRESS", "+ZONE", "STATE", "REASON", "+SINCE", "+PROBE", "MESSAGE")
	for _, n := range nodes {
		t.add(n.Name, n.ID, n.Address, n.Zone, n.State, n.Reason, ageOf(d.At, n.Since), probeCell(n.HealthCheck), n.Message)
	}
	return t
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

// explainedText renders what one Service knows of a subject for people: of each entry what
// it is, how it came to that, and what to do.
func explainedText(e *report.Explanation, d *report.Document) string {
	headline := e.Subject + " is not published ready."
	switch {
	case len(e.Services) == 0:
		headline = fmt.Sprintf("%s is unknown: the source lists %s, and no node has this name, id or address.", e.Subject, plural(d.Stages.Nodes, "node"))
		if near := nearest(d, e.Subject); near != "" {
			headline += " Did you mean " + near + "?"
		}
	case e.ReadyIn() > 0:
		headline = e.Subject + " is published ready."
	}
	banners := modeBanners(d)
	var documents []string
	for _, document := range d.DecidedBy {
		documents = append(documents, document.String())
	}
	if len(documents) > 0 && len(e.Services) > 0 {
		banners = append(banners, "Decided by "+strings.Join(documents, ", "))
	}
	var tables []*table
	for _, s := range e.Services {
		for _, n := range s.Nodes {
			tables = append(tables, nodeFacts(n, d), nodeTrail(n))
		}
	}
	return sheet(headline, banners, tables...)
}

// nearest is the name or address that was probably meant, empty where none is near.
func nearest(d *report.Document, subject string) string {
	var names []string
	for _, n := range d.Nodes {
		names = append(names, n.Name, n.Address)
	}
	return settings.Nearest(subject, slices.DeleteFunc(names, func(name string) bool { return name == "" }))
}

// nodeFacts are an entry, with the words of the reference.
func nodeFacts(n report.Node, d *report.Document) *table {
	names, doc := d.Names(n.Pool), inventory.Reason(n.Reason).Doc()
	if n.Reason == string(inventory.Ready) && n.HealthCheck == nil {
		doc.Meaning = "present; published ready without a check, because HEALTH_CHECK_MODE=off"
	}
	t := newTable(true)
	t.add("Node", strings.TrimSpace(n.Name+" "+n.ID))
	t.add("Address", n.Address)
	t.add("State", n.State+", "+n.Reason+" for "+cmp.Or(ageOf(d.At, n.Since), "-"))
	t.add("Means", names.Of(doc.Meaning))
	if p := n.HealthCheck; p != nil && !p.At.IsZero() {
		t.add("Check", fmt.Sprintf("%s %d times in a row, the last %s in %s", p.Outcome, p.Streak, agoOf(d.At, p.At), latency(p)))
	}
	t.add("Do", names.Of(doc.Remedy))
	return t
}

// nodeTrail is what each stage decided on an entry.
func nodeTrail(n report.Node) *table {
	t := newTable(true, "STAGE", "ADDRESS", "REASON", "MESSAGE")
	for _, decision := range n.Decisions {
		t.add(decision.Stage, cmp.Or(decision.Address, n.Address), decision.Reason, decision.Message)
	}
	return t
}

// listText renders pools and Services for people: first the pools, then the Services,
// the worst first.
func listText(l *report.Services, wide bool) string {
	banners := append(headBanners(&l.Head), listTroubles(l)...)
	if l.StandsBy() {
		return sheet(l.Summary, banners)
	}
	if l.DryRun {
		banners = append(banners, dryRun)
	}
	return sheet(l.Summary, banners, poolTable(l, wide), serviceTable(l, wide))
}

// listTroubles are what is wrong beside pools and Services.
func listTroubles(l *report.Services) []string {
	var all []string
	if l.ServicesKept != "" {
		all = append(all, "HOLD: "+l.ServicesKept)
	}
	for _, p := range l.Pools {
		if p.Removal != nil {
			all = append(all, "PENDING in pool "+p.Name+": "+p.Removal.String())
		}
	}
	for _, w := range l.ServicesWithoutPool {
		all = append(all, fmt.Sprintf("Slice %s/%s holds %s of pool %s, which no document describes. They stay as they are and are not checked.", w.Namespace, w.Slice, plural(w.Endpoints, "endpoint"), w.Pool))
	}
	if l.Documents == nil {
		return all
	}
	for _, m := range l.Documents.Mistakes {
		all = append(all, "Mistake in a document: "+strings.TrimSpace(m.Place+" "+m.Message))
	}
	if l.Documents.StatusError != "" {
		all = append(all, l.Documents.StatusError+".")
	}
	return all
}

// poolTable lists the pools.
func poolTable(l *report.Services, wide bool) *table {
	t := newTable(wide, "POOL", "STATE", "+SOURCE", "NODES", "READY", "DOWN", "DRAINING", "SERVICES", "READ", "+MODE", "+SINCE", "+CHECKS", "MESSAGE")
	for _, p := range l.Pools {
		source, read := "", ""
		if p.Source != nil {
			source, read = p.Source.Kind, agoOf(l.At, p.Source.LastSuccess)
		}
		var checks []string
		for _, g := range p.Groups {
			checks = append(checks, g.HealthCheck)
		}
		s := p.Stages
		t.add(p.Name, string(p.Condition), source, fmt.Sprint(s.Nodes), fmt.Sprint(s.Ready), fmt.Sprint(s.Down), fmt.Sprint(s.Draining), fmt.Sprint(p.Services), read,
			p.Mode, ageOf(l.At, p.Since), strings.Join(checks, ", "), poolMessage(p))
	}
	return t
}

// poolMessage says what is wrong with a pool.
func poolMessage(p report.PoolStatus) string {
	switch {
	case p.Problem != "":
		return p.Problem
	case p.Source != nil && p.Source.LastError != "":
		return "cannot be read: " + p.Source.LastError
	case p.Message != "":
		return strings.TrimSpace(p.Reason + ": " + p.Message)
	case p.Vanished:
		return "no document describes it any more"
	case p.Source != nil && len(p.Source.Warnings) > 0:
		return p.Source.Warnings[0]
	}
	return ""
}

// serviceTable lists the Services in the order that they are in.
func serviceTable(l *report.Services, wide bool) *table {
	t := newTable(wide, "NAMESPACE", "SERVICE", "STATE", "READY", "POOLS", "+LEAVES", "MESSAGE")
	for _, s := range l.Services {
		leaves := ""
		if !s.LeavesAt.IsZero() {
			leaves = "in " + duration.HumanDuration(max(0, s.LeavesAt.Sub(l.At)))
		}
		t.add(s.Namespace, s.Service, string(s.Condition), fmt.Sprintf("%d/%d", s.ReadyEndpoints, s.Endpoints), poolsCell(s), leaves, serviceMessage(s))
	}
	return t
}

// poolsCell names the pools of a Service, and what becomes of those that change.
func poolsCell(s report.ServiceStatus) string {
	var names []string
	for _, p := range s.Pools {
		name := p.Name
		if p.State != report.Active {
			name += "(" + string(p.State) + ")"
		}
		names = append(names, name)
	}
	for _, r := range s.Refusals {
		if r.Pool != "" {
			names = append(names, r.Pool+"(refused)")
		}
	}
	return strings.Join(names, ",")
}

// serviceMessage says what is wrong with a Service.
func serviceMessage(s report.ServiceStatus) string {
	switch {
	case s.Problem != nil:
		return s.Problem.Kind + ": " + s.Problem.Message
	case len(s.Refusals) > 0:
		return s.Refusals[0].Reason + ": " + s.Refusals[0].Message
	}
	for _, p := range s.Pools {
		if p.StateMessage != "" {
			return p.Name + ": " + p.StateMessage
		}
	}
	if s.Condition == report.Healthy {
		return ""
	}
	return s.Summary
}

// explainedTable renders an explanation for people: a line for each entry of each Service
// that knows the subject.
func explainedTable(e *report.Explanation, wide bool) string {
	t := newTable(wide, "NAMESPACE", "SERVICE", "POOL", "NODE", "ADDRESS", "STATE", "REASON", "MESSAGE")
	for _, s := range e.Services {
		for _, n := range s.Nodes {
			t.add(s.Namespace, s.Service, n.Pool, n.Name, n.Address, n.State, n.Reason, n.Message)
		}
	}
	headline := fmt.Sprintf("%s is known to %d of %s, and published ready by %d.", e.Subject, len(e.Services), plural(e.Known, "Service"), e.ReadyIn())
	if len(e.Services) == 0 {
		headline = fmt.Sprintf("%s is unknown: no pool of %s lists a node with this name, id or address.", e.Subject, plural(e.Known, "Service"))
	}
	return sheet(headline, headBanners(&e.Head), t)
}
