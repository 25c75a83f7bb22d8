package kubeapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

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
		proxy, err := url.Parse(cluster.ProxyURL)
		if err != nil || !slices.Contains(proxies, proxy.Scheme) {
			return fmt.Errorf("cluster %q: its proxy-url is no valid URL of scheme http, https or socks5; it is not shown, because it may hold a password, whose special characters have to be escaped (/ as %%2F)", name)
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
