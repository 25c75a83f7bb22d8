package report

// WithoutLeader says in the document of a standby why it is not the leader's.
func (d *Document) WithoutLeader(err error) {
	d.Summary += ", but its status cannot be read"
	d.Election.LeaderError = err.Error()
}

// WithoutLeader says in the answer of a standby why it is not the leader's.
func (t *Services) WithoutLeader(err error) {
	t.Summary += ", but its status cannot be read"
	t.Election.LeaderError = err.Error()
}

// WithoutLeader says in the answer of a standby why it is not the leader's.
func (e *Explanation) WithoutLeader(err error) { e.Election.LeaderError = err.Error() }

// StandsStill says in the document why the program does not move on, if it does not.
func (d *Document) StandsStill(why string) {
	d.Standstill = why
	d.Judge()
}

// StandsStill says in the answer why the program does not move on, if it does not.
func (t *Services) StandsStill(why string) {
	if t.Standstill = why; why != "" && t.Condition != StandingBy {
		t.Condition, t.Healthy = Failing, false
	}
}

// StandsStill says in the answer why the program does not move on, if it does not.
func (e *Explanation) StandsStill(why string) { e.Standstill = why }

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
