package bench

// Tally is what one side wrote so far, and what its slices are like now.
type Tally struct {
	Creates, Updates, Deletes int
	// Written counts the endpoints in all creates and updates: every one of them
	// goes to every node of the cluster.
	Written int
	// Used counts the slices that hold endpoints, and Slices those that exist.
	Used, Slices int
	// Endpoints counts what is published now.
	Endpoints int
}

// Requests is how many writes there were.
func (t Tally) Requests() int { return t.Creates + t.Updates + t.Deletes }

// Publisher is one side of the comparison.
type Publisher interface {
	// Publish does one pass and keeps what it writes.
	Publish(Fleet) error
	Tally() Tally
}
