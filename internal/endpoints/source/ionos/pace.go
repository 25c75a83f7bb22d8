package ionos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
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

// NodeReader lists the nodes whose addresses are looked for.
type NodeReader interface {
	Read(ctx context.Context) ([]inventory.Node, error)
}

// Credentials are a token or, without it, a user and the password.
type Credentials struct {
	Username        string
	Token, Password func() (string, error)
}

// Options say what to ask, and as whom.
type Options struct {
	// Credentials is called for every request: a user may get a token instead of a
	// password while the program runs.
	Credentials func() Credentials
	// APIURL is empty for the public API.
	APIURL       string
	DatacenterID string
	LANID        int
	// Nodes are the nodes; without it they are those of ClusterID, a managed
	// cluster, that Selector selects by what is known of their node pools.
	Nodes NodeReader
	// Ready, if set, reports whether Nodes can be read: until it did so once, the nodes are
	// those of ClusterID. An error fails the read.
	Ready func() (bool, error)
	// NodesChanged receives a value when what Nodes answers differs, and RunNodes is
	// what has to run for it; nil where there is no such thing.
	NodesChanged <-chan struct{}
	RunNodes     func(context.Context) error
	ClusterID    string
	// Selector is SECURED_NODE_SELECTOR; empty for every node of ClusterID.
	Selector string
	// PollInterval is how often Read is called when nothing changes. Between
	// two such calls the network cards are read again only for nodes that were
	// not there before. With 0 they are read at every call.
	PollInterval time.Duration
	// Subnets are what may be published, for Warnings.
	Subnets []netip.Prefix
	// Wrap goes around the transport that sends the requests, to watch them; it
	// may be nil. It must pass on what it gets.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Source finds the private addresses of nodes.
type Source struct {
	options Options
	client  *client
	changed chan struct{}
	// warnings are what is odd about the LAN, nil before it was read.
	warnings atomic.Pointer[[]string]

	// turn is held by the one read that asks. What follows belongs to it, and so does
	// what the client remembers.
	turn  chan struct{}
	nodes NodeReader
	// found is what the last look found, and failover the addresses that move.
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
	// wake is the signal that is to come, if any.
	wake *time.Timer
}

// New returns a source. It asks nothing and starts nothing.
func New(options Options) (*Source, error) {
	switch c := options.Credentials(); {
	case c.Token == nil && (c.Username == "" || c.Password == nil):
		return nil, errors.New("source ionos: there are no credentials; set IONOS_TOKEN, or IONOS_USERNAME and IONOS_PASSWORD")
	case options.Nodes == nil && options.ClusterID == "":
		return nil, errors.New("source ionos: there is no cluster; set SECURED_KUBECONFIG, or IONOS_CLUSTER_ID for a managed one")
	}
	s := &Source{options: options, nodes: options.Nodes, client: newClient(options), changed: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
	if options.Nodes != nil && options.Ready == nil {
		return s, nil
	}
	all := managedCluster{client: s.client}
	if options.Selector != "" {
		selector, err := labels.Parse(options.Selector)
		if err != nil {
			return nil, fmt.Errorf("source ionos: SECURED_NODE_SELECTOR=%s: %w", options.Selector, err)
		}
		all.selector = selector
	}
	s.nodes = all
	return s, nil
}

// Read returns every node with the addresses of its server on the LAN.
func (s *Source) Read(ctx context.Context) ([]inventory.Node, error) {
	nodes, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("source ionos: %w", err)
	}
	return nodes, nil
}

func (s *Source) read(ctx context.Context) ([]inventory.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.options.Ready != nil {
		switch ready, err := s.options.Ready(); {
		case err != nil:
			return nil, err
		case ready:
			s.nodes, s.options.Ready = s.options.Nodes, nil
		}
	}
	nodes, err := s.nodes.Read(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := s.look(ctx, nodes)
	if err != nil {
		return nil, err
	}
	resolved := resolve(nodes, s.found, s.failover, s.client.place)
	if pending > 0 {
		if s.wake != nil {
			s.wake.Stop()
		}
		s.wake = time.AfterFunc(pending, s.signal)
		for i, node := range nodes {
			if s.isNew(node) && len(resolved[i].Addresses) == 0 {
				resolved[i].Detail = join(node.Detail, "its network card was not looked for yet, to spare the API's rate limit")
			}
		}
	}
	return resolved, nil
}

// Changed receives a value when the next read will differ: when the nodes do, or
// when network cards that were not read to spare the rate limit may be read now.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Run runs what the nodes come from, and passes the signals of changes on, until ctx
// ends. Without it, Read works and Changed stays silent.
func (s *Source) Run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	var running sync.WaitGroup
	defer running.Wait()
	ended := make(chan error, 1)
	if s.options.RunNodes != nil {
		running.Go(func() { ended <- s.options.RunNodes(ctx) })
	}
	for {
		select {
		case <-s.options.NodesChanged:
			s.signal()
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Source) signal() { transport.Signal(s.changed) }

// RateLimit returns what the service said of its limits last, if it ever did.
func (s *Source) RateLimit() (RateLimit, bool) {
	if limits := s.client.limits.Load(); limits != nil {
		return *limits, true
	}
	return RateLimit{}, false
}

// TokenExpiry returns when the token that was used last expires, if it says so.
func (s *Source) TokenExpiry() (time.Time, bool) { return s.client.credentials.expires() }

// Warnings returns what is odd about the LAN, as far as it was read.
func (s *Source) Warnings() []string {
	return slices.Clone(*cmp.Or(s.warnings.Load(), new([]string)))
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
	now := time.Now()
	stale := s.at.IsZero() || now.Sub(s.at) >= s.options.PollInterval/2
	switch wait := s.pause(stale, now); {
	case !stale && !slices.ContainsFunc(nodes, s.isNew):
		return 0, nil
	case wait > 0 && !stale:
		return wait, nil
	case wait > 0 && s.failed != nil:
		return 0, &transport.RetryAfterError{Err: fmt.Errorf("not asked again for another %s: %w", wait.Round(time.Millisecond), s.failed), After: wait}
	}
	s.tried = now
	if s.failed = s.ask(ctx, nodes); s.failed != nil {
		return 0, s.failed
	}
	s.at, s.asked = time.Now(), map[inventory.Identity]bool{}
	for _, node := range nodes {
		s.asked[node.Identity()] = isWanted(node)
	}
	return 0, nil
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
	questions := []question{s.client.cards, s.client.servers}
	if slices.ContainsFunc(nodes, func(n inventory.Node) bool { return isWanted(n) && serverID(n) == "" }) {
		questions = questions[1:]
	}
	var found directory
	before := s.client.sent
	for _, ask := range questions {
		var err error
		if found, err = s.askTwice(ctx, nodes, ask); err != nil {
			return err
		}
		if !slices.ContainsFunc(found.cards, func(c card) bool { return c.ownerUnknown }) || found.answers(nodes) {
			break
		}
	}
	cost := s.client.sent - before
	if !due && found.grewFrom(s.found) {
		if err := s.readLAN(ctx); err != nil {
			return err
		}
	}
	s.found, s.requests = found, cost
	return nil
}

// question is a list of network cards that the API can be asked for.
type question func(context.Context) (directory, error)

// askTwice asks once more where a list of several pages misses a network card that was there
// before, or where there was no list before. When a server is deleted between two pages,
// the first one of the next page moves to the page that was read already.
func (s *Source) askTwice(ctx context.Context, nodes []inventory.Node, ask question) (directory, error) {
	before := s.client.sent
	found, err := ask(ctx)
	if err != nil || s.client.sent < before+2 || !found.lost(nodes, s.found) {
		return found, err
	}
	again, err := ask(ctx)
	if err != nil {
		return directory{}, err
	}
	return again.with(found), nil
}

// readLAN reads the properties of the LAN.
func (s *Source) readLAN(ctx context.Context) error {
	lan, err := s.client.network(ctx)
	if err != nil {
		return err
	}
	moving, err := lan.failoverAddresses()
	if err != nil {
		return fmt.Errorf("read LAN %d: %w", s.client.lan, err)
	}
	s.failover, s.lanAt = moving, time.Now()
	warnings := lan.warnings(s.client.lan, s.options.Subnets)
	s.warnings.Store(&warnings)
	return nil
}

// pause is how long the network cards should not be asked for: for new nodes at
// most half of the rate limit is used, and nothing that is not left.
func (s *Source) pause(stale bool, now time.Time) time.Duration {
	if s.options.PollInterval <= 0 || s.tried.IsZero() {
		return 0
	}
	gap := slowest
	limits, known := s.RateLimit()
	refill := limits.refill(max(s.requests, 1))
	if known {
		gap = max(fastest, 2*refill)
	}
	wait := s.tried.Add(min(gap, s.options.PollInterval/2)).Sub(now)
	if known && !stale && limits.Remaining < max(s.requests, 1) {
		wait = max(wait, limits.At.Add(refill).Sub(now))
	}
	return max(wait, 0)
}

// refill is how long the limit takes to allow that many requests more.
func (r RateLimit) refill(requests int) time.Duration {
	return time.Duration(requests) * time.Minute / time.Duration(max(r.Limit, 1))
}

// isNew reports whether a node needs an address and the last look was not for it.
func (s *Source) isNew(node inventory.Node) bool {
	return isWanted(node) && !s.asked[node.Identity()]
}

// isWanted reports whether the node's address can ever be published.
func isWanted(node inventory.Node) bool { return node.Worker && !node.Excluded }
