package commandline

import (
	"context"
	"os/signal"
	"syscall"
	"time"
)

// mostEnding is how long a program may take to end after a signal (contract 30).
const mostEnding = 9 * time.Second

// UntilSignal returns a context that the first SIGTERM or SIGINT ends, for a program
// that then stops in order; a second one stops it at once. Where something holds it up,
// for example a file system that hangs, exit ends it.
func UntilSignal(parent context.Context, exit func(status int)) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(mostEnding, func() { exit(1) })
	})
	return ctx, stop
}
