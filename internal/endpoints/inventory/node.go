package inventory

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Node is one machine of the remote cluster, as a source reports it. A source
// fills in what it knows and judges nothing: whether a node is published is for
// the filter and the guard.
type Node struct {
	// ID is the stable identity of the machine, for example the UUID of its
	// server. It is empty where the source knows only names.
	ID string
	// Name is the node's name, never empty.
	Name string
	// Addresses are all addresses the source knows of, of both families and in
	// any order; the filter chooses among them.
	Addresses []netip.Addr
	// Zone is the topology zone, empty where it is not known.
	Zone string
	// Ready says that the node's own cluster counts it as ready.
	Ready bool
	// Worker says that the node runs workloads.
	Worker bool
	// Leaving says that the node is announced to go: it is being drained or
	// deleted, and still serves.
	Leaving bool
	// Excluded says that the node asks to be left out of load balancers.
	Excluded bool
	// Detail is what the source adds to the message of the node's decision,
	// such as "condition Ready is Unknown since 12:01". It may be empty.
	Detail string
}

// Identity returns what tells the node from others.
func (n Node) Identity() Identity { return Identity{ID: n.ID, Name: n.Name} }

// Identity tells a node from others: its id where there is one, else its name.
type Identity struct {
	ID   string
	Name string
}

// Same reports whether both identities mean one machine. Ids decide where both
// have one, else names do: a source that begins to report ids changes no node.
func (i Identity) Same(other Identity) bool {
	if i.ID != "" && other.ID != "" {
		return i.ID == other.ID
	}
	return i.Name == other.Name
}

// Known reports whether i names a node at all. A member that was recovered from
// a slice has no known node until an inventory lists its address.
func (i Identity) Known() bool { return i.ID != "" || i.Name != "" }

// Compare orders identities by id, then by name.
func (i Identity) Compare(other Identity) int {
	return cmp.Or(cmp.Compare(i.ID, other.ID), cmp.Compare(i.Name, other.Name))
}

// Candidate is one address of one node that may be published.
type Candidate struct {
	Node    Identity
	Address netip.Addr
	Zone    string
	// Leaving says that the node is announced to go.
	Leaving bool
}

// CompareCandidates orders candidates by address, then by node.
func CompareCandidates(a, b Candidate) int {
	return cmp.Or(a.Address.Compare(b.Address), a.Node.Compare(b.Node))
}

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
	return [...]string{Absent: "absent", StateReady: "ready", StateDraining: "draining", StateDown: "down"}[s]
}

// Serves reports whether traffic can reach an address in that state.
func (s State) Serves() bool { return s == StateReady || s == StateDraining }

// Member is an address that the slices publish.
type Member struct {
	Address netip.Addr
	State   State
	Zone    string
}

// Watch is an address that is to be checked.
type Watch struct {
	Address netip.Addr
	// Urgent says that the last result contradicts the address's state.
	Urgent bool
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

// RemoteService names a Service of the remote cluster. The zero value names none.
type RemoteService struct{ Namespace, Name string }

// String returns namespace/name, and an empty text for the zero value.
func (s RemoteService) String() string {
	if s == (RemoteService{}) {
		return ""
	}
	return s.Namespace + "/" + s.Name
}

// Placement is one complete answer of the remote cluster about one Service: which nodes
// have Pods of it. It is not changed any more.
type Placement struct {
	// Ready are the names of the nodes with a Pod that is ready and does not end, sorted.
	Ready []string
	// Ending are the names of the nodes whose Pods all end and still serve, sorted.
	Ending []string
	// Found says that the Service is there.
	Found bool
	// Local says that its externalTrafficPolicy is Local.
	Local bool
	// NodePorts are the ports that kube-proxy opens for it at the nodes.
	NodePorts []uint16
}

// EveryNode reports whether the Service forwards from every node what comes in at the port,
// so that it does not matter where its Pods are. Port 0 is any node port of the Service.
func (p *Placement) EveryNode(port uint16) bool {
	return p.Found && !p.Local && (slices.Contains(p.NodePorts, port) || port == 0 && len(p.NodePorts) > 0)
}

// IsUUID reports whether text is a UUID, as the ids of servers of the IONOS Cloud are. The
// id of a node of another provider need not be one.
func IsUUID(text string) bool {
	for i, c := range []byte(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return false
		}
	}
	return len(text) == 36
}
