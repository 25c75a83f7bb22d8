package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// progressPause is how often a command says what it is doing while that takes long.
const progressPause = 5 * time.Second

// oneReading has documents that were read once.
type oneReading struct{ set documents.Set }

// Set implements controller.Documents.
func (r oneReading) Set() documents.Set { return r.set }

// Changed implements controller.Documents: nothing changes.
func (r oneReading) Changed() <-chan struct{} { return nil }

// readOnce reads the documents once, for a command that ends then.
func readOnce(ctx context.Context) reader {
	return func(b *parts) (controller.Documents, func(context.Context) error, error) {
		if !b.config.Documents.Used() {
			return b.environment()
		}
		return oneReading{documentsNow(ctx, b.config, b.metrics)}, nil, nil
	}
}

// environment are the documents of the variables. What cannot be made of them is a mistake
// of the configuration, whatever the API servers say.
func (b *parts) environment() (set controller.Documents, watch func(context.Context) error, err error) {
	pool, binding, check := carried(b.config)
	if _, err = b.origin(pool); err == nil {
		_, err = b.checking(pool, check)
	}
	return oneReading{documents.OfVariables(pool, binding)}, nil, err
}

// paced passes on now and then what takes long.
func paced(say controller.Progress) controller.Progress {
	var mu sync.Mutex
	said := time.Now()
	return func(what string, done, all int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(said) >= progressPause {
			said = time.Now()
			say(what, done, all)
		}
	}
}

// assess looks at everything that is to be filled, and writes nothing. It says on standard
// error what takes long. Where the variables describe the only Service, what cannot be read
// of it is the error.
func (p Program) assess(ctx context.Context, c settings.Config) (*parts, controller.Assessment, error) {
	silent := p
	silent.Stderr = io.Discard // what is found is what the command prints
	b, err := silent.build(c, true, readOnce(ctx))
	if err != nil {
		return nil, controller.Assessment{}, commandline.Exit(ExitUsage, err)
	}
	a, err := b.server.Once(ctx, paced(func(what string, done, all int) {
		fmt.Fprintf(p.Stderr, "Still %s: %d of %d ...\n", what, done, all)
	}))
	if err == nil && a.Documents.Variables {
		err = unread(a.Assessed[0].Fills[0])
	}
	return b, a, ended(ctx, err)
}

// unread is why nothing can be said of the slices, nil if all is known.
func unread(f *controller.AssessedFill) error {
	if f.StoreErr != nil {
		return &controller.StoreError{Err: f.StoreErr}
	}
	return f.Undecided
}

// found is what an assessment found out.
func (b *parts) found(a controller.Assessment, started time.Time) report.Process {
	m := b.facts(started)()
	m.Snapshot, m.DryRun = &a.Snapshot, b.config.Run.DryRun || b.config.Store.Kind == settings.StoreMemory
	return m
}
