package view

// Change is what became of one endpoint between two joins of a Service.
type Change struct {
	// Before is nil for an endpoint that is new, After for one that is gone.
	Before, After *Endpoint
}

// None is the index of an endpoint that a join does not have.
const None = -1

// Merge calls each for every endpoint of two joins of a Service, in their order,
// with its index in both.
func Merge(before, after []Endpoint, each func(before, after int)) {
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		order := 0
		switch {
		case i == len(before):
			order = 1
		case j == len(after):
			order = -1
		default:
			order = compare(&before[i], &after[j])
		}
		switch {
		case order < 0:
			each(i, None)
			i++
		case order > 0:
			each(None, j)
			j++
		default:
			each(i, j)
			i, j = i+1, j+1
		}
	}
}

// Diff returns what changed between two joins, in their order. It points into both.
func Diff(before, after []Endpoint) []Change {
	var changes []Change
	Merge(before, after, func(i, j int) {
		switch {
		case j == None:
			changes = append(changes, Change{Before: &before[i]})
		case i == None:
			changes = append(changes, Change{After: &after[j]})
		case before[i] != after[j]:
			changes = append(changes, Change{Before: &before[i], After: &after[j]})
		}
	})
	return changes
}
