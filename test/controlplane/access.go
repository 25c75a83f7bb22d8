package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config is the access of an administrator, with every right in RBAC. The client has
// no rate limit. Callers own the copy.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.admin) }

// UserConfig is the access of a user with the rights that RBAC objects give to the
// name or the groups. The user need not exist before.
func (cp *ControlPlane) UserConfig(user string, groups ...string) *rest.Config {
	cp.t.Helper()
	config, err := cp.newConfig(user, groups...)
	if err != nil {
		cp.t.Fatalf("controlplane: make user %s: %v", user, err)
	}
	return config
}

// Kubeconfig writes a kubeconfig file for the administrator and returns its
// path. It is removed with t.
func (cp *ControlPlane) Kubeconfig(t testing.TB) string {
	t.Helper()
	return cp.writeKubeconfig(t, cp.admin)
}

// UserKubeconfig is [ControlPlane.UserConfig] as a kubeconfig file. It is
// removed with t.
func (cp *ControlPlane) UserKubeconfig(t testing.TB, user string, groups ...string) string {
	t.Helper()
	return cp.writeKubeconfig(t, cp.UserConfig(user, groups...))
}

func (cp *ControlPlane) newConfig(user string, groups ...string) (*rest.Config, error) {
	client, err := cp.ca.identify(user, groups)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: "https://" + cp.address.String(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   cp.ca.certPEM,
			CertData: client.certPEM,
			KeyData:  client.keyPEM,
		},
		QPS: -1,
	}, nil
}

func (cp *ControlPlane) writeKubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(config, path); err != nil {
		t.Fatalf("controlplane: write %s: %v", path, err)
	}
	return path
}

func writeKubeconfig(config *rest.Config, path string) error {
	const name = "test"
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	return clientcmd.WriteToFile(*file, path)
}

// waitReady returns when the API server says that it is ready and has made the
// default namespace, which it does a moment later.
func (cp *ControlPlane) waitReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(cp.admin)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		if err := cp.waitFor(ctx, client, path); err != nil {
			return err
		}
	}
	return nil
}

// waitFor asks until the answer is OK, the server has ended, or time is up.
func (cp *ControlPlane) waitFor(ctx context.Context, client *http.Client, path string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := get(ctx, client, cp.admin.Host+path)
		if err == nil {
			return nil
		}
		select {
		case <-cp.server.Done:
			return fmt.Errorf("it ended by itself; last: %w", err)
		case <-cp.etcd.Done:
			return fmt.Errorf("etcd ended by itself; last: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("waited %v; last: %w", startTimeout, err)
		case <-ticker.C:
		}
	}
}

func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", userAgent)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}
