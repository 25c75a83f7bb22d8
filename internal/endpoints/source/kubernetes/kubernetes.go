package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Options say which cluster to watch, and which nodes of it are backends.
type Options struct {
	// Way is the access to the API server: SECURED_KUBECONFIG and
	// SECURED_KUBECTL_CONTEXT. The files need not be there yet, and may change at any
	// time.
	Way kube.Way
	// Selector is SECURED_NODE_SELECTOR; empty for every node without the label
	// or taint of a control plane.
	Selector string
	// Grace is how long nodes count as known after the watch closed; 5 s by
	// default. A watch is closed and opened every minute, in milliseconds.
	Grace time.Duration
	// Recheck is the time between two looks at the files of the kubeconfig; 5 s
	// by default.
	Recheck time.Duration
}

// answerTimeout bounds the wait for the first byte of a watch, and a list.
const answerTimeout = 20 * time.Second

// Source watches the nodes of one cluster. Its methods may be called at the
// same time.
type Source struct {
	client  *kube.Client
	recheck time.Duration
	changed chan struct{}
	cache   *nodeCache
	watch   *kube.Reflector
}

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
	options.Grace, options.Recheck = cmp.Or(options.Grace, 5*time.Second), cmp.Or(options.Recheck, 5*time.Second)
	client, err := kube.New(kube.Options{Way: options.Way, Timeout: answerTimeout})
	if err != nil {
		return nil, fmt.Errorf("kubernetes source: %w", err)
	}
	s := &Source{client: client, recheck: options.Recheck, changed: make(chan struct{}, 1)}
	s.cache = newCache(selector, options.Grace, func() { kube.Signal(s.changed) }, s.renew)
	s.watch = &kube.Reflector{
		Client: client, What: "nodes", Resource: kube.Nodes(), Store: s.cache,
		Object:   &corev1.Node{},
		Answered: s.answered, Opened: s.cache.connected, Ended: s.ended,
	}
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
func (s *Source) Expiry() kube.Expiry { return s.client.Expiry() }

// Changed receives a value when Read's answer has become another one.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Run watches until ctx ends, and then returns nil; nothing of it is left
// running but an exec plugin that does not end. Credentials that changed are used
// at once.
func (s *Source) Run(ctx context.Context) error {
	defer s.cache.expiry.Stop()
	defer s.client.Close()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { s.watch.Run(ctx) })
	_ = s.client.Refresh() // what cannot be read replaces nothing, and fails each request
	for used := s.client.Generation(); kube.Wait(ctx, s.recheck); {
		_ = s.client.Refresh()
		if is := s.client.Generation(); is != used {
			used = is
			s.renew()
		}
	}
	return nil
}

// renew asks for a complete list on a new connection: none of the time before an
// outage, or with other credentials, is used again.
func (s *Source) renew() {
	s.client.Reconnect()
	s.watch.ListAgain()
}

// ended notes the end of a watch. The connection of one that was silent may be
// broken.
func (s *Source) ended(silent bool) {
	if silent {
		s.client.Reconnect()
	}
	s.cache.disconnected()
}

// answered notes why a request failed, in a form that may be shown, and whether
// somebody has to act: where no request was sent, the kubeconfig cannot be used.
func (s *Source) answered(_ string, err error) {
	if err == nil {
		return
	}
	sent := new(kube.Error)
	final := !errors.As(err, &sent)
	switch {
	case apierrors.IsForbidden(err):
		final, err = true, inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; grant the user of SECURED_KUBECONFIG get, list and watch on nodes", err))
	case apierrors.IsUnauthorized(err):
		final, err = true, inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; the API server does not accept the credentials in SECURED_KUBECONFIG: renew them", err))
	}
	s.cache.failed(err, final)
}
