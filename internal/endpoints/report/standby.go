package report

import "slices"

// Answer is something that one replica makes and another hands on.
type Answer interface {
	// HandOn notes which replica hands it on. It reports whether it is an answer that the
	// leader of that identity has made.
	HandOn(by, leader string) bool
}

// StandsBy reports whether the answer is that of a standby itself, which knows no nodes.
func (h *Head) StandsBy() bool { return !h.Leader && h.Election.Enabled }

// HandOn implements Answer.
func (h *Head) HandOn(by, leader string) bool {
	h.HandedOnBy = by
	return h.Leader && h.Election.Holder == leader
}

// ByItself says in an answer of this process why the program does not move on, and why the
// answer is not the leader's: empty and nil where that is not so.
func (h *Head) ByItself(standstill string, leader error) {
	h.Standstill = standstill
	if leader != nil {
		h.Election.LeaderError = leader.Error()
	}
}

// ByItself says so in the headline too.
func (h *Headline) ByItself(standstill string, leader error) {
	h.Head.ByItself(standstill, leader)
	if standstill != "" && h.Condition != StandingBy {
		h.Condition, h.Healthy = Failing, false
	}
	if leader != nil {
		h.Summary += ", but its status cannot be read"
	}
}

// stamped is the election with times as answers have them.
func (e Election) stamped() Election {
	e.Since, e.HandedOver, e.Replicas = stamp(e.Since), stamp(e.HandedOver), slices.Clone(e.Replicas)
	for i := range e.Replicas {
		e.Replicas[i].Since = stamp(e.Replicas[i].Since)
	}
	return e
}
