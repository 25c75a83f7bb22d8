package main

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// server is one server of a backend.
type server struct {
	address netip.AddrPort
	state   string
}

// The states of a server, as "set server ... state" spells them.
const (
	// ready takes requests, drain only those of sessions that stick to it, maint none.
	// Requests under way end as they would.
	ready, drain, maint = "ready", "drain", "maint"
)

// ours is how the names of our servers begin. Others of the same backend, such as
// those of the configuration, are never touched.
const ours = "ep_"

// serversOf translates endpoints. The name holds address and port, which are the
// identity of an endpoint, and no character that ends a command.
func serversOf(endpoints []views.Endpoint) (map[string]server, error) {
	servers := make(map[string]server, len(endpoints))
	for _, e := range endpoints {
		address, err := netip.ParseAddr(e.Address)
		if err != nil || address.Zone() != "" || e.TargetPort < 1 || e.TargetPort > 65535 {
			return nil, fmt.Errorf("endpoint %q, port %d: is no IP address with a port; correct it in the EndpointSlice", e.Address, e.TargetPort)
		}
		state := maint // down, and whatever later versions may say
		switch e.State {
		case views.Ready:
			state = ready
		case views.Draining:
			state = drain
		case views.Down:
		}
		name := fmt.Sprintf("%s%s_%d", ours, address, e.TargetPort)
		servers[name] = server{netip.AddrPortFrom(address, uint16(e.TargetPort)), state}
	}
	return servers, nil
}

// todo is what brings a backend from what it has to what it should have.
type todo struct {
	commands []command
	// gone are servers that take no requests once the commands are sent.
	gone []string
}

// plan compares. What takes requests comes before what stops taking them, so that the
// backend is never emptier than it has to be.
func plan(backend, options string, wanted, has map[string]server) todo {
	var t todo
	var last []command
	set := func(name, what, value string) command {
		return command{fmt.Sprintf("set server %s/%s %s %s", backend, name, what, value), ""}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		want := wanted[name]
		is, known := has[name]
		if !known {
			add := strings.TrimSpace(fmt.Sprintf("add server %s/%s %s %s", backend, name, want.address, options))
			t.commands = append(t.commands, command{add, "New server registered."})
			if slices.Contains(strings.Fields(options), "check") {
				t.commands = append(t.commands, command{fmt.Sprintf("enable health %s/%s", backend, name), ""})
			}
			is = server{want.address, maint} // as HAProxy adds it
		}
		if is.address != want.address { // changed by hand
			moved := set(name, "addr", fmt.Sprintf("%s port %d", want.address.Addr(), want.address.Port()))
			moved.answer = anything
			t.commands = append(t.commands, moved)
		}
		if is.state == want.state {
			continue
		}
		if want.state == ready {
			t.commands = append(t.commands, set(name, "state", ready))
		} else {
			last = append(last, set(name, "state", want.state))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if _, wanted := wanted[name]; wanted || !strings.HasPrefix(name, ours) {
			continue
		}
		if has[name].state != maint {
			last = append(last, set(name, "state", maint))
		}
		t.gone = append(t.gone, name)
	}
	t.commands = append(t.commands, last...)
	return t
}
