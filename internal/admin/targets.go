package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// listPath is the page of the targets, servicesPath where they are as JSON; explainPath is
// what they know of a node.
const (
	listPath     = "/services"
	servicesPath = "/api/v1/services"
	explainPath  = "/api/v1/explain"
)

// targetRoutes are those about the targets of the process.
func (s *Server) targetRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+servicesPath, s.targetList)
	mux.HandleFunc("GET "+servicesPath+"/{namespace}/{service}", s.targetDocument)
	mux.HandleFunc("GET "+explainPath, s.explain)
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET "+listPath, s.targetsPage)
	mux.HandleFunc("GET "+listPath+"/{namespace}/{service}", s.targetPage)
}

// targetList is the list of targets as JSON.
func (s *Server) targetList(w http.ResponseWriter, r *http.Request) {
	q, err := parseTargets(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	show(s, w, r, s.list(q, "application/json", func(t *report.Services) ([]byte, error) { return encoded(t, nil) }))
}

// list asks for targets.
func (s *Server) list(q report.Query, contentType string, render func(*report.Services) ([]byte, error)) asked[*report.Services] {
	return asked[*report.Services]{
		contentType: contentType, render: render,
		leader: func(ctx context.Context) (*report.Services, bool, error) {
			var t report.Services
			led, err := s.opts.Ask(ctx, "/services?"+valuesOf(q).Encode(), &t)
			return &t, led, err
		},
		own: func() (*report.Services, error) { return s.opts.Services(q), nil },
	}
}

// targetDocument is the document of one target as JSON.
func (s *Server) targetDocument(w http.ResponseWriter, r *http.Request) {
	show(s, w, r, s.one(r, "application/json", func(d *report.Document) ([]byte, error) { return encoded(d, nil) }))
}

// one asks for the document of one target.
func (s *Server) one(r *http.Request, contentType string, render func(*report.Document) ([]byte, error)) asked[*report.Document] {
	return asked[*report.Document]{
		contentType: contentType, render: render,
		leader: func(ctx context.Context) (*report.Document, bool, error) {
			var d report.Document
			led, err := s.opts.Ask(ctx, "/services/"+url.PathEscape(r.PathValue("namespace"))+"/"+url.PathEscape(r.PathValue("service")), &d)
			return &d, led, err
		},
		own: func() (*report.Document, error) { return s.target(r) },
	}
}

// target is the document of the target that the path names, as a copy.
func (s *Server) target(r *http.Request) (*report.Document, error) {
	d, err := s.opts.Service(r.PathValue("namespace"), r.PathValue("service"))
	if err != nil {
		return nil, err
	}
	own := *d
	return &own, nil
}

// explain is what the targets know of a node or an address.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) {
	q, err := parseTargets(r.URL.Query())
	var subject string
	if err == nil {
		subject, err = parseSubject(r.URL.Query())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	values := valuesOf(q)
	values.Set("subject", subject)
	show(s, w, r, asked[*report.Explanation]{
		contentType: "application/json",
		leader: func(ctx context.Context) (*report.Explanation, bool, error) {
			var e report.Explanation
			led, err := s.opts.Ask(ctx, "/explain?"+values.Encode(), &e)
			return &e, led, err
		},
		own:    func() (*report.Explanation, error) { return s.opts.Explain(subject, q), nil },
		render: func(e *report.Explanation) ([]byte, error) { return encoded(e, nil) },
	})
}
