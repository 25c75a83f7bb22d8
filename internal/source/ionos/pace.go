package ionos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	ionoscloud "github.com/ionos-cloud/sdk-go/v6"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/retryafter"
)

const (
	// maxRetryAfter bounds how long the service can keep us from asking.
	maxRetryAfter = time.Hour
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

// waitError is an error that says how long not to ask again.
type waitError struct {
	error
	wait time.Duration
}

// RetryAfter is how long the service wants to be left alone.
func (e *waitError) RetryAfter() time.Duration { return e.wait }

func (e *waitError) Unwrap() error { return e.error }

// limiter keeps requests back for as long as the service demands.
type limiter struct {
	credentials *credentials

	mu sync.Mutex
	// until is when the service may be asked again, refusal what it said.
	until   time.Time
	refusal error
}

// refused is the error while the service wants to be left alone.
func (l *limiter) refused() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wait := time.Until(l.until); wait > 0 {
		return &waitError{fmt.Errorf("not asked for another %s, as the API demanded: %w", wait.Round(time.Second), l.refusal), wait}
	}
	return nil
}

// explain turns what the SDK returned into our error, and remembers what the
// service demanded. The SDK's own text may hold the whole answer, and the address
// with all its parameters.
func (l *limiter) explain(about subject, answer *ionoscloud.APIResponse, err error) error {
	status := answer.SafeStatusCode()
	if status == 0 || status == http.StatusOK && err != nil {
		return fmt.Errorf("%s: %w", about.name, cause(err))
	}
	text := fmt.Sprintf("%s: the IONOS API answers %d %s", about.name, status, http.StatusText(status))
	if said := l.said(err); said != "" {
		text += " (" + said + ")"
	}
	if remedy := l.remedy(status, about.remedy); remedy != "" {
		text += "; " + remedy
	}
	said := http.Header{"Retry-After": answer.Header[headerRetryAfter], "Date": answer.Header["Date"]}
	wait := retryafter.Wait(said, time.Now(), maxRetryAfter)
	if wait <= 0 {
		return errors.New(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.refusal = time.Now().Add(wait), fmt.Errorf("%s; not asked again for %s", text, wait.Round(time.Second))
	return &waitError{l.refusal, wait}
}

// remedy says what to do about a status.
func (l *limiter) remedy(status int, unknown string) string {
	renew := "renew " + l.credentials.variable()
	switch {
	case status == http.StatusUnauthorized:
		if at, ok := l.credentials.expires(); ok && at.Before(time.Now()) {
			return fmt.Sprintf("the token expired at %s: %s", at.UTC().Format(time.RFC3339), renew)
		}
		return renew + ", which the API does not accept"
	case status == http.StatusForbidden:
		return unknown + ", or give the user of " + l.credentials.variable() + " the right to read it"
	case status == http.StatusNotFound:
		return unknown
	case status == http.StatusTooManyRequests:
		return "the contract's rate limit is used up: ask less often with SOURCE_POLL_INTERVAL"
	case status >= 300 && status < 400:
		return "redirects are not followed, because they would carry the token along: correct IONOS_API_URL"
	}
	return ""
}

// said is what the service says in its error: one line, cut where it is long, and
// nothing at all if it repeats a part of a secret.
func (l *limiter) said(err error) string {
	var failure ionoscloud.GenericOpenAPIError
	if !errors.As(err, &failure) {
		return ""
	}
	model, ok := failure.Model().(ionoscloud.Error)
	credential, err := l.credentials.current()
	if !ok || model.Messages == nil || err != nil {
		return ""
	}
	for _, message := range *model.Messages {
		if message.Message != nil && *message.Message != "" {
			return credential.harmless(*message.Message)
		}
	}
	return ""
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
	if s.failed = s.refresh(ctx, nodes); s.failed == nil {
		s.at, s.asked = time.Now(), wanted
	}
	return 0, s.failed
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
