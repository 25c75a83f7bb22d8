package page

import (
	"cmp"
	_ "embed" // the template
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

//go:embed targets.html
var targetsSource string

var targetsTemplate = template.Must(template.New("targets").Parse(targetsSource))

// home is the page of the Service that the first page shows, or of all of them.
func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	namespace, service := s.opts.Home()
	if service == "" {
		s.targetsPage(w, r)
		return
	}
	r.SetPathValue("namespace", namespace)
	r.SetPathValue("service", service)
	s.targetPage(w, r)
}

// targetsPage is the page of all targets.
func (s *Server) targetsPage(w http.ResponseWriter, r *http.Request) {
	a, err := s.list(r)
	q, _ := parseTargets(r.URL.Query())
	refresh, fault := parseRefresh(r.URL.Query())
	if err = cmp.Or(err, fault); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refreshed(w, refresh)
	show(s, w, r, a, htmlType, func(t *report.Services) ([]byte, error) {
		return rendered(targetsTemplate, listOf(t, listQuery{q, refresh}))
	})
}

// targetPage is the status page of one target.
func (s *Server) targetPage(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := listPath + "/" + url.PathEscape(r.PathValue("namespace")) + "/" + url.PathEscape(r.PathValue("service"))
	q.Page, q.JSON = path, "/api/v1"+path
	if r.URL.Path == "/" {
		q.Page = "/"
	}
	refreshed(w, q.Refresh)
	a, _ := s.one(r) // a path has no mistake
	show(s, w, r, a, htmlType, func(d *report.Document) ([]byte, error) { return rendered(pageTemplate, viewOf(d, q)) })
}

// refreshed lets the browser load the page again.
func refreshed(w http.ResponseWriter, seconds int) {
	if seconds > 0 {
		w.Header().Set("Refresh", strconv.Itoa(seconds))
	}
}

// listQuery is what the URL of the page of all targets asks for.
type listQuery struct {
	report.Query
	Refresh int
}

// link returns the URL of the page with this query.
func (q listQuery) link() string {
	values := valuesOf(q.Query)
	if q.Refresh > 0 {
		values.Set("refresh", strconv.Itoa(q.Refresh))
	}
	if len(values) == 0 {
		return listPath
	}
	return listPath + "?" + values.Encode()
}

// list is what the template of the page of all targets is filled with. All texts in it
// are legible.
type list struct {
	Tone                        tone
	Sign, Word, Headline, Title string
	Now                         *moment
	Banners                     []banner
	Pools                       []poolRow
	Query                       listQuery
	JSON                        string
	Choices                     []choice
	Refreshes                   []int
	Rows                        []targetRow
	// Known counts all targets, Total those asked for, First and Last the places of those
	// that are shown.
	Known, Total, First, Last int
	// Before and After link to the targets before and after those that are shown; empty
	// where there are none.
	Before, After string
	// Empty says why there is no target.
	Empty string
	Facts []fact
}

// poolRow is a pool as the page shows it.
type poolRow struct {
	Condition, Look, Sign string
	Name, Link, Source    string
	Messages              []string
	LastRead              *moment
	Targets               string
	Ready, Total          int
}

// targetRow is a target as the page shows it.
type targetRow struct {
	Condition, Look, Sign    string
	Namespace, Service, Link string
	Summary                  string
	Messages                 []string
	Pools                    []string
	Ready, Total             int
	DryRun                   bool
}

// partRow is one pool of a Service as its page shows it.
type partRow struct {
	State                report.UseState
	Look                 string
	Name, Link, Source   string
	Mode, Message, Ready string
	Total                int
	LastRead             *moment
}

// looks are the marks of tones in a table.
var looks = map[tone]string{good: "ready", warn: "draining", bad: "down", calm: "absent"}

// moodOf is the tone of a condition.
func moodOf(c report.Condition) tone {
	if c == report.Refused {
		return warn
	}
	return moods[c].Tone
}

// parts are the pools of a Service by name, none where these come from variables.
func parts(d *report.Document, m moments) []partRow {
	if d.OfVariables() {
		return nil
	}
	var rows []partRow
	for _, p := range d.Pools {
		row := partRow{
			State: p.State, Look: looks[good], Name: legible(p.Name), Link: listPath + "?" + url.Values{"pool": {p.Name}}.Encode(), Source: p.Source.Kind,
			Mode: p.Mode, Message: prose(p.Message), Ready: strconv.Itoa(p.Stages.Ready), Total: p.Stages.Ready + p.Stages.Draining + p.Stages.Down, LastRead: m.at(p.Source.LastSuccess),
		}
		switch {
		case p.Mode == guard.FailOpen.String():
			row.Look = looks[bad]
		case p.State != report.Active, p.Mode == guard.Hold.String():
			row.Look = looks[warn]
		}
		rows = append(rows, row)
	}
	return rows
}
