package traffic

import (
	"slices"
	"sync"
	"time"
)

// Mark is something that happened while requests were sent.
type Mark struct {
	At   time.Time
	Text string
}

// Record collects results and marks. It may be used by many goroutines.
type Record struct {
	mu      sync.Mutex
	results []Result
	marks   []Mark
	// answered is when the latest answered request to each backend began.
	answered map[string]time.Time
}

// Merged is what several records hold together. A mark that several have with the same
// text stands once, where it was noted first.
func Merged(records ...*Record) *Record {
	merged := &Record{}
	for _, r := range records {
		for _, result := range r.Results() {
			merged.Add(result)
		}
		merged.marks = append(merged.marks, r.Marks()...)
	}
	slices.SortStableFunc(merged.marks, func(a, b Mark) int { return a.At.Compare(b.At) })
	noted := map[string]bool{}
	merged.marks = slices.DeleteFunc(merged.marks, func(m Mark) bool {
		before := noted[m.Text]
		noted[m.Text] = true
		return before
	})
	return merged
}

// Add adds a result.
func (r *Record) Add(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, result)
	if result.Lost() || result.Start.Before(r.answered[result.Backend]) {
		return
	}
	if r.answered == nil {
		r.answered = map[string]time.Time{}
	}
	r.answered[result.Backend] = result.Start
}

// Mark notes that something happens now, for the picture, and returns the time.
func (r *Record) Mark(text string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	r.marks = append(r.marks, Mark{at, text})
	return at
}

// Marks returns the marks so far.
func (r *Record) Marks() []Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.marks)
}

// Results returns the results so far, by their start.
func (r *Record) Results() []Result {
	r.mu.Lock()
	results := slices.Clone(r.results)
	r.mu.Unlock()
	slices.SortFunc(results, func(a, b Result) int { return a.Start.Compare(b.Start) })
	return results
}

// Len returns how many requests have ended.
func (r *Record) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.results)
}

// Lost returns the requests that are lost so far, by their start.
func (r *Record) Lost() []Result {
	return slices.DeleteFunc(r.Results(), func(result Result) bool { return !result.Lost() })
}

// Answered reports whether a backend has answered a request that began at that time or
// later.
func (r *Record) Answered(backend string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	latest, ok := r.answered[backend]
	return ok && !latest.Before(since)
}

// starved is how late a request must have begun to show that the machine was too
// busy.
const starved = 250 * time.Millisecond

// Excused returns the time-outs among the results that say nothing of the Service:
// while they waited, the machine had no time even to send requests. A request that
// was answered wrongly, refused or reset is never excused.
func Excused(results []Result) map[time.Time]bool {
	var late []time.Time
	for _, r := range results {
		if r.Late >= starved {
			late = append(late, r.Start)
		}
	}
	excused := map[time.Time]bool{}
	for _, r := range results {
		near := func(at time.Time) bool { return at.Sub(r.Start).Abs() <= Timeout }
		if r.Failure == "time-out" && slices.ContainsFunc(late, near) {
			excused[r.Start] = true
		}
	}
	return excused
}

// Delayed counts the requests that were answered after more than [Timeout], and returns how
// long the slowest of them took.
func (r *Record) Delayed() (count int, slowest time.Duration) {
	for _, result := range r.Results() {
		if !result.Lost() && result.Took > Timeout {
			count++
			slowest = max(slowest, result.Took)
		}
	}
	return count, slowest
}

// LastLost returns how long after a fault the last lost request began, and how
// many were lost from then on. Both are 0 when none was.
func (r *Record) LastLost(fault time.Time) (after time.Duration, count int) {
	for _, lost := range r.Lost() {
		if lost.Start.Before(fault) {
			continue
		}
		count++
		after = lost.Start.Sub(fault)
	}
	return after, count
}

// Latencies returns how long the requests took that began between two times. One that
// was lost counts with the time until it was.
func (r *Record) Latencies(from, to time.Time) []time.Duration {
	var took []time.Duration
	for _, result := range r.Results() {
		if !result.Start.Before(from) && !result.Start.After(to) {
			took = append(took, result.Took)
		}
	}
	return took
}

// Lateness returns by how much 99 of 100 requests began too late at most: how
// starved the load was.
func (r *Record) Lateness() time.Duration {
	var late []time.Duration
	for _, result := range r.Results() {
		late = append(late, result.Late)
	}
	return Percentile(late, 99)
}

// Percentile returns the smallest value that so many percent do not exceed; 0
// of none.
func Percentile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[(len(sorted)*percent+99)/100-1]
}
