package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// defaultConnections is how many connections of clients an Envoy has.
const defaultConnections = 50_000

// hashLength is how many characters of the hash name a file.
const hashLength = 10

// FileOf is the key of the bootstrap with a hash. Pods start from it, not from envoy.yaml:
// an old Pod whose container starts again must not read what is for new ones.
func FileOf(hash string) string { return "envoy-" + hash + ".yaml" }

// bootstrap returns the files of the ConfigMap, and the hash of what Pods start from.
func bootstrap(e *v1alpha1.Envoy, s Settings) (files map[string]string, hash string, err error) {
	b := envoyconfig.Bootstrap{
		Fleet: e.Namespace + "/" + e.Name, Host: s.Host, Port: s.Port,
		// Linux gives every Pod this address, in a cluster of IPv6 too.
		Admin:          netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), envoyconfig.AdminPort),
		Health:         netip.AddrPortFrom(envoyconfig.ListenAddress(e), envoyconfig.HealthPort),
		SecretsFolder:  envoyconfig.PodBootstrapFolder,
		MaxConnections: int(ptr.Deref(e.Spec.MaxConnections, defaultConnections)),
	}
	if memory, limited := needs(e).Limits[corev1.ResourceMemory]; limited {
		b.MaxHeapBytes = uint64(max(0, memory.Value())) / 10 * 9 // the rest is for what Envoy has beside the heap
	}
	if x := e.Spec.XDS; x != nil {
		b.ControlPlane, b.Host, b.Port = x.Name, x.Host, uint16(x.Port)
	}
	if certificate(e) != "" {
		b.CertificateFolder = envoyconfig.PodCertificateFolder
	}
	made, err := b.Files()
	if err != nil {
		return nil, "", fmt.Errorf("make the bootstrap: %w", err)
	}
	sum := sha256.Sum256(made[envoyconfig.BootstrapFile])
	hash = hex.EncodeToString(sum[:])[:hashLength]
	files = make(map[string]string, len(made)+1)
	for name, text := range made {
		files[name] = string(text)
	}
	files[FileOf(hash)] = files[envoyconfig.BootstrapFile]
	for _, secret := range secrets(e) {
		text, err := envoyconfig.ListenerSecret(secret, envoyconfig.PodSecretFolder(secret))
		if err != nil {
			return nil, "", fmt.Errorf("make the file of Secret %s: %w", secret, err)
		}
		files[envoyconfig.PodSecretFile(secret)] = string(text)
	}
	return files, hash, nil
}

// certificate is the Secret for the control plane, empty where there is no TLS.
func certificate(e *v1alpha1.Envoy) string {
	if e.Spec.CertificateSecretName == "" && e.Spec.XDS == nil {
		return e.Spec.Name + "-xds"
	}
	return e.Spec.CertificateSecretName
}

// secrets are the Secrets of listeners, sorted.
func secrets(e *v1alpha1.Envoy) []string {
	var all []string
	for i := range e.Spec.Listeners {
		if tls := e.Spec.Listeners[i].TLS; tls != nil {
			all = append(all, tls.SecretNames...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
