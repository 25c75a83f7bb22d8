package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/afero"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/placement"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// supply says how a pool is read.
func (b *parts) supply(pool *v1alpha1.EndpointPool) (controller.Supply, error) {
	return controller.Supply{
		// Like that of variables, but not what somebody else wrote into an API server.
		Free: free(pool.Spec.Source), Rules: rules(pool, access{loopback: b.config.Store.Kind == settings.StoreMemory && pool.UID == ""}),
		PollInterval: pool.Spec.PollInterval.Duration, Timeout: b.config.Source.Timeout,
		Make: func() (controller.Origin, error) { return b.origin(pool) },
	}, nil
}

// origin makes the source of a pool, with the credentials as they are now.
func (b *parts) origin(pool *v1alpha1.EndpointPool) (controller.Origin, error) {
	from := b.access(pool)
	made, err := b.newSource(pool, from)
	if err != nil {
		return controller.Origin{}, err
	}
	b.metrics.Reaches(pool.Name, made.access())
	out := controller.Origin{Source: made, Changed: made.changed, Run: b.warningOf(pool, made)}
	if made.cloud != nil {
		out.Warnings = made.cloud.Warnings
	}
	if err := b.follow(pool, from, &out); err != nil {
		return controller.Origin{}, err
	}
	return out, nil
}

// follow lets Services follow those of the remote cluster, where its nodes come from a kubeconfig.
// One that is not there yet is an error until it comes.
func (b *parts) follow(of *v1alpha1.EndpointPool, from access, out *controller.Origin) error {
	from.kubeconfig = cmp.Or(from.kubeconfig, from.awaited)
	if from.kubeconfig == "" || of.Spec.Source.Kubernetes == nil && of.Spec.Source.IONOS == nil {
		return nil
	}
	remote, err := placement.New(placement.Options{Way: remoteWay(from, b.metrics)})
	if err != nil {
		return err
	}
	run := out.Run
	out.Run = func(ctx context.Context) error {
		return beside(ctx, remote.Run, func(ctx context.Context) { _ = run(ctx) })
	}
	out.Follow = func(ctx context.Context, service inventory.RemoteService) pool.Placer {
		return remote.Follow(ctx, service)
	}
	return nil
}

// access tells of the way to the source.
func (o origin) access() metrics.Access {
	a := metrics.Access{Credentials: make(map[string]func() metrics.Credential)}
	if o.cloud != nil {
		a.Credentials[metrics.Token] = func() metrics.Credential {
			expires, _ := o.cloud.TokenExpiry()
			return metrics.Credential{Expires: expires}
		}
		a.RateLimit = func() (int, bool) {
			limit, known := o.cloud.RateLimit()
			return limit.Remaining, known
		}
	}
	if o.remote != nil {
		a.Credentials[metrics.Kubeconfig] = func() metrics.Credential { return credentialOf(o.remote.Expiry()) }
	}
	return a
}

// checking says how the endpoints of a group are checked and judged. It needs no
// credentials but the authorities of an HTTPS check.
func (b *parts) checking(pool *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
	h := pool.Spec.HealthCheck
	out := controller.GroupCheck{Policy: policy(pool, check), Timeout: h.Timeout.Duration}
	if check.Mode == v1alpha1.HealthCheckNone {
		return out, nil
	}
	from := b.access(pool)
	checker, err := newChecker(pool, check, from)
	if err != nil {
		return controller.GroupCheck{}, err
	}
	out.Prober, out.Trouble = b.metrics.Prober(pool.Name, checker), checker.Trouble
	out.Key = fmt.Sprintf("%#v %v", check, out.Timeout)
	if check.Mode == v1alpha1.HealthCheckHTTPS {
		out.Key += fmt.Sprintf(" %q %q %t", from.caFile, h.TLSServerName, *h.TLSInsecure)
	}
	if *h.HoldConnection {
		out.HoldPort = check.Port
	}
	return out, nil
}

