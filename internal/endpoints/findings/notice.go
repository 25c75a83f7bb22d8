package findings

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// Notice is one thing that happened, once.
type Notice struct {
	// Reason is the reason of its Event.
	Reason NoticeReason
	// Note says what happened, with the actual values; Lists belong to it.
	Note  string
	Lists []List
	// Service is the UID of the Service that it happened to; empty when there is
	// none.
	Service string
}

// List is a list of addresses in a notice. An Event has no room for a long one.
type List struct {
	// Name says what became of the items.
	Name  string
	Items []string
}

// NoticeReason is the reason of an Event. That of a publish.Problem is its kind.
type NoticeReason string

// The reasons of Events that are not kinds of a publish.Problem.
const (
	EndpointsUpdated   NoticeReason = "EndpointsUpdated"
	SourceUnavailable  NoticeReason = "SourceUnavailable"
	SourceRecovered    NoticeReason = "SourceRecovered"
	StoreUnavailable   NoticeReason = "StoreUnavailable"
	StoreRecovered     NoticeReason = "StoreRecovered"
	StoredOtherwise    NoticeReason = "StoredOtherwise"
	RemovalHeld        NoticeReason = "RemovalHeld"
	RemovalPending     NoticeReason = "RemovalPending"
	RemovalAccepted    NoticeReason = "RemovalAccepted"
	RemovalReleased    NoticeReason = "RemovalReleased"
	FailOpenEngaged    NoticeReason = "FailOpenEngaged"
	FailOpenCleared    NoticeReason = "FailOpenCleared"
	SliceOwnedByOther  NoticeReason = "SliceOwnedByOther"
	MirroredSliceFound NoticeReason = "MirroredSliceFound"

	// Of Services that documents or annotations want to fill.
	Invalid                  NoticeReason = "Invalid"
	PoolNotAllowed           NoticeReason = "PoolNotAllowed"
	PortNotAllowed           NoticeReason = "PortNotAllowed"
	LimitReached             NoticeReason = "LimitReached"
	HealthCheckPortAmbiguous NoticeReason = "HealthCheckPortAmbiguous"
	UnknownAnnotation        NoticeReason = "UnknownAnnotation"
	BindingWins              NoticeReason = "BindingWins"
	TrafficPolicyLocal       NoticeReason = "TrafficPolicyLocal"
	TopologyIgnored          NoticeReason = "TopologyIgnored"
	FamilyUnused             NoticeReason = "FamilyUnused"
	HeadlessPort             NoticeReason = "HeadlessPort"
	TakesOverWithLess        NoticeReason = "TakesOverWithLess"
)

// Warning reports whether a person has to act.
func (r NoticeReason) Warning() bool {
	switch r {
	case EndpointsUpdated, SourceRecovered, StoreRecovered, RemovalReleased, FailOpenCleared:
		return false
	case SourceUnavailable, StoreUnavailable, StoredOtherwise, RemovalHeld, RemovalPending, RemovalAccepted, FailOpenEngaged, SliceOwnedByOther, MirroredSliceFound,
		Invalid, PoolNotAllowed, PortNotAllowed, LimitReached, HealthCheckPortAmbiguous,
		UnknownAnnotation, BindingWins, TrafficPolicyLocal, TopologyIgnored, FamilyUnused, HeadlessPort, TakesOverWithLess:
	}
	return true
}

// modeNotices returns what leaving one mode and entering another is announced
// as (contract 16). What lasts in another mode is said there.
func modeNotices(before, after guard.Verdict) []Notice {
	var notices []Notice
	left := func(reason NoticeReason) {
		note := resumed(before.Mode)
		if after.Mode != guard.Publish {
			note = "the mode is now " + after.Mode.String()
		}
		notices = append(notices, Notice{Reason: reason, Note: note})
	}
	switch before.Mode {
	case guard.Hold:
		left(RemovalReleased)
	case guard.FailOpen:
		left(FailOpenCleared)
	case guard.Publish:
	}
	entered := string(after.Cause) + ": " + after.Message
	switch after.Mode {
	case guard.Hold:
		notices = append(notices, Notice{Reason: RemovalHeld, Note: entered})
	case guard.FailOpen:
		notices = append(notices, Notice{Reason: FailOpenEngaged, Note: entered})
	case guard.Publish:
	}
	return notices
}

// resumed says what decides after a mode has ended.
func resumed(ended guard.Mode) string {
	if ended == guard.Hold {
		return "no endpoint is kept any more: inventories and health checks decide again"
	}
	return "health checks decide again"
}

// updated says what the writes of one report changed, and what is published now:
// nothing when none succeeded.
func updated(results []writer.Result, state publish.State) []Notice {
	var c change
	for _, r := range results {
		if r.Err == nil {
			c.add(r.Write)
		}
	}
	if len(c.slices) == 0 {
		return nil
	}
	c.published = publish.Published(state)
	ready := 0
	for _, m := range c.published {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	return []Notice{{Reason: EndpointsUpdated, Note: fmt.Sprintf("%d of %d endpoints ready", ready, len(c.published)), Lists: c.lists()}}
}

// change is what writes did to slices and addresses, and what is published
// afterwards.
type change struct {
	slices                  []string
	added, removed, changed []netip.Addr
	// published is sorted by address.
	published []inventory.Member
}

// add adds a write.
func (c *change) add(w publish.Write) {
	c.slices = append(c.slices, w.Slice.Name)
	c.added, c.removed, c.changed = append(c.added, w.Added...), append(c.removed, w.Removed...), append(c.changed, w.Changed...)
}

// lists returns the addresses with their states. One that a slice lost and that
// another one still publishes has moved. Where no address is concerned the
// slices are named.
func (c *change) lists() []List {
	added, removed := List{Name: "added"}, List{Name: "removed"}
	changed, moved := List{Name: "changed"}, List{Name: "moved"}
	lost := make(map[netip.Addr]bool)
	for _, addr := range sorted(c.removed) {
		lost[addr] = true
		if inventory.StateOf(c.published, addr) == inventory.Absent {
			removed.Items = append(removed.Items, addr.String())
			continue
		}
		moved.Items = append(moved.Items, c.describe(addr))
	}
	for _, addr := range sorted(c.added) {
		if !lost[addr] {
			added.Items = append(added.Items, c.describe(addr))
		}
	}
	for _, addr := range sorted(c.changed) {
		changed.Items = append(changed.Items, c.describe(addr))
	}
	lists := slices.DeleteFunc([]List{added, removed, changed, moved}, func(l List) bool { return len(l.Items) == 0 })
	if len(lists) == 0 {
		return []List{{Name: "rewritten", Items: c.slices}}
	}
	return lists
}

// describe names an address and its state.
func (c *change) describe(addr netip.Addr) string {
	return addr.String() + " (" + inventory.StateOf(c.published, addr).String() + ")"
}

// sorted returns the addresses in order.
func sorted(addrs []netip.Addr) []netip.Addr {
	return slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
}
