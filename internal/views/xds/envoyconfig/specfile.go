package envoyconfig

import (
	"fmt"
	"net/netip"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// fleetsFile is the file of fleets.
type fleetsFile struct {
	Fleets []entry `json:"fleets"`
}

// entry is a fleet of the file.
type entry struct {
	Name      string             `json:"name"`
	AccessLog v1alpha1.AccessLog `json:"accessLog,omitempty"`
	// Folder is where the proxies find the files of certificates.
	Folder    string         `json:"folder,omitempty"`
	Listeners []fileListener `json:"listeners"`
}

// fileListener is a listener of the file. Its port is that of the proxies themselves.
type fileListener struct {
	v1alpha1.Listener `json:",inline"`

	Address string `json:"address,omitempty"`
}

// FromFile reads the fleets of a file and reports every mistake.
func FromFile(text []byte) (map[string]Traffic, error) {
	var read fleetsFile
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return nil, told(fmt.Errorf("this is no list of fleets: %w", err))
	}
	all := make(map[string]Traffic, len(read.Fleets))
	var mistakes []error
	for i := range read.Fleets {
		one := &read.Fleets[i]
		namespace, name, found := strings.Cut(one.Name, "/")
		switch _, twice := all[one.Name]; {
		case !found || !isLabel(namespace) || !isLabel(name):
			mistakes = append(mistakes, fmt.Errorf("fleet %q has no name of the form NAMESPACE/NAME; write for example shop/edge", one.Name))
			continue
		case twice:
			mistakes = append(mistakes, fmt.Errorf("fleet %q is there twice; write its listeners into one entry", one.Name))
			continue
		}
		traffic, wrong := one.traffic(namespace)
		all[one.Name] = traffic
		for _, err := range wrong {
			mistakes = append(mistakes, fmt.Errorf("fleet %q: %w", one.Name, err))
		}
	}
	return all, told(mistakes...)
}

// traffic reads a fleet of the namespace.
func (e *entry) traffic(namespace string) (Traffic, []error) {
	traffic, mistakes := access(e.AccessLog)
	if traffic.Folder = e.Folder; e.Folder != "" && !path.IsAbs(e.Folder) {
		mistakes = append(mistakes, fmt.Errorf("folder %q is no path that begins with /; write the folder as the proxies see it", e.Folder))
	}
	used := make(map[int32]bool, len(e.Listeners))
	for i := range e.Listeners {
		l := &e.Listeners[i]
		one, wrong := listener(&l.Listener, namespace)
		if used[l.Port] {
			wrong = append(wrong, "is there twice; give each listener a port of its own")
		}
		used[l.Port] = true
		if l.Address != "" {
			var err error
			if one.Address, err = netip.ParseAddr(l.Address); err != nil || one.Address.Zone() != "" {
				wrong = append(wrong, fmt.Sprintf("has address %q; write an IP address of the proxy, or nothing for all of IPv4", l.Address))
			}
		}
		mistakes = append(mistakes, of(fmt.Sprintf("listener of port %d", l.Port), wrong)...)
		traffic.Listeners = append(traffic.Listeners, one)
	}
	return traffic, mistakes
}
