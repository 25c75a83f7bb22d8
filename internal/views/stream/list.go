package stream

import (
	"bufio"
	"net/http"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// list answers a list.
func (s *Server) list(w http.ResponseWriter, asked request, identity *Identity) *refusal {
	if no := s.lists.enter(identity.name()); no != nil {
		return no
	}
	defer s.lists.leave(identity.name())
	objects, token, err := s.opts.Cache.List(asked.selection(identity))
	if err != nil {
		return refused(err)
	}
	s.stats.lists.Add(1)
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, buffered)
	list(out, asked.kind(), views.ListMetadata{ResourceVersion: identity.seal(token), Annotations: s.annotations()}, objects)
	_ = out.Flush() // a client that left misses nothing
	return nil
}

func (r request) kind() string {
	if r.gather {
		return views.KindServicePortView
	}
	return views.KindEndpointView
}
