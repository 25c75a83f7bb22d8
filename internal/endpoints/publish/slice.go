package publish

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// ErrConflict is what a store's Write wraps when the slice is no longer what the
// write was computed from: another version, already there, or gone. The state
// must be read and decided again; the same write is never sent twice.
var ErrConflict = errors.New("the slice changed since it was read")

// ErrStoredOtherwise is what a store's Write wraps when the API server carried the write
// out, and stored something else than was sent: an admission policy or a webhook changes
// slices. What is stored counts, so the state must be read again. The same write is sent
// again only rarely, another one at once.
var ErrStoredOtherwise = errors.New("the API server stored something else than was sent")

// Family is the address family of a slice; a slice holds only one.
type Family uint8

// The families, in the order in which slices are sorted.
const (
	IPv4 Family = iota
	IPv6
)

// FamilyOf returns the family of an address.
func FamilyOf(addr netip.Addr) Family {
	if addr.Is4() {
		return IPv4
	}
	return IPv6
}

// String returns the family's name as EndpointSlices spell it.
func (f Family) String() string {
	if f == IPv6 {
		return "IPv6"
	}
	return "IPv4"
}

// Protocol is the transport protocol of a port: TCP, UDP or SCTP.
type Protocol string

// The protocols of Service ports.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	SCTP Protocol = "SCTP"
)

// Port is one backend port of the target.
type Port struct {
	// Name equals the name of the Service's port; it is empty for the single
	// unnamed port of a Service.
	Name     string
	Protocol Protocol
	Number   uint16
	// AppProtocol is the one of the Service's port, empty for none; a target says
	// nothing of it.
	AppProtocol string
}

// ComparePorts orders ports by name, protocol, number and appProtocol.
func ComparePorts(a, b Port) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Number, b.Number),
		cmp.Compare(a.AppProtocol, b.AppProtocol))
}

// Target is one Service of the local cluster and how to fill it.
type Target struct {
	Namespace string
	Service   string
	// SliceName is the name of the first IPv4 slice; the others follow from it.
	SliceName string
	// Pool names the pool that fills the slices, which have its name as a label; empty
	// where the variables name the only one.
	Pool      string
	ManagedBy string
	// Ports are the backend ports. With PortFromService there is exactly one,
	// whose name is still to be taken from the Service.
	Ports           []Port
	PortFromService bool
	// MaxEndpoints is how many endpoints a slice may hold, 1 to 1000.
	MaxEndpoints int
	// Names is how messages about this target name settings; its surfaces apply it.
	Names naming.Names
}

// Service is what a store knows of the target's Service.
type Service struct {
	// UID is empty when there is no such Service.
	UID          string
	Deleting     bool
	HasSelector  bool
	ExternalName bool
	// PublishNotReady is spec.publishNotReadyAddresses: every endpoint is wanted,
	// whatever its health.
	PublishNotReady bool
	Ports           []ServicePort
	// Portless says why its ports are not known, and the remedy, where a store made the Service up.
	Portless string
	Traits
}

// Same reports whether both say the same.
func (s Service) Same(other Service) bool {
	return s.UID == other.UID && s.Deleting == other.Deleting && s.HasSelector == other.HasSelector &&
		s.ExternalName == other.ExternalName && s.PublishNotReady == other.PublishNotReady && s.Portless == other.Portless &&
		s.Traits == other.Traits && slices.Equal(s.Ports, other.Ports)
}

// Traits are what else a Service says that decides what its clients make of endpoints.
// No slice depends on them.
type Traits struct {
	// IPv4 and IPv6 are the families that clients can use.
	IPv4, IPv6 bool
	// Headless: clients get the addresses of endpoints from DNS.
	Headless bool
	// Local names the fields that are Local, and Topology the field or annotation that
	// asks for near endpoints; both are empty where there is none.
	Local, Topology string
}

// ServicePort is one port of a Service.
type ServicePort struct {
	Name     string
	Protocol Protocol
	Port     uint16
	// TargetPort is 0 where it is not a number.
	TargetPort uint16
	// AppProtocol is empty where the Service's port has none.
	AppProtocol string
}

