package bubble_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestTheRaceDetectorEndsNoBubble asks for timers in many goroutines at the instant
// at which they are due.
func TestTheRaceDetectorEndsNoBubble(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for range 20 {
		bubble.Test(t, func(*testing.T) {
			var asking sync.WaitGroup
			for range 8 {
				asking.Go(askTimers)
			}
			asking.Wait()
		})
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("%d processors after the bubbles, %d before", after, before)
	}
}

func askTimers() {
	timers := make([]*time.Timer, 32)
	for range 50 {
		for i := range timers {
			timers[i] = time.NewTimer(time.Second)
		}
		time.Sleep(time.Second)
		for _, timer := range timers {
			select {
			case <-timer.C:
			default:
			}
		}
	}
}
