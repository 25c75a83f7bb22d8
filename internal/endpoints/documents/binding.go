package documents

import (
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// maxPools is how many pools fill one Service.
const maxPools = 4

// checkBinding holds a binding against the rules.
func (w *walk) checkBinding(s *v1alpha1.EndpointBindingSpec) {
	const pools = "spec.pools"
	if !w.has("spec") {
		w.missing("spec", "write spec.pools")
		return
	}
	if w.required(pools) {
		w.count(pools, len(s.Pools), 1, maxPools)
	}
	seen := map[string]bool{}
	for i, name := range s.PoolNames() {
		if r, of := s.Pools[i].RemoteService, fmt.Sprintf("%s[%d].remoteService", pools, i); r != nil {
			w.label(of+".namespace", r.Namespace)
			w.label(of+".name", r.Name)
		}
		at := fmt.Sprintf("%s[%d].name", pools, i)
		if !w.required(at) {
			continue
		}
		w.poolName(at, name, "write the name of a pool: it has at most 40 characters")
		if seen[name] {
			w.noteValue(at, name, problem{"is in the list twice", "remove one of them"})
		}
		seen[name] = true
	}
	w.checkBindingPorts(s.Ports)
	w.oneOf("spec.mode", string(s.Mode), []string{"Publish", "DryRun"})
	if c := s.HealthCheck; c != nil {
		w.checkBindingHealth(s, c)
	}
	if s.Adopt == "" {
		return
	}
	if w.text("spec.adopt", s.Adopt, 1, 243) {
		w.form("spec.adopt", s.Adopt, settings.FormName)
	}
	if len(s.Pools) > 1 {
		w.noteValue("spec.adopt", s.Adopt, problem{"is set with several pools, and a slice belongs to one", "remove it, or bind one pool first and add the others later"})
	}
}

func (w *walk) checkBindingHealth(s *v1alpha1.EndpointBindingSpec, c *v1alpha1.BindingHealthCheck) {
	const path = "spec.healthCheck"
	w.checkRequest(path, request{c.Mode, c.Port, c.Path, c.Host, c.ExpectedStatus, 256})
	if strings.Contains(c.Path, "?") && w.sound(path+".path") {
		w.noteValue(path+".path", c.Path, problem{"holds a query", "write the path alone"})
	}
	if c.Port != nil || c.Mode == v1alpha1.HealthCheckNone || len(s.Ports) == 0 || !w.sound(path) || !w.sound("spec.ports") {
		return
	}
	if tcp := TCPPorts(s.Ports); tcp != 1 {
		w.missing(path+".port", fmt.Sprintf("write the TCP port to check: spec.ports has %d of them", tcp))
	}
}

// TCPPorts counts the ports that a check can use.
func TCPPorts(ports []v1alpha1.BindingPort) (count int) {
	for _, port := range ports {
		if port.Protocol == v1alpha1.ProtocolTCP {
			count++
		}
	}
	return count
}

// checkBindingPorts refuses what the API server would refuse, or what would make two
// ports of a Service one.
func (w *walk) checkBindingPorts(ports []v1alpha1.BindingPort) {
	w.count("spec.ports", len(ports), 0, 100)
	type socket struct {
		number   int32
		protocol v1alpha1.Protocol
	}
	names, sockets := map[string]bool{}, map[socket]bool{}
	for i, port := range ports {
		at := fmt.Sprintf("spec.ports[%d]", i)
		if !w.required(at + ".port") {
			continue
		}
		w.number(at+".port", &port.Port, 1, 65535)
		w.oneOf(at+".protocol", string(port.Protocol), []string{"TCP", "UDP", "SCTP"})
		switch {
		case port.Name == "" && len(ports) > 1:
			w.required(at + ".name")
		case port.Name == "":
		case names[port.Name]:
			w.noteValue(at+".name", port.Name, problem{"is the name of another port of the list", "give each the name of its Service port"})
		default:
			w.form(at+".name", port.Name, settings.FormLabel)
		}
		names[port.Name] = true
		if key := (socket{port.Port, port.Protocol}); sockets[key] && w.sound(at) {
			w.note(at, problem{fmt.Sprintf("is %d/%s again", port.Port, port.Protocol), "remove one of them"})
		} else {
			sockets[key] = true
		}
	}
}
