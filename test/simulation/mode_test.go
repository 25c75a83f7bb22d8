//go:build simulation

package simulation_test

import (
	"context"
	"log/slog"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// The two ways in which the mode is reported.
const (
	byNotice = iota
	byLine
)

// Announce checks notices against contract 16: a process that leaves a mode was in
// it, and a process that enters a mode was not.
func (p *process) Announce(notice explain.Notice) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	switch notice.Reason {
	case explain.RemovalHeld:
		p.turn(byNotice, guard.Publish, guard.Hold)
	case explain.RemovalReleased:
		p.turn(byNotice, guard.Hold, guard.Publish)
	case explain.FailOpenEngaged:
		p.turn(byNotice, guard.Publish, guard.FailOpen)
	case explain.FailOpenCleared:
		p.turn(byNotice, guard.FailOpen, guard.Publish)
	case explain.RemovalAccepted:
		p.noteAccepted(notice.Note)
	case explain.EndpointsUpdated, explain.SourceUnavailable, explain.SourceRecovered, explain.StoreUnavailable, explain.StoreRecovered, explain.StoredOtherwise, explain.SliceOwnedByOther, explain.MirroredSliceFound,
		explain.RemovalPending, explain.Invalid, explain.PoolNotAllowed, explain.PortNotAllowed, explain.RemoteNamespaceNotAllowed, explain.LimitReached, explain.HealthCheckPortAmbiguous,
		explain.UnknownAnnotation, explain.BindingWins, explain.TrafficPolicyLocal, explain.TopologyIgnored, explain.FamilyUnused, explain.HeadlessPort,
		explain.TakesOverWithLess, explain.PlacementRejected, explain.UnknownNode, explain.PlacementUnavailable, explain.PlacementRecovered, explain.ReplicasDisagree:
	}
}

// turn notes that a change of the mode was reported. The caller has the lock.
func (p *process) turn(way int, from, to guard.Mode) {
	if p.told[way] != from {
		p.w.breach(16, "a change of the mode from %s to %s was told after one to %s", from, to, p.told[way])
	}
	if from == guard.FailOpen {
		p.openAt = time.Now()
	}
	if to == guard.FailOpen {
		clear(p.deadAt) // what failed before needs FALL fresh failures afterwards
	}
	for a := range p.silentSince {
		if to == guard.Hold { // that silence is forgiven from now on, contract 14
			p.fresh[a] = 0
			delete(p.deadAt, a)
		}
	}
	p.told[way] = to
	p.w.counts["modes told"]++
}

// checkMode checks that the reported mode is the mode that is shown.
func (p *process) checkMode() {
	is := p.syncer.Status().Verdict.Mode
	for way, told := range p.told {
		if told != is {
			p.w.breach(16, "the mode is %s, and was told as %s by %s", is, told, []string{"notices", "the log"}[way])
		}
	}
}

// modeLines is the daemon's log; it heeds the lines about the mode.
type modeLines struct{ *process }

// Enabled leaves out details.
func (m modeLines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// WithAttrs and WithGroup change nothing that matters here.
func (m modeLines) WithAttrs([]slog.Attr) slog.Handler { return m }
func (m modeLines) WithGroup(string) slog.Handler      { return m }

// Handle takes a line.
func (m modeLines) Handle(_ context.Context, line slog.Record) error {
	if line.Message != "mode changed" {
		return nil
	}
	modes := map[string]guard.Mode{}
	line.Attrs(func(a slog.Attr) bool {
		for _, mode := range []guard.Mode{guard.Publish, guard.Hold, guard.FailOpen} {
			if a.Value.String() == mode.String() {
				modes[a.Key] = mode
			}
		}
		return true
	})
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.turn(byLine, modes["from"], modes["to"])
	return nil
}
