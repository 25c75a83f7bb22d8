package join

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
