package page

import (
	"crypto/subtle"
	"net/http"
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

// leaderRoutes are what the other replicas ask about Services.
func (s *Server) leaderRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+LeaderPath+"/services", s.toReplicas(shown(s, itself(s.list))))
	mux.HandleFunc("GET "+LeaderPath+"/services/{namespace}/{service}", s.toReplicas(shown(s, itself(s.one))))
	mux.HandleFunc("GET "+LeaderPath+"/explain", s.toReplicas(shown(s, itself(s.explain))))
}

// itself asks for the same of this process alone.
func itself[K answer](ask reader[K]) reader[K] {
	return func(r *http.Request) (question[K], error) {
		a, err := ask(r)
		a.path = ""
		return a, err
	}
}
