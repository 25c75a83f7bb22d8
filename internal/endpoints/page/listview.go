package page

import (
	"net/url"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// listOf makes the view of all targets.
func listOf(t *report.Services, q listQuery) list {
	m := moments{t.At}
	v := list{
		Headline: legible(t.Summary), Now: m.at(t.At), Banners: listBanners(t, m), Query: q, JSON: servicesPath, Refreshes: refreshes(q.Refresh),
		Known: t.Known, Total: t.Total, Facts: listFacts(t, m),
	}
	if values := valuesOf(q.Query); len(values) > 0 {
		v.JSON += "?" + values.Encode()
	}
	v.Tone, v.Word = mood(&report.Document{Headline: t.Headline}, v.Banners)
	v.Sign = v.Tone.sign()
	v.Title = v.Sign + " " + v.Headline
	for i := range t.Pools {
		v.Pools = append(v.Pools, poolRowOf(&t.Pools[i], q, m))
	}
	for i := range t.Services {
		v.Rows = append(v.Rows, targetRowOf(&t.Services[i]))
	}
	v.First, v.Last = t.Offset+1, t.Offset+len(t.Services)
	limit := max(1, q.Limit)
	if t.Offset > 0 {
		q.Offset = max(0, t.Offset-limit)
		v.Before = q.link()
	}
	if v.Last < t.Total {
		q.Offset = v.Last
		v.After = q.link()
	}
	v.choose(t, q)
	switch {
	case t.Known == 0 && t.Condition == report.StandingBy:
		v.Empty = "This replica stands by and knows no Services."
	case t.Known == 0 && !t.Decided:
		v.Empty = "The documents and the Services have not been read yet."
	case t.Known == 0:
		v.Empty = "No EndpointBinding and no annotation of a Service asks for a pool."
	case t.Total == 0:
		v.Empty = "No Service matches."
	}
	return v
}

// choose offers the conditions that targets have.
func (v *list) choose(t *report.Services, q listQuery) {
	q.Offset = 0
	all, unhealthy := 0, 0
	for _, c := range t.Conditions {
		if all += c.Services; c.Condition != report.Healthy {
			unhealthy += c.Services
		}
	}
	add := func(text string, c report.Condition, count int) {
		chosen := q.Condition == c
		one := q
		one.Condition = c
		v.Choices = append(v.Choices, choice{Text: text, Link: one.link(), Count: count, Chosen: chosen})
	}
	add("all", "", all)
	add("not healthy", report.Unhealthy, unhealthy)
	for _, c := range t.Conditions {
		add(string(c.Condition), c.Condition, c.Services)
	}
}

// poolRowOf makes the row of a pool.
func poolRowOf(p *report.PoolStatus, q listQuery, m moments) poolRow {
	q.Pool, q.Offset = p.Name, 0
	look := moodOf(p.Condition)
	row := poolRow{
		Condition: string(p.Condition), Look: looks[look], Sign: look.sign(), Name: legible(p.Name), Link: q.link(),
		Targets: counted(p.Services, "Service", "Services"), Ready: p.Stages.Ready, Total: p.Stages.Ready + p.Stages.Draining + p.Stages.Down,
	}
	say := func(what, text string) {
		if text != "" {
			row.Messages = append(row.Messages, prose(what+text))
		}
	}
	if p.Reason != "" {
		say(p.Mode+": "+p.Reason+": ", p.Message)
	}
	if p.Removal != nil {
		say("", p.Removal.String())
	}
	say("It cannot be read as its document says: ", p.Problem)
	if p.Vanished {
		say("", "No document describes it any more.")
	}
	for _, g := range p.Groups {
		if len(p.Groups) > 1 || g.Problem != "" {
			say(g.HealthCheck+": ", string(g.Condition)+" "+g.Problem)
		}
	}
	if p.Source == nil {
		row.Source = "not read, because no Service uses it"
		return row
	}
	row.Source, row.LastRead = p.Source.Kind, m.at(p.Source.LastSuccess)
	say("The source cannot be read: ", p.Source.LastError)
	for _, warning := range p.Source.Warnings {
		say("", warning)
	}
	return row
}

// targetRowOf makes the row of a target.
func targetRowOf(t *report.ServiceStatus) targetRow {
	look := moodOf(t.Condition)
	row := targetRow{
		Condition: string(t.Condition), Look: looks[look], Sign: look.sign(), Namespace: legible(t.Namespace), Service: legible(t.Service),
		Summary: prose(t.Summary), Ready: t.ReadyEndpoints, Total: t.Endpoints, DryRun: t.DryRun,
	}
	if len(t.Pools) > 0 {
		row.Link = listPath + "/" + url.PathEscape(t.Namespace) + "/" + url.PathEscape(t.Service)
	}
	if t.Problem != nil {
		row.Messages = append(row.Messages, prose(t.Problem.Message))
	}
	for _, r := range t.Refusals {
		row.Messages = append(row.Messages, prose(r.Message))
	}
	for _, p := range t.Pools {
		name := legible(p.Name)
		if p.State != report.Active {
			name += " (" + string(p.State) + ")"
			row.Messages = append(row.Messages, prose(p.StateMessage))
		}
		row.Pools = append(row.Pools, name)
	}
	return row
}

// listFacts are the lines about the program.
func listFacts(t *report.Services, m moments) []fact {
	leader := "this process"
	if t.Election.Enabled && t.Election.Holder != "" {
		leader = t.Election.Holder
	} else if !t.Leader {
		leader = "not known"
	}
	return []fact{
		{Name: "Leader", Text: legible(leader)},
		{Name: "Started", At: m.at(t.Program.StartedAt), Text: "not known"},
		{Name: "Version", Text: legible(t.Program.Version)},
	}
}
