package admin

import (
	"crypto/subtle"
	"net/http"
)

// LeaderPath is where the leader answers the other replicas, at METRICS_ADDRESS,
// which they reach.
const LeaderPath = "/api/v1/leader"

// leader answers with this process's own document while it leads. The request has to
// name it as the election does: only users that may read the Lease know that name. A
// standby answers nothing here, so no request goes round in circles.
func (s *Server) leader(w http.ResponseWriter, r *http.Request) {
	identity := s.opts.Identity()
	named := []byte(r.Header.Get("Authorization"))
	if identity == "" || subtle.ConstantTimeCompare(named, []byte("Bearer "+identity)) != 1 {
		http.Error(w, "This path answers only replicas that name the holder of the lease, and only while this process holds it.", http.StatusForbidden)
		return
	}
	s.answer(w, r, "application/json", func() ([]byte, error) { return encoded(s.document()) })
}
