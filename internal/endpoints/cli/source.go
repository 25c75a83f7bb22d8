package cli

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/spf13/afero"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// origin is a source, and what goes with it.
type origin struct {
	pool.Source
	// changed receives a value when the next read will differ, nil where the source
	// cannot know; run has to run beside it, nil where nothing has to.
	changed <-chan struct{}
	run     func(context.Context) error
	// cloud is the source where it is the IONOS Cloud, remote what watches the nodes
	// of the remote cluster; nil where there is none.
	cloud  *ionos.Source
	remote *kubernetes.Source
}

// free reports whether a read of the source costs nothing: no API is asked and no
// program is run, so no back-off is needed after an error.
func free(s v1alpha1.PoolSource) bool { return s.Static != nil || s.File != nil }

// newSource makes the source of a pool.
func newSource(document *v1alpha1.EndpointPool, a access, m *metrics.Metrics) (origin, error) {
	var kind settings.SourceKind
	var s pool.Source
	var err error
	switch from := document.Spec.Source; {
	case from.Static != nil:
		kind = settings.SourceStatic
		s, err = newStatic(from.Static.Nodes)
	case from.File != nil:
		kind = settings.SourceFile
		s, err = source.NewFile(source.FileOptions{FS: afero.NewOsFs(), Path: from.File.Path})
	case from.Command != nil:
		kind = settings.SourceCommand
		s, err = source.NewCommand(source.CommandOptions{Path: from.Command.Path, Args: from.Command.Args, Environ: a.environ})
	case from.Kubernetes != nil:
		nodes, err := newKubernetes(from.Kubernetes.NodeSelector, a, m)
		if err != nil {
			return origin{}, err
		}
		return origin{Source: m.Source(string(settings.SourceKubernetes), nodes), changed: nodes.Changed(), run: nodes.Run, remote: nodes}, nil
	case from.IONOS != nil:
		return newIONOS(document, a, m)
	default:
		err = fmt.Errorf("not read: the document of pool %s has a mistake, and no version before it is known; correct the document", document.Name)
	}
	if err != nil {
		return origin{}, err
	}
	return origin{Source: m.Source(string(kind), s)}, nil
}

// newStatic makes the source of a fixed list of nodes.
func newStatic(nodes []v1alpha1.StaticNode) (*source.Static, error) {
	var all []inventory.Node
	for _, n := range nodes {
		node := inventory.Node{Name: n.Name, Zone: n.Zone}
		for _, text := range n.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, err
			}
			node.Addresses = append(node.Addresses, address)
		}
		all = append(all, node)
	}
	return source.NewStatic(all)
}

// newIONOS makes the source of addresses; the nodes are those of the remote
// cluster where there is a way to it.
func newIONOS(pool *v1alpha1.EndpointPool, a access, m *metrics.Metrics) (origin, error) {
	from := pool.Spec.Source.IONOS
	if mistakes := settings.JudgeSelector(from.NodeSelector, a.kubeconfig); len(mistakes) > 0 {
		return origin{}, mistakes
	}
	options := ionos.Options{
		Username: a.username, APIURL: a.apiURL, DatacenterID: from.DatacenterID, LANID: int(from.LANID), ClusterID: from.ClusterID,
		Selector: from.NodeSelector, Subnets: rules(pool, a).Subnets, Wrap: m.Transport(metrics.ClientSource),
	}
	if a.token.IsSet() {
		options.Token = a.token.Read
	}
	if a.password.IsSet() {
		options.Password = a.password.Read
	}
	var nodes *kubernetes.Source
	if a.kubeconfig != "" {
		var err error
		if nodes, err = newKubernetes(from.NodeSelector, a, m); err != nil {
			return origin{}, err
		}
		options.Nodes, options.NodesChanged, options.RunNodes = nodes, nodes.Changed(), nodes.Run
		options.PollInterval = pool.Spec.PollInterval.Duration
	}
	cloud, err := ionos.New(options)
	if err != nil {
		return origin{}, err
	}
	return origin{Source: m.Source(string(settings.SourceIONOS), cloud), changed: cloud.Changed(), run: cloud.Run, cloud: cloud, remote: nodes}, nil
}

// newKubernetes makes the source that watches the nodes of the remote cluster.
func newKubernetes(selector string, a access, m *metrics.Metrics) (*kubernetes.Source, error) {
	return kubernetes.New(kubernetes.Options{Way: remoteWay(a, m), Selector: selector})
}
