package writer

import "time"

const (
	// perService is how many writers one Service may have.
	perService = 2
	// spare is how many writers no single namespace gets, nor all slow ones together.
	spare = 2
	// loaders is how many stores are read at a time, and fewLoaders how many of them one
	// namespace gets, and all slow ones together.
	loaders    = 4
	fewLoaders = 2
	// slowAfter is how long a request of a slow namespace takes at least.
	slowAfter = time.Second
)

// lanes counts the requests in flight, so that whatever hangs leaves writers and readers
// to the others. A Service without others may have all of them.
type lanes struct {
	server        Server
	services      map[string]*service
	namespaces    map[string]*namespace
	writes, loads kind
}

// kind counts the requests of one kind.
type kind struct {
	// most is how many one namespace may have, and all slow ones together.
	most         int
	flying, slow int
}

// usage is how much of it one namespace has; slow says that its last request took long, or
// was a load that failed.
type usage struct {
	flying int
	slow   bool
}

// service counts the writes of one Service. It is there while it has fills or requests.
type service struct {
	name          string
	namespace     *namespace
	fills, flying int
}

// namespace counts the requests of one namespace.
type namespace struct {
	name          string
	services      int
	writes, loads usage
	// turns are when it last had its turn in each class.
	turns [classes]int
}

// newLanes returns those of so many writers.
func newLanes(writers int) lanes {
	return lanes{
		server: Server{Lanes: writers}, services: make(map[string]*service), namespaces: make(map[string]*namespace),
		writes: kind{most: max(writers-spare, 1)}, loads: kind{most: fewLoaders},
	}
}

// takes reports whether a namespace may have one more.
func (k *kind) takes(u usage) bool { return u.flying < k.most && (!u.slow || k.slow < k.most) }

// began counts a request.
func (k *kind) began(u *usage) {
	k.flying++
	u.flying++
	if u.slow {
		k.slow++
	}
}

// ended counts the end of one, after which the namespace is slow or not.
func (k *kind) ended(u *usage, slow bool) {
	if u.slow {
		k.slow -= u.flying
	}
	k.flying--
	u.flying--
	if u.slow = slow; slow {
		k.slow += u.flying
	}
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

// takesWrite reports whether the namespace and the Service of a fill may have one more
// write, and takesLoad does so of a load.
func (l *lanes) takesWrite(f *fill) bool {
	return (len(l.namespaces) == 1 || l.writes.takes(f.namespace.writes)) && (len(l.services) == 1 || f.service.flying < perService)
}

func (l *lanes) takesLoad(ns *namespace) bool {
	return len(l.namespaces) == 1 || l.loads.takes(ns.loads)
}

// sent and ended count a write.
func (l *lanes) sent(s *service) {
	s.flying++
	l.writes.began(&s.namespace.writes)
}

func (l *lanes) ended(s *service, took time.Duration) {
	s.flying--
	l.writes.ended(&s.namespace.writes, took >= slowAfter)
	l.forget(s)
}
