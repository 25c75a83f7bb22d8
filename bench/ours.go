package bench

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Ours plans with internal/endpoints/publish and keeps the slices as a store would.
type Ours struct {
	state   publish.State
	target  publish.Target
	version int
	tally   Tally
}

// NewOurs returns a side that has no slice yet.
func NewOurs() *Ours {
	return &Ours{
		state: publish.State{Service: publish.Service{
			UID: serviceUID, Ports: []publish.ServicePort{{Name: portName, Protocol: publish.TCP, Port: 80, TargetPort: portNumber}},
		}},
		target: publish.Target{
			Namespace: namespace, Service: serviceName, SliceName: serviceName + "-remote", ManagedBy: "bench",
			Ports: []publish.Port{{Name: portName, Protocol: publish.TCP, Number: portNumber}}, MaxEndpoints: MaxPerSlice,
		},
	}
}

// Adopt makes slices that hold these backends. Both sides start with the same slices.
func (o *Ours) Adopt(fleet Fleet, groups [][]netip.Addr) {
	members := map[netip.Addr]inventory.Member{}
	for _, m := range Members(fleet) {
		members[m.Address] = m
	}
	o.state.Slices = nil
	for i, group := range groups {
		s := publish.Slice{
			Name: o.target.NameOf(publish.IPv4, i+1), Owner: serviceUID, Ports: o.target.Ports, Version: strconv.Itoa(i + 1),
		}
		for _, address := range group {
			s.Endpoints = append(s.Endpoints, members[address])
		}
		slices.SortFunc(s.Endpoints, inventory.CompareMembers)
		o.state.Slices = append(o.state.Slices, s)
	}
}

// Members returns what the guard would hand over for the fleet: sorted.
func Members(fleet Fleet) []inventory.Member {
	members := make([]inventory.Member, len(fleet))
	for i, b := range fleet {
		members[i] = inventory.Member{Address: b.Address(), State: inventory.StateReady, Zone: b.Zone()}
		if !b.Ready {
			members[i].State = inventory.StateDown
		}
	}
	slices.SortFunc(members, inventory.CompareMembers)
	return members
}

// Pass plans once and returns the writes, without keeping them.
func (o *Ours) Pass(members []inventory.Member) []publish.Write {
	desired, _ := publish.Desired(members, o.state, o.target)
	return publish.Diff(o.state.Slices, desired)
}

// Publish does one pass and keeps what it writes.
func (o *Ours) Publish(fleet Fleet) error {
	writes := o.Pass(Members(fleet))
	o.state.Slices = slices.Clone(o.state.Slices)
	for _, w := range writes {
		o.version++
		written := w.Slice
		written.Version = "w" + strconv.Itoa(o.version)
		i := slices.IndexFunc(o.state.Slices, func(s publish.Slice) bool { return s.Name == written.Name })
		switch {
		case w.Operation == publish.Create && i < 0:
			o.tally.Creates++
			o.state.Slices = append(o.state.Slices, written)
		case w.Operation == publish.Update && i >= 0:
			o.tally.Updates++
			o.state.Slices[i] = written
		default:
			return fmt.Errorf("%s slice %s: it is at place %d of those that exist", w.Operation, written.Name, i)
		}
		o.tally.Written += len(written.Endpoints)
	}
	slices.SortFunc(o.state.Slices, publish.CompareSlices)
	return nil
}

// Tally says what was written so far and what the slices are like.
func (o *Ours) Tally() Tally {
	t := o.tally
	t.Slices = len(o.state.Slices)
	for _, s := range o.state.Slices {
		t.Endpoints += len(s.Endpoints)
		t.Used += min(1, len(s.Endpoints))
	}
	return t
}
