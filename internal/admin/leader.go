package admin

import (
	"crypto/subtle"
	"net/http"
)

// LeaderPath is where the leader answers the other replicas, at METRICS_ADDRESS,
// which they reach.
const LeaderPath = "/api/v1/leader"

// leader answers with this process's own document while it leads. The request has to
// name it as the election does: that is known to whoever may read the Lease, and to
// no other. A standby answers nothing here, so no request goes round in circles.
func (s *Server) leader(w http.ResponseWriter, r *http.Request) {
	identity := s.opts.Identity()
	named := []byte(r.Header.Get("Authorization"))
	if identity == "" || subtle.ConstantTimeCompare(named, []byte("Bearer "+identity)) != 1 {
		http.Error(w, "This answers a replica that names the holder of the lease, while this process holds it.", http.StatusForbidden)
		return
	}
	s.answer(w, r, "application/json", func() ([]byte, error) { return encoded(s.document()) })
}
