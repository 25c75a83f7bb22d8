package store

import (
	"bytes"
	"fmt"
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// maxListed is how many addresses of each kind the header line lists.
const maxListed = 8

// print writes one header line that says what changed, and the slice that was
// written as a YAML document.
func (s *Memory) print(write publish.Write, object *discoveryv1.EndpointSlice) error {
	if s.out == nil {
		return nil
	}
	document, err := publish.YAML(object)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "---\n# slice %s %sd: +%d -%d ~%d", write.Slice.Name, write.Operation,
		len(write.Added), len(write.Removed), len(write.Changed))
	list(&out, '+', write.Added)
	list(&out, '-', write.Removed)
	list(&out, '~', write.Changed)
	out.WriteByte('\n')
	out.Write(document)
	if _, err := s.out.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print slice %s: %w", write.Slice.Name, err)
	}
	return nil
}

// list writes the addresses, each behind its sign, at most maxListed.
func list(out *bytes.Buffer, sign byte, addresses []netip.Addr) {
	for i, address := range addresses {
		if i == maxListed {
			fmt.Fprintf(out, " %c...", sign)
			return
		}
		fmt.Fprintf(out, " %c%s", sign, address)
	}
}
