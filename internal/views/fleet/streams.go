package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// StreamsOptions say how endpoint-views is asked.
type StreamsOptions struct {
	// Address is a URL of https, or http on a loopback address. Its host may have several
	// addresses: one for each replica.
	Address string
	// AuthorityFile has the authority of the server's certificate; empty for those that
	// the system knows. TokenFile has the token of this client. Both are read again for
	// each round.
	AuthorityFile, TokenFile string
	// Interval is the time between two rounds; half a second where it is 0, so that a
	// rejection is known within a second.
	Interval time.Duration
}

const (
	defaultInterval = 500 * time.Millisecond
	roundTimeout    = 3 * time.Second
)

// Streams are those of all fleets.
type Streams struct {
	opts   StreamsOptions
	server *url.URL

	mu   sync.Mutex
	seen map[string]manifests.Streams // what all replicas say of each fleet
	// last is what the last round says of every fleet.
	last manifests.Streams
}

// NewStreams checks the options. It makes no request.
func NewStreams(opts StreamsOptions) (*Streams, error) {
	server, err := url.Parse(opts.Address)
	if err != nil || server.Host == "" || server.Scheme != "http" && server.Scheme != "https" {
		return nil, errors.New("the address of endpoint-views is no URL of scheme http or https; write for example https://endpoint-views.infra:443")
	}
	opts.Interval = cmp.Or(opts.Interval, defaultInterval)
	return &Streams{opts: opts, server: server}, nil
}

// Of returns the streams of a fleet.
func (s *Streams) Of(fleet string) manifests.Streams {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.last
	of.All, of.Served = s.seen[fleet].All, s.seen[fleet].Served
	if len(of.Served) == 0 {
		of.Served = s.seen[envoyconfig.Others(fleet)].Served
	}
	return of
}

// Run asks until ctx ends. It calls changed with each fleet of which something is new, and
// with "" where that is every fleet.
func (s *Streams) Run(ctx context.Context, changed func(ctx context.Context, fleet string)) {
	ticker := time.NewTicker(s.opts.Interval)
	defer ticker.Stop()
	for {
		for _, fleet := range s.round(ctx) {
			changed(ctx, fleet)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round asks each replica once, and returns the fleets of which something is new.
func (s *Streams) round(ctx context.Context) []string {
	bounded, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	replies := s.ask(bounded)
	if ctx.Err() != nil {
		return nil
	}
	next, missing, answered := make(map[string]manifests.Streams), "", 0
	for _, r := range replies {
		if r.err != nil {
			missing = cmp.Or(missing, r.err.Error())
			continue
		}
		answered++
		for _, one := range r.Streams {
			of := next[one.Client]
			of.All = append(of.All, one)
			next[one.Client] = of
		}
		for _, one := range r.Objects {
			of := next[one.Client]
			of.Served = append(of.Served, one)
			next[one.Client] = of
		}
	}
	for _, of := range next {
		slices.SortFunc(of.All, func(a, b envoyconfig.ProxyState) int {
			return cmp.Or(strings.Compare(a.Node, b.Node), a.Since.Compare(b.Since))
		})
	}
	return s.take(next, missing, answered)
}

// take keeps what was heard, and returns of which fleets something is new. Where a replica
// answers no more, or again, these are all.
func (s *Streams) take(next map[string]manifests.Streams, missing string, answered int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changed []string
	if !s.last.Asked || (missing == "") != (s.last.Missing == "") || (answered == 0) != (s.last.Answered == 0) {
		changed = []string{""}
	}
	for _, of := range []map[string]manifests.Streams{next, s.seen} {
		for fleet := range of {
			if !reflect.DeepEqual(next[fleet], s.seen[fleet]) {
				if fleet == envoyconfig.Others(fleet) {
					fleet = ""
				}
				changed = append(changed, fleet)
			}
		}
	}
	s.seen, s.last = next, manifests.Streams{Asked: true, Answered: answered, Missing: missing}
	slices.Sort(changed)
	return slices.Compact(changed)
}

// ask asks all replicas at a time.
func (s *Streams) ask(ctx context.Context) []answer {
	addresses, err := net.DefaultResolver.LookupHost(ctx, s.server.Hostname())
	if err != nil {
		return []answer{{err: fmt.Errorf("%s: %w", s.server.Hostname(), err)}}
	}
	slices.Sort(addresses) // so that the same is said in the same order
	client, err := s.client()
	if err != nil {
		return []answer{{err: fmt.Errorf("%s: %w", s.server.Host, err)}}
	}
	client.most = longestAnswers / len(addresses) // there is one, or LookupHost failed
	defer client.http.CloseIdleConnections()
	replies := make([]answer, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		asking.Go(func() {
			said, err := client.ask(ctx, address)
			if replies[i] = said; err != nil {
				replies[i].err = fmt.Errorf("%s: ask endpoint-views: %w", address, err)
			}
		})
	}
	asking.Wait()
	return replies
}
