package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

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

// untouched begins what is printed while nothing is known.
const untouched = "HAProxy stays as it is:"

// take takes what became of a port, also one without endpoints. Each event has all
// endpoints of the port. A port without a route is no concern of ours, and one that no
// event names, such as one of a Service that is not shown, empties nothing.
func (b backends) take(e views.PortEvent) error {
	if e.View == nil {
		return nil
	}
	one := b[views.PortKey{Namespace: e.View.Metadata.Namespace, Service: e.View.Spec.ServiceName, Port: e.View.Spec.PortName}]
	if one == nil {
		return nil
	}
	endpoints := e.View.Spec.Endpoints
	if e.Type == views.Deleted {
		endpoints = nil
	}
	if err := one.want(endpoints); err != nil {
		fmt.Fprintln(os.Stderr, untouched, err)
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
