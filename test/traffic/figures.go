package traffic

import "time"

// A column of a picture is shortest long, or longer if there would be too many
// columns.
const (
	shortest = 100 * time.Millisecond
	columns  = 1500
)

// Figures are what a scenario showed, for a report. They are written as JSON.
type Figures struct {
	// Scenario is its name, Text a sentence about what happens in it.
	Scenario, Text string
	// Began is when its load began.
	Began time.Time
	// Requests were sent, Lost of them lost.
	Requests, Lost int
	// Lateness is by how much 99 of 100 requests began too late at most: more
	// than some milliseconds mean that the machine was busy with other things.
	Lateness time.Duration
	// Facts are what else is worth a column or a line, in order.
	Facts []Fact
	// Buckets are the requests by the time of their start, Width each: 100 ms,
	// or longer where the scenario took minutes.
	Buckets []Bucket
	Width   time.Duration
	// Series are what was sampled beside the requests.
	Series []Series
	// Events are the marks.
	Events []Event
}

// Fact is a figure with its name.
type Fact struct{ Name, Value string }

// Series is a figure over time, sampled in even steps from the begin of the load
// to its end.
type Series struct {
	Name, Unit string
	Values     []float64
}

// Bucket counts the requests of one column.
type Bucket struct{ OK, Lost int }

// Event is a mark, in seconds since the load began.
type Event struct {
	At   float64
	Text string
}

// Figures counts what was recorded.
func (r *Record) Figures(scenario, text string, facts ...Fact) Figures {
	f := Figures{Scenario: scenario, Text: text, Lateness: r.Lateness(), Facts: facts}
	results := r.Results()
	if len(results) == 0 {
		return f
	}
	f.Began, f.Requests = results[0].Start, len(results)
	length := results[len(results)-1].Start.Sub(f.Began)
	f.Width = (length / columns).Truncate(shortest) + shortest
	f.Buckets = make([]Bucket, length/f.Width+1)
	for _, result := range results {
		b := &f.Buckets[result.Start.Sub(f.Began)/f.Width]
		if result.Lost() {
			b.Lost++
			f.Lost++
		} else {
			b.OK++
		}
	}
	for _, m := range r.Marks() {
		f.Events = append(f.Events, Event{At: m.At.Sub(f.Began).Seconds(), Text: m.Text})
	}
	return f
}
