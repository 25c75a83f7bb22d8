package page

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

//go:embed style.css
var styleSheet []byte

//go:embed *.html
var sources embed.FS

// templates escape what they are filled with by where it stands.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"name": nameOf, "tone": toneOf, "latency": latency, "counted": inventory.Counted, "published": published, "messages": poolMessages,
	"sign": sign, "verdict": verdict, "look": partLook, "what": what, "changes": changes,
}).ParseFS(sources, "*.html"))

const htmlType = "text/html; charset=utf-8"

// frame is what both pages have.
type frame struct {
	moments
	Query query
	Tone  tone
	// Word says what Tone says by colour, Headline is the summary.
	Word, Headline string
	Banners        []banner
	Facts          []fact
	Choices        []choice
	// Empty says why there is nothing to list.
	Empty string
}

// fact is one line about the program.
type fact struct {
	Name, Text string
	At         *moment
	Detail     string
}

// choice is a state or a condition that can be asked for by one click.
type choice struct {
	Text, Link string
	Count      int
	Chosen     bool
}

// Refreshes are the pauses that the page offers, with the one that is chosen.
func (f frame) Refreshes() []int {
	all := []int{5, 15, 60}
	if chosen := f.Query.Refresh; chosen > 0 && !slices.Contains(all, chosen) {
		all = append(all, chosen)
		slices.Sort(all)
	}
	return all
}

// published is how many endpoints are.
func published(s report.Stages) int { return s.Ready + s.Draining + s.Down }

// programFacts say who leads, how many replicas look, and what runs.
func programFacts(h report.Headline, m moments) []fact {
	leader := fact{Name: "Leader", Text: "this process"}
	switch {
	case h.Election.Enabled && h.Election.Holder != "":
		leader.Text = h.Election.Holder
	case !h.Leader:
		leader.Text = "not known"
	}
	if h.Election.Enabled && h.Leader {
		leader.Detail = "replicas " + h.Election.String()
	}
	return []fact{
		leader,
		{Name: "Started", At: m.When(h.Program.StartedAt), Text: "not known"},
		{Name: "Version", Text: h.Program.Version},
	}
}

// home is the page of the Service that the first page shows, or of all of them.
func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	namespace, service := s.opts.Home()
	if service == "" {
		s.listPage(w, r)
		return
	}
	r.SetPathValue("namespace", namespace)
	r.SetPathValue("service", service)
	s.servicePage(w, r)
}

// showPage sends a page, which the browser loads again if that was asked for.
func showPage[K report.Answer](s *Server, w http.ResponseWriter, r *http.Request, ask reader[K], q query, err error, name string, view func(K) any) {
	a, fault := ask(r)
	if err = cmp.Or(err, fault); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if q.Refresh > 0 {
		w.Header().Set("Refresh", strconv.Itoa(q.Refresh))
	}
	show(s, w, r, a, htmlType, func(k K) ([]byte, error) {
		var out bytes.Buffer
		if err := templates.ExecuteTemplate(&out, name, view(k)); err != nil {
			return nil, fmt.Errorf("render the page: %w", err)
		}
		return legible(out.Bytes()), nil
	})
}
