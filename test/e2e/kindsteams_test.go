package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
)

// tryBindings lets a team write bindings.
func (p *platform) tryBindings() {
	p.t.Helper()
	var all strings.Builder
	for name, a := range bindingAttempts() {
		p.try("by-"+name, a.attempt, netip.MustParseAddr(p.nodes[0].IP))
		fmt.Fprintf(&all, "---\napiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: by-%s, namespace: %s}\nspec: %s\n", name, p.namespace, a.binding)
	}
	p.write("", all.String())
}

// wantBindingsTried waits for what each of them comes to, when no node is up.
func (p *platform) wantBindingsTried() {
	p.t.Helper()
	for name, a := range bindingAttempts() {
		var got string
		p.until(func() bool {
			got = p.said("endpointbinding/by-"+name, "Accepted")
			return strings.HasPrefix(got, "False "+a.reason+": ") && strings.Contains(got, a.note)
		}, func() string { return fmt.Sprintf("%s: got %q, want %s with %q", name, got, a.reason, a.note) })
		if a.filled {
			p.wantStates("by-"+name, "blue", p.nodes, "down")
		} else if found := p.slicesOf(p.namespace, "by-"+name); len(found) > 0 {
			p.t.Errorf("%s: got slices %v, want none", name, found)
		}
	}
}

// bindingAttempt is an attempt by the spec of a binding. Reason and note are what the object
// says.
type bindingAttempt struct {
	binding string
	attempt
}

func bindingAttempts() map[string]bindingAttempt {
	return map[string]bindingAttempt{
		"forbidden": {"{pools: [{name: secret}]}", attempt{reason: "PoolNotAllowed", note: "may not use a pool secret"}},
		"missing":   {"{pools: [{name: absent}]}", attempt{reason: "PoolNotAllowed", note: "may not use a pool absent"}},
		"kubelet":   {"{pools: [{name: blue}], ports: [{port: 8081}]}", attempt{reason: "PortNotAllowed", note: "port 8081"}},
		"checked":   {"{pools: [{name: blue}], healthCheck: {port: 8081}}", attempt{reason: "PortNotAllowed", note: "port 8081"}},
		"following": {"{pools: [{name: blue, remoteService: {namespace: default, name: kubernetes}}]}", attempt{reason: "RemoteNamespaceNotAllowed", note: "remote namespace default"}},
		"misnamed":  {"{pools: [{name: blue}], ports: [{name: other, port: 8080}]}", attempt{reason: "PortMismatch", note: "other"}},
		"ambiguous": {"{pools: [{name: blue}]}", attempt{spec: withSecondPort, reason: "HealthCheckPortAmbiguous", note: "not exactly one TCP port"}},
		"selecting": {"{pools: [{name: blue}]}", attempt{spec: withSelector, reason: "ServiceHasSelector", note: "has a selector"}},
		"external":  {"{pools: [{name: blue}]}", attempt{spec: asExternalName, reason: "ServiceExternalName", note: "no endpoints"}},
		"taken":     {"{pools: [{name: blue}]}", attempt{slice: named("by-taken.blue"), reason: "SliceOwnedByOther", note: "by-taken.blue: ", filled: true}},
	}
}