// access is the way to a pool: what the variables give to theirs, or what a document names.
// Of variables only the memory store, which routes no traffic, accepts loopback addresses.
func (b *parts) access(pool *v1alpha1.EndpointPool) access {
	if b.config.Documents.Used() {
		return accessIn(b.config, pool)
	}
	c := b.config
	return access{
		kubeconfig: c.Secured.Kubeconfig, context: c.Secured.Context,
		username: c.IONOS.Username, apiURL: c.IONOS.APIURL, token: c.IONOS.Token, password: c.IONOS.Password,
		caFile: c.Health.TLSCAFile, environ: c.Command.Environment.Read, loopback: c.Store.Kind == settings.StoreMemory,
	}
}

// longestCredential bounds what is read of a credential, in bytes.
const longestCredential = 1 << 20

// accessIn is the access to a pool of a document: what the process gives to all, and the
// files in the folder that the pool names. A folder that cannot be read has none, and what
// needs one then says which.
func accessIn(c settings.Config, pool *v1alpha1.EndpointPool) access {
	// Whoever may write into the API server may not have programs run here by that.
	a := access{apiURL: c.IONOS.APIURL, noPrograms: pool.UID != ""}
	a.environ = func() ([]string, error) {
		now := a.now()
		if now.hangs != nil {
			return nil, now.hangs
		}
		environ, err := c.Command.Environment.With(map[string]settings.Secret{"IONOS_TOKEN": now.token, "IONOS_PASSWORD": now.password}).Read()
		return append(append(environ, "SECURED_SUBNET_CIDR="+strings.Join(pool.Spec.Subnets, ",")), now.named...), err
	}
	// Of credentials that are gone the last stay: who needs one says so, and no program runs without.
	var last atomic.Pointer[access]
	last.Store(&a)
	a.now = func() access {
		if now := accessIn(c, pool); now.hangs == nil && len(now.named) > 0 && lackingCredentials(c, pool, now) == nil {
			last.Store(&now)
		}
		return *last.Load()
	}
	if pool.Spec.Credentials == "" || c.Documents.CredentialsDir == "" {
		return a
	}
	folder := filepath.Join(c.Documents.CredentialsDir, pool.Spec.Credentials)
	a.caFile, a.awaited = filepath.Join(folder, "ca.crt"), filepath.Join(folder, "kubeconfig") // they may come later
	// Where the source lacks its files, the folder is not there yet, so nothing is known of ca.crt.
	a.mayLackCA = func() bool { return lackingCredentials(c, pool, accessIn(c, pool)) == nil }
	for _, name := range []string{"kubeconfig", "token", "username", "password"} {
		path := filepath.Join(folder, name)
		text, err := system.ReadFile(path, longestCredential)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch name { // who needs one that cannot be read says why
		case "kubeconfig":
			a.kubeconfig, a.named = path, append(a.named, "SECURED_KUBECONFIG="+path)
		case "token":
			a.token, a.named = settings.SecretFile(path), append(a.named, "IONOS_TOKEN_FILE="+path)
		case "username":
			a.username, a.named = strings.TrimSpace(string(text)), append(a.named, "IONOS_USERNAME="+strings.TrimSpace(string(text)))
		case "password":
			a.password, a.named = settings.SecretFile(path), append(a.named, "IONOS_PASSWORD_FILE="+path)
		}
		if errors.Is(err, system.ErrHangs) {
			a.hangs = err
			break // so do the others, and the rest of the program waits
		}
	}
	return a
}

