package publish

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Desired returns the slices that publish members, and why the Service cannot be
// filled, if so. Then no slice is made; those that exist keep their ports and are
// still kept right, unless there is no Service: then they are left as they are
// (contract 25).
func Desired(members []inventory.Member, state State, target Target) ([]Slice, Problem) {
	ports, problem := ResolvePorts(state.Service, target)
	if problem.Kind == ServiceMissing {
		return slices.Clone(state.Slices), problem
	}
	members = byAddress(members)
	second := slices.IndexFunc(members, func(m inventory.Member) bool { return FamilyOf(m.Address) == IPv6 })
	if second < 0 {
		second = len(members)
	}
	pack := func(family Family, members []inventory.Member) []Slice {
		p := packer{target: target, family: family, service: state.Service, ports: ports, blocked: problem.Kind != ""}
		return p.pack(members, state)
	}
	return append(pack(IPv4, members[:second]), pack(IPv6, members[second:])...), problem
}

// Diff returns the writes that make current what desired says, empty when nothing
// differs. Gains come before losses: an address that moves to another slice is
// always in one, and what becomes ready does not wait.
func Diff(current, desired []Slice) []Write {
	at := make(map[string]int, len(current))
	for i, have := range current {
		at[have.Name] = i
	}
	var gaining, readying, losing []change
	for _, want := range desired {
		c := change{Write: Write{Operation: Create, Slice: want}}
		if i, exists := at[want.Name]; exists {
			c.Operation, c.have = Update, current[i]
		}
		if c.Operation == Update && c.have.Same(want) {
			continue
		}
		c.Write = newWrite(c.Operation, c.have, want)
		c.madeReady = madeReady(c.have, c.Write)
		switch {
		case len(c.Added) > 0:
			gaining = append(gaining, c)
		case len(c.madeReady) > 0:
			readying = append(readying, c)
		default:
			losing = append(losing, c)
		}
	}
	return order(gaining, readying, losing)
}

// change is a write, the slice before it, and the addresses of that slice that it
// makes ready.
type change struct {
	Write
	have      Slice
	madeReady []netip.Addr
}

// madeReady returns the addresses that the slice publishes otherwise and that the
// write makes ready.
func madeReady(have Slice, w Write) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(w.Changed), func(addr netip.Addr) bool {
		return w.Slice.StateOf(addr) != inventory.StateReady || have.StateOf(addr) == inventory.StateReady
	})
}

// newWrite makes the write that turns have into want.
func newWrite(operation Operation, have, want Slice) Write {
	w := Write{Operation: operation, Slice: want}
	w.Slice.Version = have.Version
	before, after := byAddress(have.Endpoints), byAddress(want.Endpoints)
	was, is := cursor{members: before}, cursor{members: after}
	for _, m := range after {
		switch i, found := was.seek(m); {
		case !found:
			w.Added = append(w.Added, m.Address)
		case before[i] != m:
			w.Changed = append(w.Changed, m.Address)
		}
	}
	for _, m := range before {
		if _, found := is.seek(m); !found {
			w.Removed = append(w.Removed, m.Address)
		}
	}
	return w
}

// order returns all writes, first those that add, then those that make ready, and
// notes for every write but the first kind which others have to succeed before: it
// removes an address that they add, or a copy better than the one that they make
// ready.
//
// A write that adds never waits, so no two writes wait for each other for ever. It
// need not: Desired adds nothing to a slice that an address moves from, and an
// address that an adding slice loses was a duplicate of one in no worse a state.
func order(gaining, readying, losing []change) []Write {
	type holder struct {
		slice string
		state inventory.State
	}
	holders := make(map[netip.Addr]holder)
	for _, c := range slices.Concat(gaining, readying) {
		for _, addr := range slices.Concat(c.madeReady, c.Added) {
			holders[addr] = holder{c.Slice.Name, c.have.StateOf(addr)}
		}
	}
	var ordered []Write
	for i, c := range slices.Concat(gaining, readying, losing) {
		for _, addr := range c.Removed {
			holder, ok := holders[addr]
			waits := ok && i >= len(gaining) && (holder.state == inventory.Absent || c.have.StateOf(addr) < holder.state)
			if waits && !slices.Contains(c.After, holder.slice) {
				c.After = append(c.After, holder.slice)
			}
		}
		slices.Sort(c.After)
		ordered = append(ordered, c.Write)
	}
	return ordered
}

