package page

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
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
	mux.HandleFunc("GET "+servicesPath, shown(s, s.list))
	mux.HandleFunc("GET "+servicesPath+"/{namespace}/{service}", shown(s, s.one))
	mux.HandleFunc("GET "+explainPath, shown(s, s.explain))
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET "+listPath, s.targetsPage)
	mux.HandleFunc("GET "+listPath+"/{namespace}/{service}", s.targetPage)
}

// list asks for the list of targets.
func (s *Server) list(r *http.Request) (asked[*report.Services], error) {
	q, err := parseTargets(r.URL.Query())
	return asked[*report.Services]{
		path: "/services?" + valuesOf(q).Encode(), led: new(report.Services),
		own: func() (*report.Services, error) { return s.opts.Services(q), nil },
	}, err
}

// one asks for the document of the target that the path names.
func (s *Server) one(r *http.Request) (asked[*report.Document], error) {
	namespace, service := r.PathValue("namespace"), r.PathValue("service")
	return asked[*report.Document]{
		path: "/services/" + url.PathEscape(namespace) + "/" + url.PathEscape(service), led: new(report.Document),
		own: func() (*report.Document, error) {
			d, err := s.opts.Service(namespace, service)
			if err != nil {
				return nil, err
			}
			own := *d
			return &own, nil
		},
	}, nil
}

// explain asks what the targets know of a node or an address.
func (s *Server) explain(r *http.Request) (asked[*report.Explanation], error) {
	q, err := parseTargets(r.URL.Query())
	subject := strings.TrimSpace(r.URL.Query().Get("subject"))
	if err == nil && subject == "" {
		err = errors.New("subject is missing; give the name or id of a node, or an address, for example subject=10.0.0.11")
	}
	values := valuesOf(q)
	values.Set("subject", subject)
	return asked[*report.Explanation]{
		path: "/explain?" + values.Encode(), led: new(report.Explanation),
		own: func() (*report.Explanation, error) { return s.opts.Explain(subject, q), nil },
	}, err
}
