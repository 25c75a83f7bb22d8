package writer

import (
	"time"
)

const (
	// perService is how many writers one Service may have.
	perService = 2
	// spare is how many writers no single namespace gets, nor all slow ones together.
	spare = 2
	// slowAfter is how long a request of a slow namespace takes at least.
	slowAfter = time.Second
)

// lanes counts the requests in flight, so that whatever hangs leaves writers to the
// others. A Service without others may have all of them.
type lanes struct {
	all        int
	server     Server
	services   map[string]*service
	namespaces map[string]*namespace
	// slow is how many requests of slow namespaces are in flight.
	slow int
}

// service counts the requests of one Service. It is there while it has fills or requests.
type service struct {
	name          string
	namespace     *namespace
	fills, flying int
}

// namespace counts the requests of one namespace.
type namespace struct {
	name             string
	services, flying int
	// slow says that the last request took long.
	slow bool
	// loading is how many loads are in flight; unread says that the last one failed or
	// took long.
	loading int
	unread  bool
}

// join returns the counts of the Service that a fill is for.
func (l *lanes) join(f Fill) *service {
	s := l.services[f.service()]
	if s == nil {
		ns := l.namespaces[f.Target.Namespace]
		if ns == nil {
			ns = &namespace{name: f.Target.Namespace}
			l.namespaces[ns.name] = ns
		}
		ns.services++
		s = &service{name: f.service(), namespace: ns}
		l.services[s.name] = s
	}
	s.fills++
	return s
}

// leave notes that a Service has one fill less.
func (l *lanes) leave(s *service) {
	s.fills--
	l.forget(s)
}

// forget forgets a Service that has neither fills nor requests in flight.
func (l *lanes) forget(s *service) {
	if s.fills > 0 || s.flying > 0 {
		return
	}
	delete(l.services, s.name)
	if s.namespace.services--; s.namespace.services == 0 {
		delete(l.namespaces, s.namespace.name)
	}
}

// free reports whether a request may be sent at now.
func (l *lanes) free(now time.Time) bool {
	return l.server.Underway < l.all && l.server.Takes(now)
}

// forNamespace reports whether the namespace may have one more.
func (l *lanes) forNamespace(ns *namespace) bool {
	most := max(l.all-spare, 1)
	return len(l.namespaces) == 1 || ns.flying < most && (!ns.slow || l.slow < most)
}

// forFill reports whether the Service of the fill may have one more.
func (l *lanes) forFill(f *fill) bool {
	return len(l.services) == 1 || f.service.flying < perService
}

// sent and ended count a request.
func (l *lanes) sent(s *service, retry bool) { l.count(s, retry, 1) }

func (l *lanes) ended(s *service, retry bool, took time.Duration) {
	l.count(s, retry, -1)
	ns := s.namespace
	if slow := took >= slowAfter; slow != ns.slow {
		ns.slow = slow
		if slow {
			l.slow += ns.flying
		} else {
			l.slow -= ns.flying
		}
	}
	l.forget(s)
}

func (l *lanes) count(s *service, retry bool, n int) {
	l.server.Underway += n
	s.flying += n
	s.namespace.flying += n
	if s.namespace.slow {
		l.slow += n
	}
	if retry {
		l.server.Retrying += n
	}
}

// loaders is how many stores are read at a time. A namespace has two of them at most
// if there is another, and so have all those together whose last load failed or took
// long: a store that hangs leaves readers to the others.
const (
	loaders    = 4
	fewLoaders = 2
)

// loads counts the loads in flight.
type loads struct{ all, suspect int }

// takes reports whether one of that many namespaces may have one more.
func (l *loads) takes(ns *namespace, namespaces int) bool {
	return namespaces == 1 || ns.loading < fewLoaders && (!ns.unread || l.suspect < fewLoaders)
}

// began counts a load, and reports whether its namespace may hang.
func (l *loads) began(ns *namespace) (suspect bool) {
	l.all++
	ns.loading++
	if ns.unread {
		l.suspect++
	}
	return ns.unread
}

// ended counts the end of a load that failed or took long, or neither.
func (l *loads) ended(ns *namespace, suspect, trouble bool) {
	l.all--
	ns.loading--
	ns.unread = trouble
	if suspect {
		l.suspect--
	}
}
