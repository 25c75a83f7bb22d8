package ionos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// NodeReader lists the nodes whose addresses are looked for.
type NodeReader interface {
	Read(ctx context.Context) ([]inventory.Node, error)
}

// Options say what to ask, and as whom.
type Options struct {
	// Token is called for every request. Without it, Username and Password are
	// used.
	Token    func() (string, error)
	Username string
	Password func() (string, error)
	// APIURL is empty for the public API.
	APIURL       string
	DatacenterID string
	LANID        int
	// Nodes are the nodes; without it they are those of ClusterID, a managed
	// cluster, that Selector selects by what is known of their node pools.
	Nodes NodeReader
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
	Subnets   []netip.Prefix
	UserAgent string
	// Wrap goes around the transport that sends the requests, to watch them; it
	// may be nil. It must pass on what it gets.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Source finds the private addresses of nodes.
type Source struct {
	client *client
	nodes  NodeReader
	// nodesChanged and runNodes are those of Options.
	nodesChanged <-chan struct{}
	runNodes     func(context.Context) error

	place   place
	poll    time.Duration
	subnets []netip.Prefix
	changed chan struct{}

	// turn is held by the one read that asks. What follows belongs to it.
	turn chan struct{}
	lastLook
	wake *time.Timer

	// mu guards warnings, which others may ask for at any time.
	mu       sync.Mutex
	warnings []string
}

// New checks the options. It asks nothing and starts nothing.
func New(options Options) (*Source, error) {
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("source ionos: %w", err)
	}
	if options.UserAgent == "" {
		options.UserAgent = "ionos-endpointslice-controller"
	}
	client := newClient(options)
	s := &Source{
		client: client, nodes: options.Nodes, nodesChanged: options.NodesChanged, runNodes: options.RunNodes, poll: options.PollInterval, subnets: options.Subnets,
		place:   place{lan: options.LANID, datacenter: options.DatacenterID},
		changed: make(chan struct{}, 1), turn: make(chan struct{}, 1),
	}
	if s.nodes == nil {
		selected := managed{client: client}
		if options.Selector != "" {
			selector, err := labels.Parse(options.Selector)
			if err != nil {
				return nil, fmt.Errorf("source ionos: SECURED_NODE_SELECTOR=%s: %w", options.Selector, err)
			}
			selected.selector = selector
		}
		s.nodes = selected
	}
	return s, nil
}

// check returns all mistakes together.
func (o Options) check() error {
	var mistakes []error
	if o.Token == nil && (o.Username == "" || o.Password == nil) {
		mistakes = append(mistakes, errors.New("there are no credentials; set IONOS_TOKEN, or IONOS_USERNAME and IONOS_PASSWORD"))
	}
	if o.DatacenterID == "" {
		mistakes = append(mistakes, errors.New("the data centre is not given; set IONOS_DATACENTER_ID"))
	}
	if o.LANID < 1 {
		mistakes = append(mistakes, errors.New("the LAN is not given; set IONOS_PRIVATE_LAN_ID"))
	}
	if o.Nodes == nil && o.ClusterID == "" {
		mistakes = append(mistakes, errors.New("there is no cluster; set SECURED_KUBECONFIG, or IONOS_CLUSTER_ID for a managed one"))
	}
	if _, err := http.NewRequest(http.MethodGet, baseURL(o.APIURL), http.NoBody); err != nil { //nolint:noctx // it is never sent
		mistakes = append(mistakes, errors.New("IONOS_API_URL is not a URL"))
	}
	return errors.Join(mistakes...)
}

// Read returns every node with the addresses of its server on the LAN.
func (s *Source) Read(ctx context.Context) ([]inventory.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("source ionos: %w", err)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("source ionos: %w", ctx.Err())
	}
	nodes, err := s.nodes.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("source ionos: %w", err)
	}
	pending, err := s.look(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("source ionos: %w", err)
	}
	resolved := resolve(nodes, s.found, s.failover, s.place)
	if pending > 0 {
		s.signalAfter(pending)
		s.explainPending(nodes, resolved)
	}
	return resolved, nil
}

// readLAN reads the properties of the LAN.
func (s *Source) readLAN(ctx context.Context) error {
	lan, err := s.client.network(ctx)
	if err != nil {
		return err
	}
	moving, err := lan.failoverAddresses()
	if err != nil {
		return fmt.Errorf("read LAN %d: %w", s.place.lan, err)
	}
	s.failover, s.lanAt = moving, time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warnings = lan.warnings(s.place.lan, s.subnets)
	return nil
}

// explainPending says of nodes that were not looked for that nothing is known.
func (s *Source) explainPending(nodes, resolved []inventory.Node) {
	for i, node := range nodes {
		if isWanted(node) && !s.asked[node.Identity()] && len(resolved[i].Addresses) == 0 {
			resolved[i].Detail = join(node.Detail, "its network card was not looked for yet, to spare the API's rate limit")
		}
	}
}

// Changed receives a value when the next read will differ: when the nodes do, or
// when network cards that were not read to spare the rate limit may be read now.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Run runs what the nodes come from, and passes the signals of changes on, until ctx
// ends. Without it, Read works and Changed stays silent.
func (s *Source) Run(ctx context.Context) error {
	defer s.client.http.CloseIdleConnections()
	var running sync.WaitGroup
	defer running.Wait()
	ended := make(chan error, 1)
	if s.runNodes != nil {
		running.Go(func() { ended <- s.runNodes(ctx) })
	}
	for {
		select {
		case <-s.nodesChanged:
			s.signal()
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Source) signal() {
	select {
	case s.changed <- struct{}{}:
	default: // one is waiting
	}
}

// signalAfter replaces the signal that was to come, if any.
func (s *Source) signalAfter(wait time.Duration) {
	if s.wake != nil {
		s.wake.Stop()
	}
	s.wake = time.AfterFunc(wait, s.signal)
}

// RateLimit returns what the service said of its limits last, if it ever did.
func (s *Source) RateLimit() (RateLimit, bool) {
	if limits := s.client.transport.limits.Load(); limits != nil {
		return *limits, true
	}
	return RateLimit{}, false
}

// TokenExpiry returns when the token that was used last expires, if it says so.
func (s *Source) TokenExpiry() (time.Time, bool) { return s.client.transport.credentials.expires() }

// Warnings returns what is odd about the LAN, as far as it was read.
func (s *Source) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.warnings...)
}