// Slice is one EndpointSlice of ours, as it is or as it should be.
type Slice struct {
	Name   string
	Family Family
	// Endpoints are sorted by address, Ports by name.
	Endpoints []inventory.Member
	Ports     []Port
	// PublishNotReady says that every endpoint is published as ready, as
	// Service.PublishNotReady asks for; the members' states are what they are.
	PublishNotReady bool
	// Owner is the UID of the Service in the slice's ownerReference.
	Owner string
	// Version is the resourceVersion the slice was read at, empty for a slice
	// that does not exist.
	Version string
	// Changed is when it was last changed as it says itself, zero where it does not: what
	// drains in it drains since then, or longer.
	Changed time.Time
	// Drift says, for a slice that was read, what in it differs from what we
	// would write and has no field here (labels, conditions left out, further
	// addresses of an endpoint). A slice with drift is written again.
	Drift string
}

// Same reports whether both slices, of the same name, publish the same in the same
// form. Versions may differ.
func (s Slice) Same(other Slice) bool {
	return s.Name == other.Name && s.Family == other.Family && s.Owner == other.Owner && s.Drift == other.Drift &&
		s.PublishNotReady == other.PublishNotReady &&
		slices.Equal(s.Ports, other.Ports) && slices.Equal(s.Endpoints, other.Endpoints)
}

// SameVersion reports whether both slices are the same, their versions too.
func (s Slice) SameVersion(other Slice) bool { return s.Version == other.Version && s.Same(other) }

// HasPortOf reports whether clients of the Service find a port of theirs in the slice, as far as its
// ports are known.
func (s Slice) HasPortOf(service Service) bool {
	return len(service.Ports) == 0 || slices.ContainsFunc(service.Ports, func(is ServicePort) bool {
		return slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Name == is.Name && p.Protocol == is.Protocol })
	})
}

// StateOf returns the state that the slice gives an address.
func (s Slice) StateOf(addr netip.Addr) inventory.State { return inventory.StateOf(s.Endpoints, addr) }

// Refusal is a slice that has a name of ours but is not ours to touch.
type Refusal struct {
	Name string
	// Message says which program manages it, or what else is wrong, and the remedy.
	Message string
}

// ForeignSlice is a slice of the Service that is not ours and publishes endpoints beside
// ours: they get traffic too, and are not checked.
type ForeignSlice struct {
	Name string
	// Manager is the value of the slice's managed-by label, empty without one.
	Manager string
	// Endpoints is how many it publishes, at least 1.
	Endpoints int
	// Message says where it comes from, and how to be rid of it without taking a
	// backend away.
	Message string
}

// State is what a store holds for one target at one moment.
type State struct {
	Service Service
	// Slices are ours by name and managed-by, sorted by family and number.
	Slices []Slice
	// Refused are the slices of our names that are not ours, sorted by name.
	Refused []Refusal
	// Beside are the slices of other names that publish endpoints for the same
	// Service, sorted by name. While the Service has a selector there are none:
	// then such slices are to be expected, and the selector is what is wrong.
	Beside []ForeignSlice
	// Unread are the names of slices that may be something else by now, sorted: their
	// last write failed, or they vanished, and they could not be read since: UnreadErr
	// says why.
	Unread    []string
	UnreadErr error
	// Stale says why all this may be out of date; nil if it is not.
	Stale error
}

// Operation is the kind of a write.
type Operation string

// The operations. There is no deletion: a surplus slice is emptied.
const (
	Create Operation = "create"
	Update Operation = "update"
)

// Write is one request that makes one slice what it should be.
type Write struct {
	Operation Operation
	// Slice is the whole slice as it should be. Its Version is the one that
	// the write was computed from, and the fence of the update.
	Slice Slice
	// Added, Removed and Changed are the addresses by which the slice differs
	// from before, sorted.
	Added, Removed, Changed []netip.Addr
	// After names the slices whose writes have to succeed before this one,
	// because addresses move from this slice to them.
	After []string
	// Trigger is when the change was decided; it becomes the annotation
	// endpoints.kubernetes.io/last-change-trigger-time.
	Trigger time.Time
}

// Names are fixed, so that a create whose answer was lost can be repeated
// without ever making a second slice:
//
//	number  IPv4      IPv6
//	1       <name>    <name>-ipv6
//	2       <name>-2  <name>-ipv6-2
//	n       <name>-n  <name>-ipv6-n
//
// The name that a pool gives, web.blue, goes on with dots, also where another pool has the slices
// now: web.blue.2, web.blue.ipv6. With hyphens, web.blue-2 would be the second slice of
// pool blue and the first of pool blue-2.

