package report

// WithoutLeader says in the document of a standby why it is not the leader's.
func (d *Document) WithoutLeader(err error) {
	d.Summary += ", but its status cannot be read"
	d.Election.LeaderError = err.Error()
}
