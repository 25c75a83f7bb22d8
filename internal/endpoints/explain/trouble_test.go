package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

func TestAPanicAndItsEndAreToldOnceEach(t *testing.T) {
	var p explain.Pool
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, _ = p.Tell(pool.Outcome{At: at, Recovered: &pool.Recovery{}, Verdict: &guard.Verdict{}})
	tell := func(o pool.Outcome, want ...string) {
		t.Helper()
		o.At, o.Verdict = at, &guard.Verdict{}
		var s explain.Story
		p, s = p.Tell(o)
		var got []string
		for _, line := range s.Lines {
			got = append(got, line.Message)
		}
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("got %q, want %q", got[i], want[i])
			}
		}
	}
	broken := pool.Outcome{Trouble: &pool.Trouble{Panic: "oh", Failures: 1, Retry: at}}
	tell(broken, "deciding panicked: endpoints stay as they are published")
	tell(broken)
	broken.Beat = true
	tell(broken)
	broken.Trouble = &pool.Trouble{Panic: "oh", Failures: 2, Retry: at}
	tell(broken, "deciding panicked")
	tell(pool.Outcome{}, "decisions are made again")
	tell(pool.Outcome{})

	tell(pool.Outcome{Beat: true, Refused: 5}, "there are as many health checks as there may be")
	tell(pool.Outcome{Beat: true, Refused: 6})
	tell(pool.Outcome{Refused: 6})
	tell(pool.Outcome{Beat: true}, "all endpoints are checked again")
}
