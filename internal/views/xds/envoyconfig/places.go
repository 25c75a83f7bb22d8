package envoyconfig

import "path"

// Where the files of a proxy are in the Pods of a fleet.
const (
	// PodBootstrapFolder has the files of the bootstrap, and those that SecretFile names.
	PodBootstrapFolder = "/etc/envoy/bootstrap"
	// PodCertificateFolder has tls.crt, tls.key and ca.crt for the control plane.
	PodCertificateFolder = "/etc/envoy/control-plane"
	// podSecretsFolder has a folder for each Secret of listeners, with tls.crt and
	// tls.key.
	podSecretsFolder = "/etc/envoy/secrets" //nolint:gosec // a folder, no secret
)

// PodSecretFolder is where a Secret of listeners is mounted.
func PodSecretFolder(secret string) string { return path.Join(podSecretsFolder, secret) }

// PodSecretFile is the name of the file of secrets, in PodBootstrapFolder, that names the
// certificate in a Secret of listeners.
func PodSecretFile(secret string) string { return "secret-" + secret + ".yaml" }

// ListenerSecret is the content of a file that names the certificate in a folder. Envoy
// reads the certificate again when Kubernetes replaces the files of the folder.
func ListenerSecret(secret, folder string) ([]byte, error) {
	return file(certificate(secret, folder))
}
