package xds

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// Following are the proxies of all fleets, by fleet and node.
func (s *Server) Following() []envoyconfig.ProxyState {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]envoyconfig.ProxyState, 0, len(s.clients))
	for c := range s.clients {
		if c.fleet != nil {
			all = append(all, c.following(s.traffic[c.fleet.name].Generation))
		}
	}
	slices.SortFunc(all, func(a, b envoyconfig.ProxyState) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), strings.Compare(a.Node, b.Node), a.Since.Compare(b.Since))
	})
	return all
}

// following says how far a proxy follows its fleet, which is sent that generation. It is
// called under the lock of the server.
func (c *client) following(generation int64) envoyconfig.ProxyState {
	f := c.fleet
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation < c.generation { // it was restored from a backup
		c.generation = 0
	}
	if generation > c.generation && len(f.waiting) == 0 && c.holds(f, envoyconfig.Clusters) && c.holds(f, envoyconfig.Listeners) && c.holds(f, envoyconfig.Routes) {
		c.generation = generation
	}
	one := envoyconfig.ProxyState{Client: c.name(), Node: c.node.GetId(), Since: c.since.UTC(), Generation: c.generation}
	for kind := range c.kinds {
		if r := c.kinds[kind].rejection(); r != nil {
			text := r.Text
			if len(r.Resources) == 1 && !strings.Contains(text, r.Resources[0]) {
				text = r.Resources[0] + ": " + text
			}
			one.Rejected = append(one.Rejected, envoyconfig.RejectedKind{Type: envoyconfig.Kind(kind).String(), Text: text})
		}
	}
	return one
}

// holds reports whether the proxy has acknowledged all resources of a kind, and that others are
// gone. To a cluster that is gone later nothing leads any more.
func (c *client) holds(f *fleet, kind envoyconfig.Kind) bool {
	versions := f.sent[kind].versions()
	for name, version := range versions {
		if c.kinds[kind].acked[name].version != version {
			return false
		}
	}
	return kind == envoyconfig.Clusters || c.kinds[kind].follows(versions)
}
