package inventory

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// record is a node as the JSON inventory writes it. It has one of the two keys for
// addresses: private_ip where there is one address, private_ips otherwise.
type record struct {
	Name       string       `json:"name"`
	ID         string       `json:"id,omitempty"`
	PrivateIP  netip.Addr   `json:"private_ip,omitzero"`
	PrivateIPs []netip.Addr `json:"private_ips,omitzero"`
	Zone       string       `json:"zone,omitempty"`
	Ready      bool         `json:"ready"`
	Worker     bool         `json:"worker"`
	Leaving    bool         `json:"leaving,omitempty"`
}

// Encode is the inverse of Decode, one line for each node. What Decode would
// not read back as the same nodes is an error; that includes Excluded and
// Detail, which the JSON inventory has no keys for.
func Encode(nodes []Node) ([]byte, error) {
	data := []byte("[")
	for i, node := range nodes {
		if node.Excluded || node.Detail != "" {
			return nil, fmt.Errorf("encode inventory: node %s: no key says that it is excluded, or has a detail", quote(node.Name))
		}
		r := record{Name: node.Name, ID: node.ID, Zone: node.Zone, Ready: node.Ready, Worker: node.Worker, Leaving: node.Leaving}
		if len(node.Addresses) == 1 {
			r.PrivateIP = node.Addresses[0]
		} else {
			r.PrivateIPs = append([]netip.Addr{}, node.Addresses...)
		}
		line, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode inventory: node %s: %w", quote(node.Name), err)
		}
		if i > 0 {
			data = append(data, ',')
		}
		data = append(append(data, '\n'), line...)
	}
	data = append(data, "\n]\n"...)
	back, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("encode inventory: %w", err)
	}
	for i, node := range nodes {
		if !slices.Equal(node.Addresses, back[i].Addresses) {
			return nil, fmt.Errorf("encode inventory: node %s: an address is listed twice", quote(node.Name))
		}
	}
	return data, nil
}
