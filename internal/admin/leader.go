package admin

import (
	"crypto/subtle"
	"net/http"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/report"
)

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

// leaderRoutes are what the other replicas ask about targets.
func (s *Server) leaderRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+LeaderPath+"/services", s.toReplicas(func(w http.ResponseWriter, r *http.Request) {
		tell(s, w, r, func(q report.Query) (*report.Services, error) { return s.opts.Services(q), nil })
	}))
	mux.HandleFunc("GET "+LeaderPath+"/services/{namespace}/{service}", s.toReplicas(func(w http.ResponseWriter, r *http.Request) {
		tell(s, w, r, func(report.Query) (*report.Document, error) { return s.target(r) })
	}))
	mux.HandleFunc("GET "+LeaderPath+"/explain", s.toReplicas(func(w http.ResponseWriter, r *http.Request) {
		tell(s, w, r, func(q report.Query) (*report.Explanation, error) {
			return s.opts.Explain(r.FormValue("subject"), q), nil
		})
	}))
}

// tell sends what this process knows.
func tell[K known](s *Server, w http.ResponseWriter, r *http.Request, own func(report.Query) (K, error)) {
	q, err := parseTargets(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.answer(w, r, "application/json", func() ([]byte, error) {
		k, err := own(q)
		if err == nil {
			k.StandsStill(s.standstill())
		}
		return encoded(k, err)
	})
}
