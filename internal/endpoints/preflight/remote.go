package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

var errNoWay = errors.New("the pool has no kubeconfig of the remote cluster; give it one, or remove REMOTE_SERVICE")

// PlacementAnswer is where the Pods of a remote Service are, or why that is not known.
type PlacementAnswer struct {
	*inventory.Placement

	Err error
	// Owner returns which Service of the namespace has a nodePort, empty where none has.
	Owner func(nodePort uint16) string
}

// follow asks where the Pods of all remote Services are that are followed, and judges that for
// each Service that follows one.
func (l *look) follow(ctx context.Context) (checks []Check) {
	if !l.looksAt(NodesRemote.area()) && !l.looksAt(ProbesAddress.area()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.Config.Source.Timeout)
	defer cancel()
	each(len(l.pools), l.pools, func(_ int, p *pool) {
		var remotes []inventory.RemoteService
		p.placed = make(map[inventory.RemoteService]PlacementAnswer)
		for _, g := range l.plan.Groups() {
			if g.Pool == p.document.Name && g.Remote != (inventory.RemoteService{}) && p.origin.Read != nil {
				remotes = append(remotes, g.Remote)
				p.placed[g.Remote] = PlacementAnswer{Err: errNoWay}
			}
		}
		if len(remotes) > 0 && p.origin.Follow != nil {
			p.placed = p.origin.Follow(ctx, remotes)
		}
	})
	for _, t := range l.plan.Targets {
		for _, u := range t.Uses {
			for _, p := range l.pools {
				if is, follows := p.placed[u.Remote]; follows && p.document.Name == u.Pool {
					checks = append(checks, about(t.Key.String(), len(l.plan.Targets) > 1, edit(judgePlaced(u.Use, is, p.nodes), u.Names(t.Key).Of))...)
				}
			}
		}
	}
	return checks
}

// judgePlaced judges what a use follows.
func judgePlaced(u assign.Use, is PlacementAnswer, nodes []inventory.Node) (checks []Check) {
	subject := "remote Service " + u.Remote.String()
	switch {
	case is.Err != nil:
		return []Check{split(NodesRemote, Fail, subject, "", is.Err.Error())}
	case !is.Found:
		return []Check{NodesRemote.fail(subject, "the Service does not exist, so no endpoint joins").remedied("create it, or correct REMOTE_SERVICE")}
	}
	for _, port := range u.Ports {
		if len(is.NodePorts) == 0 || slices.Contains(is.NodePorts, port.Number) {
			continue
		}
		c := NodesRemote.warn(subject, "port %d is not one of its nodePorts, which are %d", port.Number, is.NodePorts).remedied("correct TARGET_PORT, unless it is the hostPort of its Pods")
		if owner := is.Owner(port.Number); owner != "" {
			c.Result, c.Message = Fail, c.Message+"; Service "+owner+" of the namespace has it"
		}
		checks = append(checks, c)
	}
	if is.EveryNode(u.Check.Port) {
		return append(checks, NodesRemote.warn(subject, "has externalTrafficPolicy Cluster: each node forwards to its Pods, so following the Service has no effect").remedied("remove REMOTE_SERVICE, or set externalTrafficPolicy: Local"))
	}
	unknown := slices.DeleteFunc(slices.Clone(is.Ready), func(name string) bool {
		return slices.ContainsFunc(nodes, func(n inventory.Node) bool { return n.Name == name })
	})
	switch {
	case len(is.Ready) == 0:
		checks = append(checks, NodesRemote.warn(subject, "has no ready Pod on any node, so no endpoint joins").remedied("look at its Pods"))
	case len(unknown) > 0:
		c := NodesRemote.warn(subject, "has ready Pods on %s that the inventory does not list: %s", plural(len(unknown), "node"), strings.Join(unknown, ", "))
		c.Reason = string(inventory.UnknownNode)
		checks = append(checks, c.remedied(inventory.UnknownNode.Doc().Remedy))
	}
	if len(checks) == 0 {
		checks = append(checks, NodesRemote.ok(subject, "has ready Pods on %s", plural(len(is.Ready), "node")))
	}
	return checks
}

// onNodes are the candidates of a group with a ready Pod of the remote Service that it follows.
func (p *pool) onNodes(g assign.Group) (candidates []inventory.Candidate, left []Check) {
	is, follows := p.placed[g.Remote]
	if !follows || is.Err == nil && is.EveryNode(g.Check.Port) {
		return p.candidates, nil
	}
	for _, c := range p.candidates {
		if is.Err == nil && slices.Contains(is.Ready, c.Node.Name) {
			candidates = append(candidates, c)
			continue
		}
		left = append(left, ProbesAddress.skip(c.Node.Name+" "+c.Address.String(), "no ready Pod of remote Service %s is known on the node", g.Remote))
	}
	return candidates, left
}
