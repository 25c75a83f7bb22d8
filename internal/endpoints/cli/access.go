package cli

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// localWay is the way to the local API server for the part of the program whose
// requests are counted under that name.
func localWay(store settings.Store, m *metrics.Metrics, client metrics.Client) kube.Access {
	return kube.Access{Kubeconfig: store.Kubeconfig, InCluster: true, Setting: "KUBECONFIG", Wrap: m.Transport(client)}
}

// access is what no document says of the way to the nodes of a pool. Secrets are read at
// each use.
type access struct {
	kubeconfig, context string
	// awaited is where a kubeconfig may come later; empty where none can.
	awaited string
	// noPrograms refuses a kubeconfig that runs a program.
	noPrograms       bool
	username, apiURL string
	token, password  settings.Secret
	// now is the access with the credentials as they are now; nil where they are fixed.
	now func() access
	// named tells a program of the credentials. hangs is why that is not known.
	named []string
	hangs error
	// caFile has the authorities of an HTTPS check; empty for the system's. mayLackCA reports
	// whether these count too where there is no such file; nil where there has to be one.
	caFile    string
	mayLackCA func() bool
	// environ is what the program of the source command gets.
	environ func() ([]string, error)
	// loopback accepts loopback addresses.
	loopback bool
}

// cloud is what the IONOS Cloud is asked with now.
func (a access) cloud() ionos.Credentials {
	now := a
	if a.now != nil {
		now = a.now()
	}
	credentials := ionos.Credentials{Username: now.username}
	if now.token.IsSet() {
		credentials.Token = now.token.Read
	}
	if now.password.IsSet() {
		credentials.Password = now.password.Read
	}
	return credentials
}

// roots reads the authorities of an HTTPS check.
func (a access) roots() (*x509.CertPool, error) {
	roots, err := settings.Health{TLSCAFile: a.caFile}.RootCAs()
	if errors.Is(err, fs.ErrNotExist) && a.mayLackCA != nil && a.mayLackCA() {
		return nil, nil
	}
	return roots, err
}

// remoteWay is the way to the API server of the remote cluster.
func remoteWay(a access, m *metrics.Metrics) kube.Access {
	return kube.Access{
		Kubeconfig: a.kubeconfig, Setting: "SECURED_KUBECONFIG", Context: a.context, ContextSetting: "SECURED_KUBECTL_CONTEXT",
		Wrap: m.Transport(metrics.ClientSource), NoPrograms: a.noPrograms,
	}
}

// localAccess is the way to the local API server. Where kubectl is the store, it
// is the one that kubectl takes.
func (p Program) localAccess(store settings.Store) kube.Way {
	kubeconfig := store.Kubeconfig
	if home := commandline.Variable(p.Environ, "HOME"); kubeconfig == "" && store.Kind == settings.StoreKubectl && home != "" {
		file := filepath.Join(home, ".kube", "config")
		if _, err := os.Stat(file); err == nil {
			kubeconfig = file
		}
	}
	return kube.Access{Kubeconfig: kubeconfig, InCluster: true, Setting: "KUBECONFIG"}
}

// secrets are those that the way sends, as they are now.
func (a access) secrets() []string {
	var secrets []string
	for _, secret := range []settings.Secret{a.token, a.password} {
		if text, err := secret.Read(); err == nil {
			secrets = append(secrets, text)
		}
	}
	return secrets
}
