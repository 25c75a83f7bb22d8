package metrics

// Locked does something while a scrape, or a plan, has what m knows to itself.
func Locked(m *Metrics, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
}

// Problems are all that may be wrong with a target.
var Problems = problems

// Remembered is how many pools, groups and targets m knows something of.
func Remembered(m *Metrics) int {
	return len(m.pools)
}
