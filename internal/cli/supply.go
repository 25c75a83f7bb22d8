package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents/variables"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/files"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// shared are the variables of the process that what pools make needs too.
func shared() []string {
	return []string{"SOURCE_TIMEOUT", "INVENTORY_COMMAND_ENV", "IONOS_API_URL", "HEALTH_CHECK_CONCURRENCY", "PATH", "HOME"}
}

// supply says how a pool is read.
func (b *many) supply(pool *v1alpha1.EndpointPool) (serve.Supply, error) {
	s := serve.Supply{
		Free:         pool.Spec.Source.Static != nil || pool.Spec.Source.File != nil,
		PollInterval: pool.Spec.PollInterval.Duration, Timeout: b.config.Source.Timeout,
	}
	for _, subnet := range pool.Spec.Subnets {
		prefix, err := netip.ParsePrefix(subnet)
		if err != nil {
			return serve.Supply{}, err
		}
		s.Rules.Subnets = append(s.Rules.Subnets, prefix)
	}
	s.Make = func() (serve.Origin, error) { return b.origin(pool) }
	return s, nil
}

// origin makes the source of a pool, with the credentials as they are now.
func (b *many) origin(pool *v1alpha1.EndpointPool) (serve.Origin, error) {
	if pool.Spec.Source == (v1alpha1.PoolSource{}) {
		return serve.Origin{}, fmt.Errorf("not read: the document of pool %s has a mistake, and no version before it is known; correct the document", pool.Name)
	}
	if fixed := pool.Spec.Source.Static; fixed != nil {
		nodes, err := fixedNodes(fixed.Nodes)
		return serve.Origin{Source: nodes}, err
	}
	if err := b.lackingCredentials(pool); err != nil {
		return serve.Origin{}, err
	}
	c, err := b.configOf(pool, resolve.Check{Mode: v1alpha1.HealthCheckNone})
	if err != nil {
		return serve.Origin{}, err
	}
	// Whoever may write into the API server may not have programs run here by that.
	c.Secured.NoPrograms = pool.UID != ""
	made, err := newSource(c, b.metrics)
	if err != nil {
		return serve.Origin{}, err
	}
	b.seen.Reaches(pool.Name, made.access())
	out := serve.Origin{Source: b.metrics.Source(string(c.Source.Kind), made), Changed: made.changed, Run: b.warningOf(pool, made)}
	if made.cloud != nil {
		out.Warnings = made.cloud.Warnings
	}
	return out, nil
}

// access tells of the way to the source.
func (o origin) access() metrics.Access {
	a := metrics.Access{
		TokenExpiry: o.tokenExpiry, RateLimit: o.rateLimit,
		Credential: func() metrics.Credential { return credentialOf(o.remoteExpiry()) },
	}
	if o.cloud != nil {
		a.Warnings = o.cloud.Warnings
	}
	return a
}

// checking says how the endpoints of a group are checked and judged. It needs no
// credentials but the authorities of an HTTPS check.
func (b *many) checking(pool *v1alpha1.EndpointPool, check resolve.Check) (serve.Checking, error) {
	checked := pool.DeepCopy()
	checked.Spec.Source = v1alpha1.PoolSource{File: &v1alpha1.FileSource{Path: "/dev/null"}}
	c, err := b.configOf(checked, check)
	if err != nil {
		return serve.Checking{}, err
	}
	out := serve.Checking{Policy: policy(c), Timeout: c.Health.Timeout}
	if c.Health.Mode == config.HealthOff {
		return out, nil
	}
	checker, err := newChecker(c.Health)
	if err != nil {
		return serve.Checking{}, err
	}
	h := c.Health
	out.Prober = b.seen.Prober(pool.Name, b.metrics.Prober(checker))
	out.Key = strings.Join([]string{
		string(check.Mode), h.Timeout.String(), check.Path, check.Host, check.ExpectedStatus, h.TLSCAFile, h.TLSServerName,
		map[bool]string{true: "insecure", false: ""}[h.TLSInsecure], "port", netip.AddrPortFrom(netip.IPv4Unspecified(), h.Port).String(),
	}, "\n")
	if h.HoldConnection {
		out.HoldPort = h.Port
	}
	return out, nil
}

