package pool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// deaf is a source that does not hear its context while it hangs.
type deaf struct {
	begun atomic.Int64
	hangs atomic.Pointer[chan struct{}]
}

func (d *deaf) Read(context.Context) ([]inventory.Node, error) {
	d.begun.Add(1)
	if hangs := d.hangs.Load(); hangs != nil {
		<-*hangs
	}
	return []inventory.Node{{Name: "a"}}, nil
}

// TestContract181ASourceThatDoesNotHearItsContextIsGivenUpOn: an hour in a read, which is
// an error soon after the time-out; nothing piles up, and the pool ends when it is told to.
func TestContract181ASourceThatDoesNotHearItsContextIsGivenUpOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		source := &deaf{}
		var newest atomic.Pointer[pool.Attempt]
		reader := pool.NewReader(pool.ReaderOptions{
			Source: source, FreeReads: true, PollInterval: 30 * time.Second, SourceTimeout: 20 * time.Second, Random: func() float64 { return 0 },
			Observe: func(r pool.Attempt) { newest.Store(&r) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { reader.Run(ctx); close(done) }()
		time.Sleep(time.Second)
		release := make(chan struct{})
		source.hangs.Store(&release)
		time.Sleep(33*time.Second + 22*time.Second)
		synctest.Wait()
		if last := *newest.Load(); !errors.Is(last.Err, context.DeadlineExceeded) || last.Nodes != nil {
			t.Errorf("22 s after a read began that hangs: got %+v, want an error", last)
		}
		time.Sleep(time.Hour)
		if begun, last := source.begun.Load(), *newest.Load(); begun != 2 || last.Err == nil || time.Since(last.At) > time.Minute {
			t.Errorf("after an hour: got %d reads and %+v, want the second one, and an error of this minute", begun, last)
		}
		source.hangs.Store(nil)
		close(release)
		time.Sleep(time.Minute)
		if last := *newest.Load(); last.Err != nil || len(last.Nodes) != 1 {
			t.Errorf("when the source answers again: got %+v, want its node", last)
		}
		release = make(chan struct{})
		source.hangs.Store(&release)
		time.Sleep(time.Minute)
		start := time.Now()
		cancel()
		<-done
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the reader ended %s after its context", took)
		}
		close(release)
	})
}
