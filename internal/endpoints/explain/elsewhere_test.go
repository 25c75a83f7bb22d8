package explain_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

func TestContract240ThatReplicasDisagreeIsToldOnce(t *testing.T) {
	var p explain.Pool
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, _ = p.Tell(pool.Outcome{At: at, Recovered: &pool.Recovery{}, Verdict: &guard.Verdict{}})
	for i, step := range []struct {
		elsewhere, notices, lines int
	}{{0, 0, 0}, {3, 1, 1}, {2, 0, 0}, {0, 0, 1}, {0, 0, 0}, {1, 1, 1}} {
		var s explain.Story
		p, s = p.Tell(pool.Outcome{At: at, Verdict: &guard.Verdict{Elsewhere: step.elsewhere, Replica: "pod-b"}})
		if len(s.Notices) != step.notices || len(s.Lines) != step.lines {
			t.Errorf("step %d: got %+v and %+v, want %d notices and %d lines", i, s.Notices, s.Lines, step.notices, step.lines)
		}
		for _, n := range s.Notices {
			if want := "3 endpoints do not answer the leader, but replica pod-b connects to them: they stay published"; i == 1 && (n.Reason != explain.ReplicasDisagree || n.Note != want) {
				t.Errorf("got %+v, want %q", n, want)
			}
		}
	}
}