// lackingCredentials says which file of its credentials a source cannot do without.
func lackingCredentials(c settings.Config, pool *v1alpha1.EndpointPool, a access) error {
	lacking, source := "", &pool.Spec.Source
	switch {
	case !c.Documents.Used():
	case source.Kubernetes != nil && a.kubeconfig == "":
		lacking = "kubeconfig"
	case source.IONOS == nil:
	case !a.token.IsSet() && (a.username == "" || !a.password.IsSet()):
		lacking = "token, nor username and password"
	case source.IONOS.ClusterID == "" && a.kubeconfig == "":
		lacking = "kubeconfig, and spec.source.ionos.clusterID is not set"
	}
	name, dir := pool.Spec.Credentials, c.Documents.CredentialsDir
	switch {
	case lacking == "":
		return nil
	case dir == "":
		return &controller.MissingCredentials{Message: fmt.Sprintf("CREDENTIALS_DIR is not set, so spec.credentials=%s names no folder; set it to the folder that holds the folder %s", name, name)}
	}
	return &controller.MissingCredentials{Message: fmt.Sprintf("the folder %s has no file %s; put it there, or correct spec.credentials=%s", filepath.Join(dir, name), lacking, name)}
}

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

// newSource makes the source of a pool by that access.
func (b *parts) newSource(document *v1alpha1.EndpointPool, a access) (origin, error) {
	if err := lackingCredentials(b.config, document, a); err != nil {
		return origin{}, err
	}
	m := b.metrics
	counted := func(kind settings.SourceKind, s pool.Source) (origin, error) {
		return origin{Source: m.Source(string(kind), s)}, nil
	}
	switch from := document.Spec.Source; {
	case from.Static != nil:
		s, err := newStatic(from.Static.Nodes)
		if err != nil {
			return origin{}, err
		}
		return counted(settings.SourceStatic, s)
	case from.File != nil:
		return counted(settings.SourceFile, source.File{FS: afero.NewOsFs(), Path: from.File.Path})
	case from.Command != nil:
		return counted(settings.SourceCommand, &source.Command{Path: from.Command.Path, Args: from.Command.Args, Environ: a.environ})
	case from.Kubernetes != nil:
		nodes, err := newKubernetes(from.Kubernetes.NodeSelector, a, m)
		if err != nil {
			return origin{}, err
		}
		return origin{Source: m.Source(string(settings.SourceKubernetes), nodes), changed: nodes.Changed(), run: nodes.Run, remote: nodes}, nil
	case from.IONOS != nil:
		return newIONOS(document, a, m)
	}
	return origin{}, fmt.Errorf("not read: the document of pool %s has a mistake, and no earlier version is known; correct the document", document.Name)
}

// newStatic makes the source of a fixed list of nodes.
func newStatic(nodes []v1alpha1.StaticNode) (source.Static, error) {
	var all source.Static
	for _, n := range nodes {
		node := inventory.Node{Name: n.Name, Zone: n.Zone, Ready: true, Worker: true}
		for _, text := range n.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, err
			}
			node.Addresses = append(node.Addresses, address)
		}
		all = append(all, node)
	}
	return all, nil
}

// newIONOS makes the source of addresses; the nodes are those of the remote
// cluster where there is a way to it, or as soon as there is one.
func newIONOS(pool *v1alpha1.EndpointPool, a access, m *metrics.Metrics) (origin, error) {
	from := pool.Spec.Source.IONOS
	if mistakes := settings.JudgeSelector(from.NodeSelector, a.kubeconfig); len(mistakes) > 0 {
		return origin{}, mistakes
	}
	options := ionos.Options{
		Credentials: a.cloud, APIURL: a.apiURL, DatacenterID: from.DatacenterID, LANID: int(from.LANID), ClusterID: from.ClusterID,
		Selector: from.NodeSelector, Subnets: rules(pool, a).Subnets, Wrap: m.Transport(metrics.ClientSource),
	}
	var nodes *kubernetes.Source
	if a.kubeconfig == "" && a.awaited != "" {
		now := a.now
		a.kubeconfig, options.Ready = a.awaited, func() (bool, error) {
			file := now().kubeconfig
			if mistakes := settings.JudgeSelector(from.NodeSelector, file); len(mistakes) > 0 {
				return false, mistakes // the nodes of the cluster have other labels
			}
			return file != "", nil
		}
	}
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
