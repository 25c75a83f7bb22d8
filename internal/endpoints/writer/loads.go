package writer

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
