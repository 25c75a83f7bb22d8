package xds

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"

// definition is that of a fleet with proxies. A replica that never knew a fleet knows by its
// proxies that it had listeners. The caller holds the lock of the server.
func (s *Server) definition(f *fleet) Definition {
	d := s.opts.Fleets.Definition(f.name)
	if d.Carrier == "" && !d.Kept {
		for c := range f.proxies {
			d.Kept = d.Kept || c.keeps(envoyconfig.Listeners)
		}
	}
	return d
}

// tell says once when the listeners of a fleet are kept although nothing confirms them, or are
// confirmed again. What concerns every fleet of a carrier is told once for all, not here: a
// file with a mistake, and objects that cannot be read.
func (s *Server) tell(f *fleet) {
	is, was := s.definition(f), f.told
	if is.kept() == was.kept() && is.Problem == was.Problem {
		return
	}
	f.told = is
	log := s.opts.Logger.With("fleet", f.name)
	switch is.kept() {
	case KeptMissing:
		log.Warn("a fleet is missing, its proxies keep their listeners until it is back or has an empty list")
	case KeptInvalid:
		if is.Carrier == InObject {
			log.Warn("the newest version of a fleet has a mistake, its proxies keep the listeners of the last good one", "error", is.Problem)
		}
	case KeptUnread, "":
		if was.kept() == KeptMissing {
			log.Info("a fleet that was missing is back")
		} else if was.kept() == KeptInvalid && was.Carrier == InObject {
			log.Info("the newest version of a fleet is in effect again")
		}
	}
}
