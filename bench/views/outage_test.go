package views_test

import (
	"testing"
	"time"
)

// outage takes the API server away for a time. An endpoint changes as soon as the server
// is ready again, and each side is to report that, and nothing else.
func (w *world) outage(t *testing.T) {
	t.Helper()
	readers, end := w.open(t, 1, len(w.slices)*perSlice)
	defer end()
	both := []*reader{readers[0], w.told}
	before := counts(both)
	w.api.Stop()
	time.Sleep(w.form.away)
	w.api.Start()
	back := time.Now()
	w.flip(t, 0, 0)
	awaitMore(t, both, before, 1)
	for i, side := range []string{"views", "bare"} {
		result(w.label("ViewsOutage", 1, side), w.form.away, "away-ns/op", both[i].after(back), "ns/op", both[i].lines.Load()-before[i], "lines")
	}
}
