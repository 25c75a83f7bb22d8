package stream

import (
	"encoding/json"
	"net/http"
	"slices"
)

// proxies answers what clients of xDS were sent, to a client that may see every namespace:
// names of Services of all of them are in it.
func (s *Server) proxies(which func() map[string]any) http.HandlerFunc {
	return s.refusing(func(w http.ResponseWriter, r *http.Request) *refusal {
		if which == nil {
			return refuse(http.StatusNotFound, "NotFound", "xDS is not served here; set XDS_ADDRESS")
		}
		identity, no := s.identify(r, request{})
		if no != nil {
			return no
		}
		if identity != nil && !slices.Contains(identity.Namespaces, allNamespaces) {
			return refuse(http.StatusForbidden, "Forbidden", "client %s may not see the configurations of other clients; that needs the namespace \"*\" in the list of identities", identity.Name)
		}
		if no := s.lists.enter(identity.name()); no != nil {
			return no
		}
		defer s.lists.leave(identity.name())
		w.Header().Set("Content-Type", "application/json")
		answer := which()
		answer["apiVersion"] = "v1"
		to := json.NewEncoder(w)
		to.SetEscapeHTML(false) // of a text of < it would make six times as much
		_ = to.Encode(answer)   // a client that left misses nothing
		return nil
	})
}
