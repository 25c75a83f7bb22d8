package page

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// listPath is the page of all Services, servicesPath where they are as JSON; explainPath is
// what they know of a node.
const (
	listPath     = "/services"
	servicesPath = "/api/v1/services"
	explainPath  = "/api/v1/explain"
)

// serviceRoutes are those about the Services of the process.
func (s *Server) serviceRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+servicesPath, shown(s, s.list))
	mux.HandleFunc("GET "+servicesPath+"/{namespace}/{service}", shown(s, s.one))
	mux.HandleFunc("GET "+explainPath, shown(s, s.explain))
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("GET "+listPath, s.listPage)
	mux.HandleFunc("GET "+listPath+"/{namespace}/{service}", s.servicePage)
}

// list asks for the list of Services.
func (s *Server) list(r *http.Request) (question[*report.Services], error) {
	q, err := parseQuery(r.URL.Query())
	return question[*report.Services]{
		path: q.at("/services"), led: new(report.Services),
		own: func() (*report.Services, error) { return s.opts.Services(q.Query), nil },
	}, err
}

// one asks for the document of the Service that the path names.
func (s *Server) one(r *http.Request) (question[*report.Document], error) {
	namespace, service := r.PathValue("namespace"), r.PathValue("service")
	return question[*report.Document]{
		path: "/services/" + url.PathEscape(namespace) + "/" + url.PathEscape(service), led: new(report.Document),
		own: func() (*report.Document, error) { return s.opts.Service(namespace, service) },
	}, nil
}

// explain asks what the Services know of a node or an address.
func (s *Server) explain(r *http.Request) (question[*report.Explanation], error) {
	q, err := parseQuery(r.URL.Query())
	subject := strings.TrimSpace(r.URL.Query().Get("subject"))
	if err == nil && subject == "" {
		err = errors.New("subject is missing; give the name or id of a node, or an address, for example subject=10.0.0.11")
	}
	values := q.values()
	values.Set("subject", subject)
	return question[*report.Explanation]{
		path: "/explain?" + values.Encode(), led: new(report.Explanation),
		own: func() (*report.Explanation, error) { return s.opts.Explain(subject, q.Query), nil },
	}, err
}
