package inventory

import "slices"

// RemoteService names a Service of the remote cluster. The zero value names none.
type RemoteService struct{ Namespace, Name string }

// String returns namespace/name, and an empty text for the zero value.
func (s RemoteService) String() string {
	if s == (RemoteService{}) {
		return ""
	}
	return s.Namespace + "/" + s.Name
}

// Placement is one complete answer of the remote cluster about one Service: which nodes
// have Pods of it. It is not changed any more.
type Placement struct {
	// Ready are the names of the nodes with a Pod that is ready and does not end, sorted.
	Ready []string
	// Ending are the names of the nodes whose Pods all end and still serve, sorted.
	Ending []string
	// Found says that the Service is there.
	Found bool
	// Local says that its externalTrafficPolicy is Local.
	Local bool
	// NodePorts are the ports that kube-proxy opens for it at the nodes.
	NodePorts []uint16
}

// EveryNode reports whether the Service forwards from every node what comes in at the port,
// so that it does not matter where its Pods are. Port 0 is any node port of the Service.
func (p *Placement) EveryNode(port uint16) bool {
	return p.Found && !p.Local && (slices.Contains(p.NodePorts, port) || port == 0 && len(p.NodePorts) > 0)
}
