package settings

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Protocol is a transport protocol, spelled as Kubernetes spells it.
type Protocol string

// The protocols of Service ports.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	SCTP Protocol = "SCTP"
)

// Port is one port of the endpoints.
type Port struct {
	// Name equals the name of the Service's port. It is empty only for the
	// port of TARGET_PORT, whose name is taken from the Service.
	Name     string
	Protocol Protocol
	Number   uint16
}

// String returns the port as the environment spells it: "http=8080" or
// "dns=53/UDP".
func (p Port) String() string {
	text := p.Name + "=" + strconv.Itoa(int(p.Number))
	if p.Protocol != TCP {
		text += "/" + string(p.Protocol)
	}
	return text
}

// Ports is a list of backend ports; names and pairs of number and protocol are
// unique in it.
type Ports []Port

// maxPorts is the limit of the EndpointSlice API.
const maxPorts = 100

// String returns the ports as the environment spells them.
func (p Ports) String() string { return join(p) }

// Decode implements envconfig.Decoder.
func (p *Ports) Decode(value string) error {
	ports, err := decodeList(value, parseTargetPort)
	if err == nil {
		err = uniquePorts(ports)
	}
	if err != nil {
		return err
	}
	*p = ports
	return nil
}

func parseTargetPort(text string) (Port, error) {
	const example = "write for example http=8080,dns=53/UDP"
	name, rest, named := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !named || name == "" {
		return Port{}, Problem{Rule: Quote(text) + " has no name", Remedy: example + ", or set TARGET_PORT alone to take the name from the Service"}
	}
	if err := dnsLabel(name); err != nil {
		return Port{}, Problem{Rule: "the port name " + Quote(name) + " is not a DNS label", Remedy: example}
	}
	digits, word, hasProtocol := strings.Cut(rest, "/")
	if !hasProtocol {
		word = string(TCP)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 16)
	if err != nil || number == 0 {
		return Port{}, Problem{Rule: "port " + name + " has no number from 1 to 65535", Remedy: example}
	}
	protocol := Protocol(strings.ToUpper(strings.TrimSpace(word)))
	switch protocol {
	case TCP, UDP, SCTP:
		return Port{Name: name, Protocol: protocol, Number: uint16(number)}, nil
	}
	return Port{}, Problem{Rule: "port " + name + " has an unknown protocol", Remedy: "write TCP, UDP or SCTP"}
}

// uniquePorts refuses what the API server would refuse, or what would make two
// ports of a Service one.
func uniquePorts(ports []Port) error {
	type socket struct {
		number   uint16
		protocol Protocol
	}
	var wrong []error
	names, sockets := map[string]bool{}, map[socket]string{}
	for _, port := range ports {
		if names[port.Name] {
			wrong = append(wrong, Problem{Rule: "two ports are called " + port.Name, Remedy: "give each the name of its Service port"})
		}
		names[port.Name] = true
		key := socket{port.Number, port.Protocol}
		if other, taken := sockets[key]; taken {
			wrong = append(wrong, Problem{Rule: fmt.Sprintf("%s and %s are both %d/%s", other, port.Name, port.Number, port.Protocol), Remedy: "remove one of them"})
		}
		sockets[key] = port.Name
	}
	if len(ports) > maxPorts {
		wrong = append(wrong, Problem{Rule: fmt.Sprintf("has %d ports, more than the %d of an EndpointSlice", len(ports), maxPorts), Remedy: "remove some"})
	}
	return errors.Join(wrong...)
}
