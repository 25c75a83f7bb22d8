package ionos

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

const (
	// lanInterval is how old the LAN's properties may be. An address that joins a
	// failover group is seen sooner: it makes the LAN be read when it appears on
	// a network card, and is left out anyway when a second card has it. What is
	// left is an address that a single card had before the group was made, which
	// is rare, while a request at every poll would double their number.
	lanInterval = 10 * time.Minute
	// slowest is the pause between two looks for new nodes where the service
	// says nothing of its limits.
	slowest = 2 * time.Second
	// fastest is that pause where the limits are generous.
	fastest = time.Second
)

// sight is what was seen last, and when.
type sight struct {
	found directory
	at    time.Time
	// asked are the nodes that the last look was for, requests what it cost.
	asked    map[inventory.Identity]bool
	requests int

	failover map[netip.Addr]bool
	lanAt    time.Time

	// tried is when the service was asked last, with or without success, and
	// failed what came of it.
	tried  time.Time
	failed error
}

// look makes the directory recent enough for these nodes:
//
//	directory                              is read
//	older than half a poll interval        again, at most once a pause
//	younger, all nodes were there before   not
//	younger, a node is new                 again, at most once a pause; until
//	                                       then the others have what they had
//
// It returns how long until the network cards of new nodes may be read, or 0.
func (s *Source) look(ctx context.Context, nodes []inventory.Node) (pending time.Duration, err error) {
	wanted := wantedOf(nodes)
	now := time.Now()
	stale := s.at.IsZero() || now.Sub(s.at) >= s.poll/2
	switch wait := s.pause(stale, now); {
	case !stale && s.covers(wanted):
		return 0, nil
	case wait > 0 && !stale:
		return wait, nil
	case wait > 0 && s.failed != nil:
		return 0, &waitError{fmt.Errorf("not asked again for another %s: %w", wait.Round(time.Millisecond), s.failed), wait}
	}
	s.tried = now
	if s.failed = s.refresh(ctx, nodes); s.failed != nil {
		return 0, s.failed
	}
	s.at, s.asked = time.Now(), wanted
	return 0, nil
}

// refresh reads the LAN, if it is time to, and who is on it.
func (s *Source) refresh(ctx context.Context, nodes []inventory.Node) error {
	lanRead := s.lanAt.IsZero() || time.Since(s.lanAt) >= lanInterval
	if lanRead {
		if err := s.readLAN(ctx); err != nil {
			return err
		}
	}
	found, requests, err := s.search(ctx, nodes)
	if err != nil {
		return err
	}
	if !lanRead && found.grewFrom(s.found) {
		if err := s.readLAN(ctx); err != nil {
			return err
		}
	}
	s.found, s.requests = found, requests
	return nil
}

// search asks the cheapest question that has an answer for these nodes.
func (s *Source) search(ctx context.Context, nodes []inventory.Node) (directory, int, error) {
	requests := 0
	if !needsNames(nodes) {
		found, used, err := s.confirmed(nodes, func() (directory, int, error) { return s.searchLAN(ctx) })
		if err != nil || !found.veiled() || found.answers(nodes) {
			return found, used, err
		}
		requests = used
	}
	found, used, err := s.confirmed(nodes, func() (directory, int, error) { return s.searchServers(ctx) })
	return found, requests + used, err
}

func (s *Source) searchLAN(ctx context.Context) (directory, int, error) {
	documents, requests, err := s.api.nics(ctx)
	if err != nil {
		return directory{}, requests, err
	}
	found, err := directoryOfLAN(documents, s.place.lan)
	return found, requests, err
}

func (s *Source) searchServers(ctx context.Context) (directory, int, error) {
	documents, requests, err := s.api.servers(ctx)
	if err != nil {
		return directory{}, requests, err
	}
	found, err := directoryOfServers(documents, s.place.lan)
	return found, requests, err
}

// confirmed searches once more where a list of several pages misses a network
// card that was there before: one that was deleted meanwhile moves another from
// the start of the next page to the end of the last, where nobody sees it.
func (s *Source) confirmed(nodes []inventory.Node, search func() (directory, int, error)) (directory, int, error) {
	found, requests, err := search()
	if err != nil || requests == 1 {
		return found, requests, err
	}
	now, before := found.attached(), s.found.attached()
	for _, node := range nodes {
		id := serverID(node)
		if !now[id] && before[id] {
			again, more, err := search()
			return again.with(found), requests + more, err
		}
	}
	return found, requests, nil
}

