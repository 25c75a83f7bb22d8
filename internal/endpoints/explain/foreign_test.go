package explain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// TestContract76ForeignSlicesAreNotComparedWithEachOther: others make any number of slices with names of a
// target, and the loop that tells of them writes for all targets.
func TestContract76ForeignSlicesAreNotComparedWithEachOther(t *testing.T) {
	took := func(many int) time.Duration {
		var o writer.Outcome
		for i := range many {
			o.State.Refused = append(o.State.Refused, publish.Refusal{Name: fmt.Sprintf("web.blue.%06d", i), Message: "is another one's"})
		}
		memory, _ := explain.ServiceStory{}.Tell(o)
		least := time.Hour
		for range 5 {
			began := time.Now()
			if _, story := memory.Tell(o); len(story.Notices) > 0 {
				t.Fatalf("got %d notices of what was told before", len(story.Notices))
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	if few, many := took(1_000), took(20_000); many > 150*few {
		t.Errorf("1,000 slices take %v, and twenty times as many %v", few, many)
	}
}
