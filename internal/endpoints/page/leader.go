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

// leaderRoutes are what the other replicas ask about targets.
func (s *Server) leaderRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET "+LeaderPath+"/services", s.toReplicas(told(s, s.list)))
	mux.HandleFunc("GET "+LeaderPath+"/services/{namespace}/{service}", s.toReplicas(told(s, s.one)))
	mux.HandleFunc("GET "+LeaderPath+"/explain", s.toReplicas(told(s, s.explain)))
}

// told sends what this process knows.
func told[K known](s *Server, ask asking[K]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := ask(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.answer(w, r, "application/json", func() ([]byte, error) {
			k, err := a.own()
			if err == nil {
				k.ByItself(s.standstill(), nil)
			}
			return encoded(k, err)
		})
	}
}
