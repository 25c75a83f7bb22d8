package page

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// The pattern of a path with GET matches HEAD as well; the multiplexer answers 405
// with Allow to other methods, and 404 to other paths.

// adminRoutes are those of ADMIN_ADDRESS.
func (s *Server) adminRoutes() http.Handler {
	mux := http.NewServeMux()
	s.serviceRoutes(mux)
	mux.HandleFunc("GET /style.css", style)
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
	s.leaderRoutes(mux)
	mux.Handle("GET /metrics", s.opts.Scrape)
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

// LeaderPath is where the leader answers the other replicas, at METRICS_ADDRESS,
// which they reach.
const LeaderPath = "/api/v1/leader"

// toReplicas answers with what this process itself knows, while it leads. The request
// has to name it as the election does: only users that may read the Lease know that
// name. A standby answers nothing here, so no request goes round in circles.
func (s *Server) toReplicas(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		identity := s.opts.Identity()
		named := []byte(r.Header.Get("Authorization"))
		if identity == "" || subtle.ConstantTimeCompare(named, []byte("Bearer "+identity)) != 1 {
			http.Error(w, "This path answers only replicas that name the holder of the lease, and only while this process holds it.", http.StatusForbidden)
			return
		}
		answer(w, r)
	}
}

// leaderRoutes are what the other replicas ask about Services.
func (s *Server) leaderRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+LeaderPath+"/services", s.toReplicas(shown(s, itself(s.list))))
	mux.HandleFunc("GET "+LeaderPath+"/services/{namespace}/{service}", s.toReplicas(shown(s, itself(s.one))))
	mux.HandleFunc("GET "+LeaderPath+"/explain", s.toReplicas(shown(s, itself(s.explain))))
}

// itself asks for the same of this process alone.
func itself[K report.Answer](ask reader[K]) reader[K] {
	return func(r *http.Request) (question[K], error) {
		a, err := ask(r)
		a.path = ""
		return a, err
	}
}

// Check is one thing that /livez or /readyz asks.
type Check struct {
	// Name is what the answer calls it.
	Name string
	// Run returns what is wrong, nil if nothing is. It must not wait for anything.
	Run func() error
}

// probe answers in the form of Kubernetes' own components: 200 and ok, or 503 and
// each check with its result; with ?verbose always each check. It never waits for
// its turn: a probe that queued behind readers of the page would restart the
// program.
type probe struct {
	name   string
	checks []Check
}

func (p probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var lines strings.Builder
	failed := false
	for _, check := range p.checks {
		if err := check.Run(); err != nil {
			failed = true
			fmt.Fprintf(&lines, "[-]%s failed: %v\n", check.Name, err)
			continue
		}
		fmt.Fprintf(&lines, "[+]%s ok\n", check.Name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, verbose := r.URL.Query()["verbose"]
	switch {
	case failed:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, "%s%s check failed\n", lines.String(), p.name)
	case verbose:
		fmt.Fprintf(w, "%s%s check passed\n", lines.String(), p.name)
	default:
		fmt.Fprint(w, "ok")
	}
}

// policy lets the page have its own style sheet and forms, and nothing else: no
// script, image, frame or connection, whatever the name of a node contains.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// withHeaders adds to every answer the headers that keep browsers strict. On a
// loopback address it also refuses foreign names in the Host header: the name of a
// web page that is open on this machine could resolve to 127.0.0.1, and the page
// would read the names and addresses of the nodes from here ("DNS rebinding"). On
// another address any name is right, because the operator chose the name.
func withHeaders(next http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if local && !isLocalName(r.Host) {
			http.Error(w, "This listener is on a loopback address, so it answers only if the Host header is localhost or an IP address.\n"+
				"Let the proxy in front of it send such a Host header, or set ADMIN_ADDRESS (METRICS_ADDRESS) to another address.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocalName reports whether a Host header is an IP address, localhost, or missing.
// The owner of any other name could let it resolve to this listener.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}
