package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// The pattern of a path with GET matches HEAD as well; the multiplexer answers 405
// with Allow to other methods, and 404 to other paths.

// adminRoutes are those of ADMIN_ADDRESS.
func (s *Server) adminRoutes() http.Handler {
	mux := http.NewServeMux()
	if s.opts.Services != nil {
		s.serviceRoutes(mux)
		mux.HandleFunc("GET /style.css", style)
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
	if s.opts.Services != nil {
		s.leaderRoutes(mux)
	}
	if s.opts.Scrape != nil {
		mux.Handle("GET /metrics", s.opts.Scrape)
	}
	return mux
}

// standstill says why the program does not move on, as /livez does; empty where it does.
func (s *Server) standstill() string {
	var faults []string
	for _, check := range s.opts.Live {
		if err := check.Run(); err != nil {
			faults = append(faults, check.Name+": "+err.Error())
		}
	}
	return strings.Join(faults, "; ")
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
		s.send(w, r, "application/json", func() ([]byte, error) {
			text, err := json.MarshalIndent(settings, "", "  ")
			return append(text, '\n'), err
		})
	case format == "", format == "text":
		s.send(w, r, "text/plain; charset=utf-8", func() ([]byte, error) { return []byte(settings.String()), nil })
	default:
		http.Error(w, fmt.Sprintf("format=%q is not known; write json or text", format), http.StatusBadRequest)
	}
}