// errRefused is a write that a store must never send, whatever asked for it.
var errRefused = errors.New("not sent")

// Fence returns why the write must not be sent, or nil. Base is the object of
// that name as the store knows it now, nil when there is none. A base of
// another version than the write's is a conflict: nothing was decided from it
// yet.
func Fence(base *discoveryv1.EndpointSlice, write Write, target Target) error {
	family, _, ours := target.ParseName(write.Slice.Name)
	switch {
	case !ours || family != write.Slice.Family:
		return fmt.Errorf("%w: %s is not an %s name of the target", errRefused, write.Slice.Name, write.Slice.Family)
	case write.Operation != Create && write.Operation != Update:
		return fmt.Errorf("%w: unknown operation %q", errRefused, write.Operation)
	case write.Operation == Update && write.Slice.Version == "":
		return fmt.Errorf("%w: an update without a version", errRefused)
	case write.Operation == Create && base != nil:
		return fmt.Errorf("it exists at version %s: %w", base.ResourceVersion, ErrConflict)
	case write.Operation == Update && base == nil:
		return fmt.Errorf("it is gone: %w", ErrConflict)
	case write.Operation == Update && base.ResourceVersion != write.Slice.Version:
		return fmt.Errorf("it is at version %s, not %s: %w", base.ResourceVersion, write.Slice.Version, ErrConflict)
	case base == nil:
		return nil
	}
	if refusal := refuse(base, target, family); refusal != nil {
		return fmt.Errorf("%w: %s", errRefused, refusal.Message)
	}
	return nil
}

// Losses returns the write that only takes away from a slice as it is stored, and false
// where there is nothing to take away: addresses that no desired slice of the Service has
// are removed, and those that have a worse state in all of them get the best of these. It
// adds and moves nothing, so it needs no other write.
//
// Where the slice is to have other ports, nothing is taken away: what was decided of its
// addresses holds for those.
func Losses(stored Slice, desired []Slice) (Write, bool) {
	sameNumber := func(a, b Port) bool { return a.Protocol == b.Protocol && a.Number == b.Number }
	i := slices.IndexFunc(desired, func(s Slice) bool { return s.Name == stored.Name })
	if i < 0 || !slices.EqualFunc(stored.Ports, desired[i].Ports, sameNumber) {
		return Write{}, false
	}
	members, less := Published(State{Slices: desired}), stored
	less.Endpoints, less.Drift = nil, "" // a store repairs what drifted
	for _, m := range stored.Endpoints {
		if state := inventory.StateOf(members, m.Address); state != inventory.Absent {
			m.State = max(m.State, state)
			less.Endpoints = append(less.Endpoints, m)
		}
	}
	w := newWrite(Update, stored, less)
	return w, len(w.Removed)+len(w.Changed) > 0
}

// ErrUnavailable is what a store wraps when the API server cannot be reached or
// asks for a pause, so that any other request would fail as well:
//
//	unavailable                                 not: it concerns this slice alone
//	no connection: refused, no route, no name,  no answer in time to a request
//	TLS, or none within the request's time      that was sent
//	a connection that broke (reset, closed)     403, 404, 409, 422, a quota, 500
//	429, 503                                    a webhook's denial, with any status
var ErrUnavailable = errors.New("the API server is not available")

// Unavailable returns err as one that wraps ErrUnavailable too. Its text stays as
// it is. RetryAfter is the pause that the server asked for, 0 where it named none.
func Unavailable(err error, retryAfter time.Duration) error {
	return markedError{&transport.RetryAfterError{Err: err, After: retryAfter}, ErrUnavailable}
}

