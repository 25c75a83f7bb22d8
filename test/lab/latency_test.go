//go:build lab

package lab_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// slower is how many times as long requests may take as those of the target beside
// them, at the 50th, 90th and 99th percentile. Both are sent at the same time, by the
// same machine; on a busy one the rare long ones differ more, so at the 99th
// [lab.Allowance] is added.
var slower = []struct {
	percent int
	times   float64
}{{50, 3}, {90, 3}, {99, 6}}

// begunBeside is a target that requests are compared with.
func begunBeside(t *testing.T, w *lab.World, options lab.Options) *tale {
	t.Helper()
	s := &tale{T: t, world: w, Target: w.Target(t, options)}
	s.Begin(100)
	return s
}

// both are the tale and the one beside it, if there is one.
func (s *tale) both() []*tale {
	if s.beside == nil {
		return []*tale{s}
	}
	return []*tale{s, s.beside}
}

// compare ends the load of the target beside, and fails the test when requests took
// longer than those of the same time and should not, or the other way round.
func (s *tale) compare(delays bool) {
	s.Helper()
	s.beside.End()
	results := s.Record().Results()
	from, to := results[0].Start, results[len(results)-1].Start
	own, other := s.Record().Latencies(from, to), s.beside.Record().Latencies(from, to)
	delayed, text := false, ""
	for _, at := range slower {
		got, beside := traffic.Percentile(own, at.percent), traffic.Percentile(other, at.percent)
		bound := time.Duration(at.times * float64(beside))
		if at.percent == 99 {
			bound += lab.Allowance(s.Record())
		}
		delayed = delayed || got > bound
		text += fmt.Sprintf(", p%d %v beside %v", at.percent, rounded(got), rounded(beside))
	}
	text = text[2:]
	s.facts = append(s.facts, traffic.Fact{Name: "requests took", Value: text})
	s.Logf("requests took %s (%d beside %d)", text, len(own), len(other))
	if delayed != delays {
		s.Errorf("requests took %s: got delayed=%t, want %t", text, delayed, delays)
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
