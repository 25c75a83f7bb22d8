package report

// ByItself says in a document of this process why the program does not move on, and why it
// is not the leader's: empty and nil where that is not so.
func (d *Document) ByItself(standstill string, leader error) {
	d.Standstill = standstill
	d.Judge()
	d.Summary += d.Election.without(leader)
}

// ByItself says so in the list.
func (t *Services) ByItself(standstill string, leader error) {
	if t.Standstill = standstill; standstill != "" && t.Condition != StandingBy {
		t.Condition, t.Healthy = Failing, false
	}
	t.Summary += t.Election.without(leader)
}

// ByItself says so in what is known of a node.
func (e *Explanation) ByItself(standstill string, leader error) {
	e.Standstill = standstill
	_ = e.Election.without(leader)
}

// without notes why the leader cannot be asked, and says so for a headline.
func (e *Election) without(leader error) string {
	if leader == nil {
		return ""
	}
	e.LeaderError = leader.Error()
	return ", but its status cannot be read"
}

// HandOn implements Answer.
func (d *Document) HandOn(by, leader string) bool {
	d.HandedOnBy = by
	return d.Leader && d.Election.Holder == leader
}

// HandOn implements Answer.
func (t *Services) HandOn(by, leader string) bool {
	t.HandedOnBy = by
	return t.Leader && t.Election.Holder == leader
}

// HandOn implements Answer.
func (e *Explanation) HandOn(by, leader string) bool {
	e.HandedOnBy = by
	return e.Leader && e.Election.Holder == leader
}
