package kube

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// checksum is of the contents of all files. One that is missing counts as empty: it
// may be one of several kubeconfigs.
func checksum(names []string) ([sha256.Size]byte, error) {
	sums := sha256.New()
	for _, name := range names {
		err := regular(name)
		if errors.Is(err, fs.ErrNotExist) {
			sums.Write(make([]byte, sha256.Size))
			continue
		}
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return [sha256.Size]byte{}, err
		}
		sum := sha256.Sum256(content)
		sums.Write(sum[:])
	}
	return [sha256.Size]byte(sums.Sum(nil)), nil
}

// inline reads the files that the configuration names, so that client-go need
// not watch them.
func inline(config *rest.Config) error {
	if err := rest.LoadTLSFiles(config); err != nil {
		return errors.New("a file of its certificates cannot be read")
	}
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	if config.BearerTokenFile != "" {
		token, err := os.ReadFile(config.BearerTokenFile)
		if err != nil {
			return err
		}
		config.BearerToken, config.BearerTokenFile = string(bytes.TrimSpace(token)), ""
		if config.BearerToken == "" {
			return errors.New("the file of its token is empty")
		}
	}
	return nil
}

// proxies are the schemes of a proxy-url that client-go takes.
var proxies = []string{"http", "https", "socks5"}

// checkCluster says what is wrong with the addresses and files of a cluster.
func checkCluster(name string, cluster *clientcmdapi.Cluster) error {
	server, err := url.Parse(cluster.Server)
	switch {
	case cluster.Server == "":
		return fmt.Errorf("cluster %q has no server", name)
	case err != nil, server.Host == "" && server.Scheme != "":
		return fmt.Errorf("cluster %q: its server is no valid URL; it is not shown, because it may hold a password", name)
	}
	if cluster.ProxyURL != "" {
		through, err := url.Parse(cluster.ProxyURL)
		if err != nil || !slices.Contains(proxies, through.Scheme) || transport.CheckProxy(through) != nil {
			return fmt.Errorf("cluster %q: its proxy-url is no valid URL of scheme http, https or socks5; %s", name, transport.ProxyRemedy)
		}
	}
	return checkFiles(fmt.Sprintf("cluster %q", name), map[string]string{"certificate-authority": cluster.CertificateAuthority})
}

// checkFiles says which of the files that a kubeconfig names cannot be read.
func checkFiles(of string, files map[string]string) error {
	for _, field := range slices.Sorted(maps.Keys(files)) {
		if files[field] == "" {
			continue
		}
		if err := regular(files[field]); err != nil {
			return fmt.Errorf("%s: its %s: %w", of, field, err)
		}
	}
	return nil
}
