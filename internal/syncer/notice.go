package syncer

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Announcer tells the people who look at the Service what happened to it. It is
// called from the loop and must not block.
type Announcer interface {
	Announce(notice Notice)
}

// Notice is one thing that happened, once.
type Notice struct {
	// Reason is the reason of the Event that tells of it.
	Reason NoticeReason
	// Note says what happened, with the actual values.
	Note string
}

// NoticeReason is the reason of an Event. What plan calls a Problem is told under
// the name of its kind.
type NoticeReason string

// The reasons of Events that are not kinds of a plan.Problem.
const (
	EndpointsUpdated   NoticeReason = "EndpointsUpdated"
	SourceUnavailable  NoticeReason = "SourceUnavailable"
	SourceRecovered    NoticeReason = "SourceRecovered"
	RemovalHeld        NoticeReason = "RemovalHeld"
	RemovalReleased    NoticeReason = "RemovalReleased"
	FailOpenEngaged    NoticeReason = "FailOpenEngaged"
	FailOpenCleared    NoticeReason = "FailOpenCleared"
	SliceOwnedByOther  NoticeReason = "SliceOwnedByOther"
	MirroredSliceFound NoticeReason = "MirroredSliceFound"
)

// Warning reports whether the notice calls for a person.
func (r NoticeReason) Warning() bool {
	switch r {
	case EndpointsUpdated, SourceRecovered, RemovalReleased, FailOpenCleared:
		return false
	case SourceUnavailable, RemovalHeld, FailOpenEngaged, SliceOwnedByOther, MirroredSliceFound:
	}
	return true
}

// silence announces nothing: for dry runs, and where nobody listens.
type silence struct{}

func (silence) Announce(Notice) {}

// modeNotices returns what leaving one mode and entering another is announced
// as (contract 16).
func modeNotices(before, after guard.Verdict) []Notice {
	if before.Mode == after.Mode {
		return nil
	}
	var notices []Notice
	switch before.Mode {
	case guard.Hold:
		notices = append(notices, Notice{RemovalReleased, "no member is held any more"})
	case guard.FailOpen:
		notices = append(notices, Notice{FailOpenCleared, "health checks decide again"})
	case guard.Publish:
	}
	switch after.Mode {
	case guard.Hold:
		notices = append(notices, Notice{RemovalHeld, string(after.Cause) + ": " + after.Message})
	case guard.FailOpen:
		notices = append(notices, Notice{FailOpenEngaged, string(after.Cause) + ": " + after.Message})
	case guard.Publish:
	}
	return notices
}

// updated says what the writes of one report changed, and what is published now.
func updated(results []WriteResult, state plan.State) (Notice, bool) {
	var entered, left, changed []string
	written := 0
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		written++
		for _, addr := range r.Write.Added {
			entered = append(entered, described(r.Write.Slice, addr))
		}
		for _, addr := range r.Write.Removed {
			left = append(left, addr.String())
		}
		for _, addr := range r.Write.Changed {
			changed = append(changed, described(r.Write.Slice, addr))
		}
	}
	if written == 0 {
		return Notice{}, false
	}
	members := published(state)
	ready := 0
	for _, m := range members {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	note := fmt.Sprintf("%d of %d endpoints ready", ready, len(members))
	for _, part := range []struct {
		what  string
		addrs []string
	}{{"added", entered}, {"removed", left}, {"changed", changed}} {
		if len(part.addrs) > 0 {
			note += "; " + part.what + " " + strings.Join(part.addrs, ", ")
		}
	}
	return Notice{EndpointsUpdated, note}, true
}

// described names an address and the state that the slice gives it.
func described(slice plan.Slice, addr netip.Addr) string {
	return addr.String() + " (" + stateOf(slice.Endpoints, addr).String() + ")"
}
