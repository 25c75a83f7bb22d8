package page

import (
	"net/http"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// listView is what the template of the page of all Services is filled with.
type listView struct {
	frame
	List *report.Services
	// First and Last are the places of the Services that are shown.
	First, Last int
	// Before and After link to the Services before and after those that are shown; empty
	// where there are none.
	Before, After string
}

// listPage is the page of all Services.
func (s *Server) listPage(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	q.Page, q.JSONPath = listPath, servicesPath
	showPage(s, w, r, s.list, q, err, "services.html", func(t *report.Services) any { return listOf(t, q) })
}

// listOf makes the view of all Services.
func listOf(t *report.Services, q query) listView {
	m := moments{t.At}
	v := listView{
		frame: frame{moments: m, Query: q, Headline: t.Summary, Banners: listBanners(t, m), Facts: programFacts(t.Headline, m)},
		List:  t, First: t.Offset + 1, Last: t.Offset + len(t.Services),
	}
	v.Tone, v.Word = mood(t.Condition, v.Banners)
	if t.Offset > 0 {
		q.Offset = max(0, t.Offset-q.Limit)
		v.Before = q.link()
	}
	if v.Last < t.Total {
		q.Offset = v.Last
		v.After = q.link()
	}
	v.choose(t.Conditions, q)
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

// choose offers the conditions that Services have.
func (v *listView) choose(conditions []report.ConditionCount, q query) {
	q.Offset = 0
	all, unhealthy := 0, 0
	for _, c := range conditions {
		if all += c.Services; c.Condition != report.Healthy {
			unhealthy += c.Services
		}
	}
	add := func(text string, c report.Condition, count int) {
		chosen := v.Query.Condition == c
		q.Condition = c
		v.Choices = append(v.Choices, choice{Text: text, Link: q.link(), Count: count, Chosen: chosen})
	}
	add("all", "", all)
	add("not healthy", report.Unhealthy, unhealthy)
	for _, c := range conditions {
		add(string(c.Condition), c.Condition, c.Services)
	}
}

// OfPool links to the Services of a pool.
func (v listView) OfPool(name string) string {
	q := v.Query
	q.Pool, q.Offset = name, 0
	return q.link()
}

// poolMessages are what there is to say of a pool.
func poolMessages(p report.PoolStatus) []string {
	var messages []string
	say := func(what, text string) {
		if text != "" {
			messages = append(messages, what+text)
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
	if p.Source != nil {
		say("The source cannot be read: ", p.Source.LastError)
		messages = append(messages, p.Source.Warnings...)
	}
	return messages
}
