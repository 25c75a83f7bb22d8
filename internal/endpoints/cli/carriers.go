package cli

import (
	"context"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/folder"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// carriers are where documents come from: a folder, the API server, or both.
type carriers struct {
	folder  *folder.Watcher    // nil without DOCUMENTS_DIR
	kinds   *apiserver.Watcher // nil without DOCUMENTS_API
	changed chan struct{}

	mu             sync.Mutex
	files, objects documents.Set
	set            documents.Set
}

// newCarriers makes what the configuration names.
func newCarriers(c settings.Config, m *metrics.Metrics) (*carriers, error) {
	out := &carriers{changed: make(chan struct{}, 1)}
	var err error
	if c.Documents.Dir != "" {
		if out.folder, err = folder.New(folder.Options{Dir: c.Documents.Dir, Read: readFolder(c, folder.Look)}); err != nil {
			return nil, err
		}
	}
	if c.Documents.API {
		out.kinds, err = newKinds(c, m)
	}
	return out, err
}

func newKinds(c settings.Config, m *metrics.Metrics) (*apiserver.Watcher, error) {
	return apiserver.New(apiserver.Options{Way: localWay(c.Store, m, metrics.ClientDocuments), UserAgent: event.Controller, Bounds: boundsOf(c.Documents)})
}

// boundsOf are the bounds of documents in the API server.
func boundsOf(d settings.Documents) documents.Bounds {
	return documents.Bounds{Subnets: prefixes(d.BoundSubnets), Namespaces: d.BoundNamespaces, Ports: settings.ParsePorts(d.BoundPorts...)}
}

// bounded are the namespaces of the bounds by name, none where these are all.
func bounded(d settings.Documents) []string {
	if slices.Contains(d.BoundNamespaces, "*") {
		return nil
	}
	return d.BoundNamespaces
}

// none is what a carrier that is not used says: it has nothing, and that is certain.
func none() documents.Set { return documents.Set{Generation: 1, Complete: true} }

// Set implements controller.Documents.
func (c *carriers) Set() documents.Set {
	files, listed := none(), none()
	if c.folder != nil {
		files = c.folder.Set()
	}
	if c.kinds != nil {
		listed = c.kinds.Set()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if files.Generation != c.files.Generation || listed.Generation != c.objects.Generation {
		c.files, c.objects = files, listed
		c.set = documents.Join(c.set, files, listed)
	}
	return c.set
}

// Changed implements controller.Documents.
func (c *carriers) Changed() <-chan struct{} { return c.changed }

// Run keeps the documents current until ctx ends.
func (c *carriers) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	follow := func(run func(context.Context) error, changed <-chan struct{}) {
		running.Go(func() { _ = run(ctx) }) // it only ends with its context
		running.Go(func() { pass(ctx, changed, c.changed) })
	}
	if c.folder != nil {
		follow(c.folder.Run, c.folder.Changed())
	}
	if c.kinds != nil {
		follow(c.kinds.Run, c.kinds.Changed())
	}
	return nil
}

// pass passes on that something changed, until ctx ends.
func pass(ctx context.Context, changed <-chan struct{}, to chan<- struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			kube.Signal(to)
		}
	}
}
