package ionos

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
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
	// says nothing of its limits, fastest that where the limits are generous.
	slowest, fastest = 2 * time.Second, time.Second
)

// RateLimit is what the service said about its limits in its last answer.
type RateLimit struct {
	// Limit is the requests allowed in a minute, Burst those at once, Remaining
	// those left.
	Limit, Burst, Remaining int
	// At is when the service said it.
	At time.Time
}

// rateLimit reads the limits from an answer, if it has them.
func rateLimit(header http.Header, now time.Time) (RateLimit, bool) {
	said := func(name string, fallback int) int {
		if value, err := strconv.Atoi(header.Get("X-RateLimit-" + name)); err == nil {
			return max(value, 0)
		}
		return fallback
	}
	limit := said("Limit", 0)
	return RateLimit{Limit: limit, Burst: said("Burst", 0), Remaining: said("Remaining", limit), At: now}, limit > 0
}

// refill is how long the limit takes to allow that many requests more.
func (r RateLimit) refill(requests int) time.Duration {
	return time.Duration(requests) * time.Minute / time.Duration(max(r.Limit, 1))
}

// lastLook is what the source found last, and when.
type lastLook struct {
	found    directory
	failover map[netip.Addr]bool
	// at is when the network cards were read, lanAt when the LAN was.
	at, lanAt time.Time
	// asked are the nodes that the last look was for, requests what it cost.
	asked    map[inventory.Identity]bool
	requests int
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
	wanted, now := wantedOf(nodes), time.Now()
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
	if s.failed = s.ask(ctx, nodes); s.failed == nil {
		s.at, s.asked = time.Now(), wanted
	}
	return 0, s.failed
}

// ask reads the LAN, if it is time to, and asks the cheapest question that has an
// answer for these nodes: the LAN's network cards or, where a node has no id, or is
// missing while a card does not say whose it is, the servers.
func (s *Source) ask(ctx context.Context, nodes []inventory.Node) error {
	due := time.Since(s.lanAt) >= lanInterval
	if due {
		if err := s.readLAN(ctx); err != nil {
			return err
		}
	}
	questions := []func(context.Context) (directory, int, error){s.client.cards, s.client.servers}
	if slices.ContainsFunc(nodes, func(n inventory.Node) bool { return isWanted(n) && serverID(n) == "" }) {
		questions = questions[1:]
	}
	var found directory
	cost := 0
	for _, question := range questions {
		var requests int
		var err error
		found, requests, err = s.askTwice(ctx, nodes, question)
		if cost += requests; err != nil {
			return err
		}
		if !found.hasUnknownOwner() || found.answers(nodes) {
			break
		}
	}
	if !due && found.grewFrom(s.found) {
		if err := s.readLAN(ctx); err != nil {
			return err
		}
	}
	s.found, s.requests = found, cost
	return nil
}

// askTwice asks once more where a list of several pages misses a network card that
// was there before: one that was deleted meanwhile moves another from the start of the
// next page to the end of the last.
func (s *Source) askTwice(ctx context.Context, nodes []inventory.Node, question func(context.Context) (directory, int, error)) (directory, int, error) {
	found, requests, err := question(ctx)
	if err != nil || requests < 2 || !found.lost(nodes, s.found) {
		return found, requests, err
	}
	again, more, err := question(ctx)
	return again.with(found), requests + more, err
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
