package peers

import (
	"slices"
	"strings"
	"time"
)

// State is what a leader knows of the other replicas.
type State struct {
	// Replicas are those that stand by for this leader, sorted by name, as far as they were
	// read.
	Replicas []Replica
	// HandedOver is when the Lease was last given to another replica for what it reaches; zero
	// where it never was.
	HandedOver time.Time
}

// Replica is one that stands by.
type Replica struct {
	Name, Node string
	// Reaches is how many endpoints it reaches that the leader does not, and Since for how
	// long there have been such; zero where there is none.
	Reaches int
	Since   time.Time
}

// State returns what is known. While Run runs, what is older than ten seconds is read, for half a
// second at most, and once in ten seconds however many ask. A nil Asker knows nothing.
func (a *Asker) State() State {
	if a == nil {
		return State{}
	}
	done := make(chan struct{})
	select {
	case a.looks <- done:
		<-done
	case <-time.After(awaits):
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := State{HandedOver: a.opts.HandedOver()}
	for name, line := range a.lines {
		s.Replicas = append(s.Replicas, Replica{Name: name, Node: line.Node, Reaches: a.ahead(line, 0), Since: a.rivals.since[name]})
	}
	slices.SortFunc(s.Replicas, func(a, b Replica) int { return strings.Compare(a.Name, b.Name) })
	return s
}