// answers reports whether the server of every node was found.
func (d directory) answers(nodes []inventory.Node) bool {
	attached := d.attached()
	for _, node := range nodes {
		if isWanted(node) && !attached[serverID(node)] {
			return false
		}
	}
	return true
}

// pause is how long the network cards should not be asked for: for new nodes at
// most half of the rate limit is used, and nothing that is not left.
func (s *Source) pause(stale bool, now time.Time) time.Duration {
	if s.poll <= 0 || s.tried.IsZero() {
		return 0
	}
	gap := slowest
	limits, known := s.RateLimit()
	refill := limits.refill(max(s.requests, 1))
	if known {
		gap = max(fastest, 2*refill)
	}
	wait := s.tried.Add(min(gap, s.poll/2)).Sub(now)
	if known && !stale && limits.Remaining < max(s.requests, 1) {
		wait = max(wait, limits.At.Add(refill).Sub(now))
	}
	return max(wait, 0)
}

// covers reports whether the last look was for all of these nodes.
func (s *Source) covers(wanted map[inventory.Identity]bool) bool {
	for identity := range wanted {
		if !s.asked[identity] {
			return false
		}
	}
	return true
}

// isWanted reports whether the node's address can ever be published.
func isWanted(node inventory.Node) bool { return node.Worker && !node.Excluded }

// wantedOf are the nodes that need an address.
func wantedOf(nodes []inventory.Node) map[inventory.Identity]bool {
	wanted := map[inventory.Identity]bool{}
	for _, node := range nodes {
		if isWanted(node) {
			wanted[node.Identity()] = true
		}
	}
	return wanted
}

// needsNames reports whether a node can only be found by its name.
func needsNames(nodes []inventory.Node) bool {
	for _, node := range nodes {
		if isWanted(node) && serverID(node) == "" {
			return true
		}
	}
	return false
}

// readLAN reads the properties of the LAN.
func (s *Source) readLAN(ctx context.Context) error {
	document, err := s.api.lan(ctx)
	if err != nil {
		return err
	}
	failover, err := document.failover()
	if err != nil {
		return fmt.Errorf("read LAN %d: %w", s.place.lan, err)
	}
	s.failover, s.lanAt = failover, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = document.warnings(s.place.lan, s.subnets)
	return nil
}

// failover are the addresses that move between servers.
func (d lanDocument) failover() (map[netip.Addr]bool, error) {
	addrs := map[netip.Addr]bool{}
	for _, entry := range d.Properties.IPFailover {
		if entry.IP == nil || strings.TrimSpace(*entry.IP) == "" {
			continue
		}
		addr, err := netip.ParseAddr(strings.TrimSpace(*entry.IP))
		if err != nil {
			return nil, fmt.Errorf("the failover address %.64q is none", *entry.IP)
		}
		addrs[addr] = true
	}
	return addrs, nil
}

// warnings are what is odd about the LAN, given what may be published.
func (d lanDocument) warnings(id int, subnets []netip.Prefix) []string {
	var odd []string
	if d.Properties.Public {
		odd = append(odd, fmt.Sprintf("LAN %d is public; check IONOS_PRIVATE_LAN_ID", id))
	}
	for _, block := range []*string{d.Properties.IPv4, d.Properties.IPv6} {
		if block == nil {
			continue
		}
		prefix, err := netip.ParsePrefix(*block)
		if err != nil || len(subnets) == 0 {
			continue // it may be null, AUTO or empty: not given
		}
		same, overlap := false, false
		for _, subnet := range subnets {
			same = same || subnet.Addr().Is4() == prefix.Addr().Is4()
			overlap = overlap || subnet.Overlaps(prefix)
		}
		if same && !overlap {
			odd = append(odd, fmt.Sprintf("LAN %d has the addresses %s, none of which is inside SECURED_SUBNET_CIDR", id, prefix))
		}
	}
	return odd
}
