package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// backends are those that are kept, by the port of the Service that fills them.
type backends map[views.PortKey]*backend

// route is how -route is spelled. HAProxy's names hold no character that ends a command.
var route = regexp.MustCompile(`^([a-z0-9-]+)/([a-z0-9-]+):([a-z0-9-]*)=([A-Za-z0-9_.:-]+)$`)

// String implements flag.Value.
func (b backends) String() string { return "" }

// Set implements flag.Value.
func (b backends) Set(text string) error {
	found := route.FindStringSubmatch(text)
	if found == nil {
		return errors.New("is not NAMESPACE/SERVICE:PORT=BACKEND; write for example shop/web:http=web")
	}
	port := views.PortKey{Namespace: found[1], Service: found[2], Port: found[3]}
	for other, one := range b {
		if other == port || one.name == found[4] {
			return fmt.Errorf("%s/%s:%s fills the backend %s already; give each port and each backend one route", other.Namespace, other.Service, other.Port, one.name)
		}
	}
	b[port] = newBackend(found[4])
	return nil
}

// begin looks for ports without endpoints. No view tells of them, so a reconciler
// hears of them only where they had endpoints before. It returns when it was answered.
func (b backends) begin(ctx context.Context, client *views.Client) error {
	for {
		ports, err := client.ListPorts(ctx)
		if err == nil {
			return b.empty(ports)
		}
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, untouched, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retry):
		}
	}
}

// retry is the wait between two such lists; untouched begins what is printed then.
const (
	retry     = 500 * time.Millisecond
	untouched = "HAProxy stays as it is:"
)

// empty empties the backends of ports that are said to have no endpoints. A port that
// is not in the list, such as one of a Service that is not shown, empties nothing.
func (b backends) empty(ports []views.ServicePortView) error {
	for _, port := range ports {
		one := b[views.PortKey{Namespace: port.Metadata.Namespace, Service: port.Spec.ServiceName, Port: port.Spec.PortName}]
		if one == nil || len(port.Spec.Endpoints) > 0 {
			continue
		}
		if err := one.want(nil); err != nil {
			return err
		}
	}
	return nil
}

// Reconcile implements views.Reconciler. A port without a route is no concern of ours.
func (b backends) Reconcile(_ context.Context, port views.PortKey, endpoints []views.Endpoint) error {
	if one := b[port]; one != nil {
		return one.want(endpoints)
	}
	return nil
}

func (b backends) namespaces() []string {
	names := map[string]bool{}
	for port := range b {
		names[port.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}
