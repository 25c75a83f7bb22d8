package explain

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// tellElsewhere says when endpoints begin to stay because another replica reaches them, and when
// that is over.
func (p *Pool) tellElsewhere(v *guard.Verdict, s *Story) {
	switch {
	case (v.Elsewhere > 0) == p.elsewhere:
		return
	case p.elsewhere:
		s.say(Info, "replicas agree again about which endpoints can be reached")
	default:
		s.announce(Notice{Reason: ReplicasDisagree, Note: fmt.Sprintf(
			"%d endpoints do not answer the leader, but replica %s connects to them: they stay published", v.Elsewhere, v.Replica)})
		s.say(Warn, "another replica connects to endpoints that do not answer here: they stay published", "endpoints", v.Elsewhere, "replica", v.Replica)
	}
	p.elsewhere = v.Elsewhere > 0
}