// NameOf returns the name of the target's slice of that family and number,
// counted from 1.
func (t Target) NameOf(family Family, number int) string {
	name := t.SliceName
	if family == IPv6 {
		name += t.separator() + "ipv6"
	}
	if number > 1 {
		name += t.separator() + strconv.Itoa(number)
	}
	return name
}

// ParseName is the inverse of NameOf: it returns family and number of a slice
// name, and whether the name is one of the target's at all.
func (t Target) ParseName(name string) (family Family, number int, ok bool) {
	rest, ok := strings.CutPrefix(name, t.SliceName)
	if !ok {
		return IPv4, 0, false
	}
	if after, v6 := strings.CutPrefix(rest, t.separator()+"ipv6"); v6 {
		family, rest = IPv6, after
	}
	if rest == "" {
		return family, 1, true
	}
	digits, ok := strings.CutPrefix(rest, t.separator())
	if !ok {
		return IPv4, 0, false
	}
	number, err := strconv.Atoi(digits)
	if err != nil || number < 2 || strconv.Itoa(number) != digits {
		return IPv4, 0, false
	}
	return family, number, true
}

// Adopted reports whether the slices have a name that the target of a pool does not give
// by itself.
func (t Target) Adopted() bool { return t.SliceName != t.Service+"."+t.Pool }

// separator stands between the parts of a name.
func (t Target) separator() string {
	if t.Pool != "" && strings.HasPrefix(t.SliceName, t.Service+".") {
		return "."
	}
	return "-"
}

// CompareSlices orders slices of one target by family, then by number: the names of one
// family begin alike, so that the shorter of two has the smaller number.
func CompareSlices(a, b Slice) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
}

// publishNotReady is the annotation, with the value "true", of a slice whose
// Service asks for publishNotReadyAddresses. It says how the conditions are to be
// read, so that a restart changes no member's state although the Service's field
// was switched meanwhile.
const publishNotReady = "endpoints.ablmnzde.github.io/publish-not-ready-addresses"

// conditionsOf returns the conditions written for a state. All three are always
// written: consumers disagree on what nil means. With notReadyToo, ready is true
// whatever the state, for those that leave too, as in Kubernetes' own controller.
func conditionsOf(state inventory.State, notReadyToo bool) discoveryv1.EndpointConditions {
	ready := state == inventory.StateReady
	draining := state == inventory.StateDraining
	return discoveryv1.EndpointConditions{
		Ready:       new(ready || notReadyToo),
		Serving:     new(ready || draining),
		Terminating: new(draining),
	}
}

// toState returns the state nearest to the conditions, as kube-proxy reads them:
//
//	ready  serving  terminating  state
//	true   any      any          ready
//	false  true     true         draining
//	false  any other             down
//
// With notReadyToo, ready says nothing, and what passes its check is what serves:
//
//	any    true     true         draining
//	any    true     false        ready
//	any    false    any          down
//
// A condition left out means what the API says: ready, serving, not terminating.
func toState(conditions discoveryv1.EndpointConditions, notReadyToo bool) inventory.State {
	serving, terminating := ptr.Deref(conditions.Serving, true), ptr.Deref(conditions.Terminating, false)
	switch {
	case !notReadyToo && ptr.Deref(conditions.Ready, true), notReadyToo && serving && !terminating:
		return inventory.StateReady
	case serving && terminating:
		return inventory.StateDraining
	}
	return inventory.StateDown
}

// asWritten reports whether the conditions are those written for the state.
func asWritten(got discoveryv1.EndpointConditions, state inventory.State, notReadyToo bool) bool {
	want := conditionsOf(state, notReadyToo)
	equal := func(got, want *bool) bool { return got != nil && *got == *want }
	return equal(got.Ready, want.Ready) && equal(got.Serving, want.Serving) && equal(got.Terminating, want.Terminating)
}

// words spells conditions for a message.
func words(conditions discoveryv1.EndpointConditions) string {
	word := func(condition *bool) string {
		if condition == nil {
			return "left out"
		}
		return fmt.Sprint(*condition)
	}
	return fmt.Sprintf("ready %s, serving %s, terminating %s",
		word(conditions.Ready), word(conditions.Serving), word(conditions.Terminating))
}
