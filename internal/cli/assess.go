package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// progressPause is how often a command says what it is doing while that takes long.
const progressPause = 5 * time.Second

// read are documents that were read once.
type read struct{ set documents.Set }

// Set implements serve.Documents.
func (r read) Set() documents.Set { return r.set }

// Changed implements serve.Documents: nothing changes.
func (r read) Changed() <-chan struct{} { return nil }

// readOnce reads the documents once, for a command that ends then.
func readOnce(ctx context.Context) reading {
	return func(b *many) (serve.Documents, func(context.Context) error, error) {
		objects, err := objectsOf(ctx, b.config, b.metrics)
		if err != nil {
			return nil, nil, err
		}
		set := documents.Join(documents.Set{}, documentsOf(ctx, b.config), objects)
		return read{set}, func(context.Context) error { return nil }, nil
	}
}

// pacer passes on now and then what takes long.
type pacer struct {
	mu   sync.Mutex
	said time.Time
	say  func(what string, done, all int)
}

func newPacer(say func(what string, done, all int)) *pacer {
	return &pacer{said: time.Now(), say: say}
}

// tell implements serve.Progress.
func (p *pacer) tell(what string, done, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.said) >= progressPause {
		p.said = time.Now()
		p.say(what, done, all)
	}
}

// assessMany looks at everything that the documents choose, and writes nothing. It says on
// standard error what takes long.
func (p Program) assessMany(ctx context.Context, c config.Config) (*many, serve.Assessment, error) {
	silent := p
	silent.Stderr = io.Discard // what is found is what the command prints
	b, err := silent.buildMany(c, true, readOnce(ctx))
	if err != nil {
		return nil, serve.Assessment{}, &exitError{ExitUsage, err}
	}
	a, err := b.server.Assess(ctx, newPacer(func(what string, done, all int) {
		fmt.Fprintf(p.Stderr, "Still %s: %d of %d ...\n", what, done, all)
	}).tell)
	return b, a, ended(ctx, err)
}
