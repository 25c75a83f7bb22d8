package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// Options say which cluster to watch, and which nodes of it are backends.
type Options struct {
	// Way is the access to the API server: SECURED_KUBECONFIG and
	// SECURED_KUBECTL_CONTEXT. The files need not be there yet, and may change at any
	// time.
	Way kubeapi.Way
	// Selector is SECURED_NODE_SELECTOR; empty for every node without the label
	// or taint of a control plane.
	Selector string
	// Grace is how long nodes count as known after the watch closed; 5 s by
	// default. A watch is closed and opened every few minutes, in milliseconds.
	Grace time.Duration
	// Recheck is the time between two looks at the files of the kubeconfig; 5 s
	// by default.
	Recheck time.Duration
}

// Source watches the nodes of one cluster. Its methods may be called at the
// same time.
type Source struct {
	client  *kubeapi.Client
	recheck time.Duration
	changed chan struct{}
	cache   *nodeCache
	// notBefore is when the server wants to be asked again; only Run uses it.
	notBefore time.Time
}

// errStopped says that we ended the session; it is no failure.
var errStopped = errors.New("the session is over")

// New checks the options. It reads no file and sends no request.
func New(options Options) (*Source, error) {
	var selector labels.Selector
	if options.Selector != "" {
		parsed, err := labels.Parse(options.Selector)
		if err != nil {
			return nil, fmt.Errorf("kubernetes source: SECURED_NODE_SELECTOR=%s: %w", options.Selector, err)
		}
		selector = parsed
	}
	if options.Grace <= 0 {
		options.Grace = 5 * time.Second
	}
	if options.Recheck <= 0 {
		options.Recheck = 5 * time.Second
	}
	client, err := kubeapi.New(kubeapi.Options{Way: options.Way, Timeout: answerTimeout})
	if err != nil {
		return nil, fmt.Errorf("kubernetes source: %w", err)
	}
	s := &Source{client: client, recheck: options.Recheck, changed: make(chan struct{}, 1)}
	s.cache = newCache(selector, options.Grace, func() { kubeapi.Signal(s.changed) })
	return s, nil
}

// Read returns the nodes that the watch has sent. It waits for the first
// complete list, and is an error when that is late or refused, and when the
// watch has been closed for longer than the grace.
func (s *Source) Read(ctx context.Context) ([]inventory.Node, error) {
	if err := s.cache.await(ctx); err != nil {
		return nil, fmt.Errorf("remote cluster: %w", err)
	}
	nodes, err := s.cache.list()
	if err != nil {
		return nil, fmt.Errorf("remote cluster: %w", err)
	}
	return nodes, nil
}

// Expiry returns when the credential in use ends. It is not known before Run has
// read it.
func (s *Source) Expiry() kubeapi.Expiry { return s.client.Expiry() }

// Changed receives a value when Read's answer has become another one.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Run watches until ctx ends, and then returns nil; nothing of it is left
// running but an exec plugin that does not end.
func (s *Source) Run(ctx context.Context) error {
	defer s.cache.expiry.Stop()
	defer s.client.Close()
	var pauses pauses
	for ctx.Err() == nil {
		started, lists := time.Now(), s.cache.received()
		s.session(ctx)
		pause := pauses.after(time.Since(started), s.cache.received() > lists)
		kubeapi.Wait(ctx, pause/2+rand.N(pause))
	}
	return nil
}

// pauses are how long to wait after a session, before jitter, in turn; zero before
// the first.
type pauses struct{ cheap, costly time.Duration }

// after returns the pause after a session that took so long. A server that is away
// is asked again within a second and a half. The pause grows further for one that
// answers with a complete list and then cuts the stream.
func (p *pauses) after(took time.Duration, listed bool) time.Duration {
	if took > 10*pauseMax {
		p.cheap = 0
	}
	if took > longEnough {
		p.costly = 0
	}
	p.cheap = min(max(pauseMin, 2*p.cheap), pauseMax)
	if listed {
		p.costly = min(max(pauseMin, 2*p.costly), pauseList)
	}
	return max(p.cheap, p.costly)
}

// session runs one session with the credentials as they are now, and ends it
// when they change or the watch is silent.
func (s *Source) session(ctx context.Context) {
	if err := s.client.Refresh(); err != nil {
		s.cache.failed(err, true)
		return
	}
	generation := s.client.Generation()
	// No connection of the time before an outage is used again.
	defer s.client.Reconnect()
	one := &session{client: s.client, cache: s.cache, notBefore: s.notBefore}
	one.touch()
	ctx, stop := context.WithCancelCause(ctx)
	var supervising sync.WaitGroup
	supervising.Go(func() {
		for kubeapi.Wait(ctx, s.recheck) {
			_ = s.client.Refresh() // what cannot be read replaces nothing
			if one.silent() || s.client.Generation() != generation {
				stop(errStopped)
			}
		}
	})
	one.run(ctx)
	stop(errStopped)
	supervising.Wait()
	s.notBefore = one.notBefore
}
