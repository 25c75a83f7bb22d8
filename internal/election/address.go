package election

import "net/netip"

// ListensOn says where this process answers the other replicas, for the Lease to
// tell them while it leads. It is called before Run.
func (e *Elector) ListensOn(address netip.AddrPort) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listening = address
}

// address is what the Lease says of that. A process that listens on every address is
// reached at the one from which it reaches the API server.
func (e *Elector) address() netip.AddrPort {
	e.mu.Lock()
	listening := e.listening
	e.mu.Unlock()
	if !listening.IsValid() || !listening.Addr().IsUnspecified() {
		return listening
	}
	return netip.AddrPortFrom(e.leases.client.LocalAddr(), listening.Port())
}
