package guard

import "net/netip"

// Has reports whether the memory has a member with that address.
func (m Memory) Has(addr netip.Addr) bool { return m.pools[familyOf(addr)].member(addr) != nil }
