package join

// None is the index of an endpoint that a join does not have.
const None = -1

// Merge calls each for every endpoint of two joins of a Service, in their order,
// with its index in both.
func Merge(before, after []Endpoint, each func(before, after int)) {
	for i, j := 0, 0; i < len(before) || j < len(after); {
		switch {
		case j == len(after) || i < len(before) && compare(&before[i], &after[j]) < 0:
			each(i, None)
			i++
		case i == len(before) || compare(&before[i], &after[j]) > 0:
			each(None, j)
			j++
		default:
			each(i, j)
			i, j = i+1, j+1
		}
	}
}
