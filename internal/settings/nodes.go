package settings

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// StaticNode is one node of STATIC_NODES.
type StaticNode struct {
	Name string
	Addr netip.Addr
}

// String returns "name=address".
func (n StaticNode) String() string { return n.Name + "=" + n.Addr.String() }

// StaticNodes is a list of nodes; names are unique in it. Addresses need not
// be: the filter publishes one only once and reports the other.
type StaticNodes []StaticNode

// String returns the nodes as the environment spells them.
func (n StaticNodes) String() string { return join(n) }

// Decode implements envconfig.Decoder.
func (n *StaticNodes) Decode(value string) error {
	nodes, err := decodeList(value, parseStaticNode)
	if err == nil {
		err = uniqueNodes(nodes)
	}
	if err != nil {
		return err
	}
	*n = nodes
	return nil
}

func parseStaticNode(text string) (StaticNode, error) {
	const example = "write for example worker-1=10.0.0.11,worker-2=10.0.0.12"
	name, address, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return StaticNode{}, Problem{Rule: Quote(text) + " is not name=address", Remedy: example}
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsGraphic(r) || r == ' ' }) {
		return StaticNode{}, Problem{Rule: "the node name " + Quote(name) + " holds a space or a control character", Remedy: example}
	}
	addr, err := netip.ParseAddr(strings.TrimSpace(address))
	if err != nil {
		return StaticNode{}, Problem{Rule: Quote(address) + " of node " + name + " is not an IP address", Remedy: example}
	}
	if addr.Is4In6() || addr.Zone() != "" {
		return StaticNode{}, Problem{Rule: "node " + name + " has an address with a zone, or IPv4 written as IPv6", Remedy: "write " + addr.Unmap().WithZone("").String()}
	}
	return StaticNode{Name: name, Addr: addr}, nil
}

func uniqueNodes(nodes []StaticNode) error {
	var wrong []error
	seen := map[string]bool{}
	for _, node := range nodes {
		if seen[node.Name] {
			wrong = append(wrong, Problem{Rule: "two nodes are called " + node.Name, Remedy: "give each node a name of its own"})
		}
		seen[node.Name] = true
	}
	return errors.Join(wrong...)
}
