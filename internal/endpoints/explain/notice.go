package explain

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
	EndpointsUpdated  NoticeReason = "EndpointsUpdated"
	SourceUnavailable NoticeReason = "SourceUnavailable"
	SourceRecovered   NoticeReason = "SourceRecovered"
	// Of the remote Service that is followed. The first two are reasons of guard.Placement.
	PlacementRejected    NoticeReason = "PlacementRejected"
	UnknownNode          NoticeReason = "UnknownNode"
	PlacementUnavailable NoticeReason = "PlacementUnavailable"
	PlacementRecovered   NoticeReason = "PlacementRecovered"
	ReplicasDisagree     NoticeReason = "ReplicasDisagree"
	StoreUnavailable     NoticeReason = "StoreUnavailable"
	StoreRecovered       NoticeReason = "StoreRecovered"
	StoredOtherwise      NoticeReason = "StoredOtherwise"
	RemovalHeld          NoticeReason = "RemovalHeld"
	RemovalPending       NoticeReason = "RemovalPending"
	RemovalAccepted      NoticeReason = "RemovalAccepted"
	RemovalReleased      NoticeReason = "RemovalReleased"
	FailOpenEngaged      NoticeReason = "FailOpenEngaged"
	FailOpenCleared      NoticeReason = "FailOpenCleared"
	SliceOwnedByOther    NoticeReason = "SliceOwnedByOther"
	MirroredSliceFound   NoticeReason = "MirroredSliceFound"

	// Of Services that documents or annotations want to fill.
	Invalid                   NoticeReason = "Invalid"
	PoolNotAllowed            NoticeReason = "PoolNotAllowed"
	PortNotAllowed            NoticeReason = "PortNotAllowed"
	RemoteNamespaceNotAllowed NoticeReason = "RemoteNamespaceNotAllowed"
	LimitReached              NoticeReason = "LimitReached"
	HealthCheckPortAmbiguous  NoticeReason = "HealthCheckPortAmbiguous"
	UnknownAnnotation         NoticeReason = "UnknownAnnotation"
	BindingWins               NoticeReason = "BindingWins"
	TrafficPolicyLocal        NoticeReason = "TrafficPolicyLocal"
	TopologyIgnored           NoticeReason = "TopologyIgnored"
	FamilyUnused              NoticeReason = "FamilyUnused"
	HeadlessPort              NoticeReason = "HeadlessPort"
	TakesOverWithLess         NoticeReason = "TakesOverWithLess"
)

// Warning reports whether a person has to act.
func (r NoticeReason) Warning() bool {
	return !slices.Contains([]NoticeReason{EndpointsUpdated, SourceRecovered, PlacementRecovered, StoreRecovered, RemovalReleased, FailOpenCleared}, r)
}

// modeNotices returns what leaving one mode and entering another is announced
// as (contract 16). What lasts in another mode is said there.
func modeNotices(before, after guard.Verdict) []Notice {
	reasons := map[guard.Mode]struct{ entered, left NoticeReason }{
		guard.Hold:     {RemovalHeld, RemovalReleased},
		guard.FailOpen: {FailOpenEngaged, FailOpenCleared},
	}
	var notices []Notice
	if before.Mode != guard.Publish {
		note := resumed(before.Mode)
		if after.Mode != guard.Publish {
			note = "the mode is now " + after.Mode.String()
		}
		notices = append(notices, Notice{Reason: reasons[before.Mode].left, Note: note})
	}
	if after.Mode != guard.Publish {
		notices = append(notices, Notice{Reason: reasons[after.Mode].entered, Note: string(after.Cause) + ": " + after.Message})
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
	c := changeOf(results)
	if len(c.slices) == 0 {
		return nil
	}
	published := publish.Published(state)
	ready := 0
	for _, m := range published {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	return []Notice{{Reason: EndpointsUpdated, Note: fmt.Sprintf("%d of %d endpoints ready", ready, len(published)), Lists: c.lists(published)}}
}

// change is what writes did to slices and addresses, which are sorted.
type change struct {
	slices                  []string
	added, removed, changed []netip.Addr
}

// changeOf sums up the writes that succeeded.
func changeOf(results []writer.Result) change {
	var c change
	for _, r := range results {
		if w := r.Write; r.Err == nil {
			c.slices = append(c.slices, w.Slice.Name)
			c.added, c.removed, c.changed = append(c.added, w.Added...), append(c.removed, w.Removed...), append(c.changed, w.Changed...)
		}
	}
	for _, list := range [][]netip.Addr{c.added, c.removed, c.changed} {
		slices.SortFunc(list, netip.Addr.Compare)
	}
	return c
}

// lists returns the addresses with the states that are published afterwards. One that a
// slice lost and that another one still publishes has moved. Where no address is concerned
// the slices are named.
func (c *change) lists(published []inventory.Member) []List {
	describe := func(addresses []netip.Addr) (items []string) {
		for _, addr := range addresses {
			items = append(items, addr.String()+" ("+inventory.StateOf(published, addr).String()+")")
		}
		return items
	}
	var removed []string
	var moved []netip.Addr
	for _, addr := range c.removed {
		if inventory.StateOf(published, addr) == inventory.Absent {
			removed = append(removed, addr.String())
		} else {
			moved = append(moved, addr)
		}
	}
	lists := slices.DeleteFunc([]List{
		{"added", describe(without(c.added, c.removed))}, {"removed", removed}, {"changed", describe(c.changed)}, {"moved", describe(moved)},
	}, func(l List) bool { return len(l.Items) == 0 })
	if len(lists) == 0 {
		return []List{{Name: "rewritten", Items: c.slices}}
	}
	return lists
}
