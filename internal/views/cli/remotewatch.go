package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// watch follows the server, and goes on where a stream ended. It gives up where the
// beginning fails, and where the server refuses for good.
func (r *remote) watch(ctx context.Context, take func(views.EventType, []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var complete atomic.Bool
	options := views.Options{
		Servers: []string{r.address}, HTTP: r.client, Service: r.service, Ready: r.ready,
		OnError: func(err error) {
			if !complete.Load() || refusedForGood(err) {
				cancel(err)
				return
			}
			fmt.Fprintln(r.Stderr, transport.Printable(fmt.Sprintf("The stream ended, asking again: %v", err)))
		},
	}
	if !r.all {
		options.Namespaces = []string{r.namespace}
	}
	if r.tokenFile != "" {
		options.Token = r.token
	}
	client, err := views.New(options)
	if err != nil {
		return err
	}
	late := time.AfterFunc(r.timeout, func() {
		if !complete.Load() {
			cancel(fmt.Errorf("%s has not sent everything within %v; give it more time by --timeout", r.address, r.timeout))
		}
	})
	defer late.Stop()
	if r.gather {
		err = client.WatchPorts(ctx, printing[views.ServicePortView](&complete, take))
	} else {
		err = client.Watch(ctx, printing[views.EndpointView](&complete, take))
	}
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return commandline.Exit(exitFailed, err)
}

// printing gives each event on as JSON.
func printing[T any](complete *atomic.Bool, take func(views.EventType, []byte) error) func(views.EventOf[T]) error {
	return func(event views.EventOf[T]) error {
		if event.Type == views.Synced {
			complete.Store(true)
			return nil
		}
		text, err := json.Marshal(event.View)
		if err != nil {
			return err
		}
		return take(event.Type, text)
	}
}

// refusedForGood reports whether asking again would change nothing.
func refusedForGood(err error) bool {
	var status *views.Status
	return errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden)
}
