package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

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
		headline = fmt.Sprintf("%s is unknown: no pool of %s lists a node that is named so or has it as id or address.", e.Subject, plural(e.Known, "Service"))
	}
	return sheet(headline, headBanners(&e.Head), t)
}
