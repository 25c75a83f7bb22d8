package envoyconfig

import (
	"net/netip"
	"path"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// The names of the two secrets of a proxy.
const (
	ownSecret       = "own"
	authoritySecret = "authority"
)

// tls is the way to the server with certificates. Envoy reads a certificate again only
// where it comes from a file of secrets, so there are two of these.
func (b Bootstrap) tls() *corev3.TransportSocket {
	context := &tlsv3.UpstreamTlsContext{
		Sni: b.Host,
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams:                      &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2},
			AlpnProtocols:                  []string{"h2"},
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{secretIn(b.SecretsFolder, ownSecret, CertificateFile)},
			ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{
				CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
					DefaultValidationContext:         &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{names(b.Host)}},
					ValidationContextSdsSecretConfig: secretIn(b.SecretsFolder, authoritySecret, AuthorityFile),
				},
			},
		},
	}
	if isAddress(b.Host) {
		context.Sni = ""
	}
	return transportSocket("tls", context)
}

// names is what the certificate of the server has to say.
func names(host string) *tlsv3.SubjectAltNameMatcher {
	kind := tlsv3.SubjectAltNameMatcher_DNS
	if isAddress(host) {
		kind = tlsv3.SubjectAltNameMatcher_IP_ADDRESS
	}
	return &tlsv3.SubjectAltNameMatcher{
		SanType: kind, Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: host}},
	}
}

// isAddress reports whether a host is an IP address, which is no name for TLS to ask for.
func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// secretIn names a secret in a file of a folder.
func secretIn(folder, name, file string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: path.Join(folder, file), WatchedDirectory: watched(folder),
		}},
		ResourceApiVersion: corev3.ApiVersion_V3,
	}}
}

// certificate is the file that names the certificate and the key in a folder.
func certificate(name, folder string) *discoveryv3.DiscoveryResponse {
	return secrets(&tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: fileIn(folder, "tls.crt"), PrivateKey: fileIn(folder, "tls.key"), WatchedDirectory: watched(folder),
	}}})
}

// authority is the file that names the authority of the server.
func (b Bootstrap) authority() *discoveryv3.DiscoveryResponse {
	return secrets(&tlsv3.Secret{Name: authoritySecret, Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
		TrustedCa: fileIn(b.CertificateFolder, "ca.crt"), WatchedDirectory: watched(b.CertificateFolder),
	}}})
}

func secrets(one *tlsv3.Secret) *discoveryv3.DiscoveryResponse {
	return &discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{packed(one)}}
}

func fileIn(folder, name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path.Join(folder, name)}}
}

// watched is the folder whose change says that the files are new: Kubernetes replaces all
// files of a folder by a link.
func watched(folder string) *corev3.WatchedDirectory { return &corev3.WatchedDirectory{Path: folder} }