// configOf returns the configuration that does for one target what a pool does with a
// check: what variables say and what documents say is one.
func (b *many) configOf(pool *v1alpha1.EndpointPool, check resolve.Check) (config.Config, error) {
	port := int32(max(1, check.Port))
	binding := &v1alpha1.EndpointBinding{Spec: v1alpha1.EndpointBindingSpec{
		Pools: []v1alpha1.BindingPool{{Name: pool.Name}}, Ports: []v1alpha1.BindingPort{{Port: port, Protocol: v1alpha1.ProtocolTCP}},
		HealthCheck: &v1alpha1.BindingHealthCheck{Mode: check.Mode, Path: check.Path, Host: check.Host, ExpectedStatus: check.ExpectedStatus},
	}}
	if check.Port != 0 {
		binding.Spec.HealthCheck.Port = &port
	}
	binding.Namespace, binding.Name = "none", "none"
	environ, err := variables.Environ(pool, binding, b.credentials(pool))
	if err != nil {
		return config.Config{}, err
	}
	for _, variable := range b.environ {
		if name, _, _ := strings.Cut(variable, "="); slices.Contains(shared(), name) {
			environ = append(environ, variable)
		}
	}
	return config.Load(append(environ, "STORE_KIND="+string(b.config.Store.Kind)))
}

// longestCredential bounds what is read of a credential, in bytes.
const longestCredential = 1 << 20

// credentials are the files in the folder that a pool names. A folder that cannot be
// read has none, and what needs one then says which.
func (b *many) credentials(pool *v1alpha1.EndpointPool) variables.Credentials {
	if pool.Spec.Credentials == "" || b.config.Documents.CredentialsDir == "" {
		return variables.Credentials{}
	}
	c := variables.Credentials{Dir: filepath.Join(b.config.Documents.CredentialsDir, pool.Spec.Credentials)}
	for _, name := range []string{"kubeconfig", "token", "username", "password", "ca.crt"} {
		text, err := files.Read(filepath.Join(c.Dir, name), longestCredential)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		c.Files = append(c.Files, name) // who needs one that cannot be read says why
		if name == "username" {
			c.Username = strings.TrimSpace(string(text))
		}
		if errors.Is(err, files.ErrHangs) {
			break // so do the others, and the rest of the program waits
		}
	}
	return c
}

// lackingCredentials says which file of its credentials a source cannot do without.
func (b *many) lackingCredentials(pool *v1alpha1.EndpointPool) error {
	c := b.credentials(pool)
	lacking := preflight.Lacks(&pool.Spec.Source, func(file string) bool { return slices.Contains(c.Files, file) })
	name := pool.Spec.Credentials
	switch {
	case lacking == "":
		return nil
	case c.Dir == "":
		return &serve.MissingCredentials{Message: fmt.Sprintf("CREDENTIALS_DIR is not set, so spec.credentials=%s names no folder; set it to the folder that holds the folder %s", name, name)}
	}
	return &serve.MissingCredentials{Message: fmt.Sprintf("the folder %s has no file %s; put it there, or correct spec.credentials=%s", c.Dir, lacking, name)}
}

// fixed is the source of a list of nodes in a document.
type fixed []inventory.Node

// Read implements pool.Source.
func (f fixed) Read(context.Context) ([]inventory.Node, error) { return slices.Clone(f), nil }

func fixedNodes(nodes []v1alpha1.StaticNode) (fixed, error) {
	out := make(fixed, 0, len(nodes))
	for _, n := range nodes {
		node := inventory.Node{Name: n.Name, Zone: n.Zone, Ready: true, Worker: true}
		for _, text := range n.Addresses {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, err
			}
			node.Addresses = append(node.Addresses, address)
		}
		out = append(out, node)
	}
	return out, nil
}
