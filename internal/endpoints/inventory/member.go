package inventory

import (
	"net/netip"
	"slices"
)

// State is what the slices say of an address.
type State uint8

// The states. Absent is the zero value: the address is in no slice.
const (
	Absent State = iota
	StateReady
	StateDraining
	StateDown
)

// String returns the word that pages, logs and JSON use.
func (s State) String() string {
	switch s {
	case StateReady:
		return "ready"
	case StateDraining:
		return "draining"
	case StateDown:
		return "down"
	case Absent:
	}
	return "absent"
}

// Serves reports whether traffic can reach an address in that state.
func (s State) Serves() bool { return s == StateReady || s == StateDraining }

// Member is an address that the slices publish.
type Member struct {
	Address netip.Addr
	State   State
	Zone    string
}

// CompareMembers orders members by address.
func CompareMembers(a, b Member) int { return a.Address.Compare(b.Address) }

// StateOf returns the state that members, sorted by address, give one.
func StateOf(members []Member, addr netip.Addr) State {
	i, found := slices.BinarySearchFunc(members, addr, func(m Member, addr netip.Addr) int { return m.Address.Compare(addr) })
	if !found {
		return Absent
	}
	return members[i].State
}
