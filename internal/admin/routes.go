package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

// The pattern of a path with GET matches HEAD as well; the multiplexer answers 405
// with Allow to other methods, and 404 to other paths.

// adminRoutes are those of ADMIN_ADDRESS.
func (s *Server) adminRoutes() http.Handler {
	mux := http.NewServeMux()
	if s.opts.Document != nil {
		mux.HandleFunc("GET /{$}", s.page)
		mux.HandleFunc("GET /style.css", style)
		mux.HandleFunc("GET /api/v1/status", s.status)
	}
	// Every browser asks for a picture; there is none, which is no error.
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /configz", s.configz)
	return mux
}

// metricsRoutes are those of METRICS_ADDRESS.
func (s *Server) metricsRoutes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /livez", probe{"livez", s.opts.Live})
	mux.Handle("GET /readyz", probe{"readyz", s.opts.Ready})
	if s.opts.Document != nil {
		mux.HandleFunc("GET "+LeaderPath, s.leader)
	}
	if s.opts.Scrape != nil {
		mux.Handle("GET /metrics", s.opts.Scrape)
	}
	return mux
}

// status is the document as JSON.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, "application/json", encoded)
}

// encoded is a document as JSON.
func encoded(d *report.Document) ([]byte, error) {
	text, err := json.Marshal(d)
	return append(text, '\n'), err
}

// document is this process's own: the document, and whether the program still moves
// on.
func (s *Server) document() *report.Document {
	d := *s.opts.Document() // a copy: two requests may get the same one
	var faults []string
	for _, check := range s.opts.Live {
		if err := check.Run(); err != nil {
			faults = append(faults, check.Name+": "+err.Error())
		}
	}
	d.Standstill = strings.Join(faults, "; ")
	d.Judge()
	return &d
}

// style is the style sheet of the page.
func style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, _ = w.Write(styleSheet) // a client that went away misses nothing
}

// configz is the effective configuration: a table, or JSON if the client asks for it.
func (s *Server) configz(w http.ResponseWriter, r *http.Request) {
	settings := s.opts.Configuration()
	switch format := r.FormValue("format"); {
	case format == "json", format == "" && strings.Contains(r.Header.Get("Accept"), "application/json"):
		s.answer(w, r, "application/json", func() ([]byte, error) {
			text, err := json.MarshalIndent(settings, "", "  ")
			return append(text, '\n'), err
		})
	case format == "", format == "text":
		s.answer(w, r, "text/plain; charset=utf-8", func() ([]byte, error) { return []byte(settings.String()), nil })
	default:
		http.Error(w, fmt.Sprintf("format=%q is not known; write json or text", format), http.StatusBadRequest)
	}
}