// ErrRefused is what a store's Write wraps when the API server refuses what the write
// says, by an admission policy, a webhook, a quota, a right or its validation: it would
// refuse the same again.
var ErrRefused = errors.New("the API server refuses the write")

// Refused returns err as one that wraps ErrRefused too. Its text stays as it is.
func Refused(err error) error { return markedError{err, ErrRefused} }

// markedError is an error that wraps another one, which its text does not name.
type markedError struct{ err, as error }

func (m markedError) Error() string { return m.err.Error() }

func (m markedError) Unwrap() []error { return []error{m.as, m.err} }

// StateOf is what a store answers for the target: its Service, the objects that
// have a name of the target, and those that publish beside them: none for a Service with a
// selector, whose slices are those of Kubernetes. The order of the objects means nothing.
func StateOf(service Service, objects []*discoveryv1.EndpointSlice, target Target) State {
	state := State{Service: service}
	for _, object := range objects {
		if _, _, ours := target.ParseName(object.Name); !ours {
			if !service.HasSelector && len(object.Endpoints) > 0 && object.Labels[discoveryv1.LabelServiceName] == target.Service {
				state.Beside = append(state.Beside, toBeside(object, target))
			}
			continue
		}
		slice, refusal := ToSlice(object, target)
		if refusal != nil {
			state.Refused = append(state.Refused, *refusal)
			continue
		}
		state.Slices = append(state.Slices, slice)
	}
	slices.SortFunc(state.Slices, CompareSlices)
	slices.SortFunc(state.Refused, func(a, b Refusal) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(state.Beside, func(a, b ForeignSlice) int { return cmp.Compare(a.Name, b.Name) })
	return state
}

const (
	// mostPorts is one more than a target has.
	mostPorts = 101
	// mostOfText is one more than the texts that are ours have: zones, and values of labels.
	mostOfText = 64
)

// OwnFields returns a slice with nothing but what ToSlice reads of it, and without its
// endpoints: what others write into a slice has no bound of its own. Where there is more of
// a field than there should be, enough is left to see that.
func OwnFields(object *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	kept := &discoveryv1.EndpointSlice{AddressType: object.AddressType, Ports: object.Ports[:min(len(object.Ports), mostPorts)]}
	kept.Namespace, kept.Name, kept.ResourceVersion = object.Namespace, object.Name, object.ResourceVersion
	for _, label := range []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, LabelPool} {
		if value, ok := object.Labels[label]; ok {
			metav1.SetMetaDataLabel(&kept.ObjectMeta, label, value)
		}
	}
	for _, annotation := range []string{publishNotReady, corev1.EndpointsLastChangeTriggerTime} {
		if value, ok := object.Annotations[annotation]; ok {
			metav1.SetMetaDataAnnotation(&kept.ObjectMeta, annotation, cut(value))
		}
	}
	for _, owner := range object.OwnerReferences {
		if owner.Kind == "Service" && len(kept.OwnerReferences) < mostPorts {
			kept.OwnerReferences = append(kept.OwnerReferences, owner)
		}
	}
	return kept
}

// Reduce takes from endpoints what ToSlice does not read of them.
func Reduce(endpoints []discoveryv1.Endpoint) {
	for i := range endpoints {
		e := &endpoints[i]
		e.Addresses = e.Addresses[:min(len(e.Addresses), 2)]
		if e.Hostname != nil {
			e.Hostname = new("")
		}
		if e.NodeName != nil {
			e.NodeName = new("")
		}
		if e.TargetRef != nil {
			e.TargetRef = &corev1.ObjectReference{}
		}
		if e.Hints != nil {
			e.Hints = &discoveryv1.EndpointHints{}
		}
		if e.DeprecatedTopology != nil {
			e.DeprecatedTopology = map[string]string{"": ""}
		}
		if e.Zone != nil && len(*e.Zone) > mostOfText {
			e.Zone = new(cut(*e.Zone))
		}
	}
}

// cut cuts a text that is longer than any of ours.
func cut(text string) string { return text[:min(len(text), mostOfText)] }
