package lease

import (
	"context"
	"time"
)

// Answered is answered.
var Answered = answered

// Elapsed is what a stopwatch shows that was started now, on a machine that was suspended
// for so long since.
func Elapsed(suspended time.Duration) time.Duration {
	started := begin()
	started.boot -= suspended
	return started.elapsed()
}

// Pause waits as a standby does after so many rounds without a result, while the Lease of
// another ends in so long.
func Pause(ctx context.Context, failures int, left time.Duration) {
	c := &candidate{Elector: &Elector{opts: Options{Identity: "me", Random: func() float64 { return 1 }}}, failures: failures}
	c.seen.record.holder, c.seen.record.duration = "other", left
	c.seen.since = stopwatch{at: time.Now(), boot: sinceBoot()}
	c.pause(ctx)
}

// ReplyKey is replyKey.
var ReplyKey = replyKey
