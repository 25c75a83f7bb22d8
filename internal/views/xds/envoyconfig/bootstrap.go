package envoyconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"
)

// controlPlane is the name of the cluster of the server of xDS, in each proxy.
const controlPlane = "endpoint-views"

// Bootstrap is what a proxy has to know to ask for everything else.
type Bootstrap struct {
	// Fleet is the name of the fleet, NAMESPACE/NAME, as in the certificate.
	Fleet string
	// Node is the name of this proxy; empty where the command line of Envoy has it.
	Node string
	// Host and Port are those of the server. A name may have many addresses.
	Host string
	Port uint16
	// ControlPlane is the name of the cluster of the server; endpoint-views where it is
	// empty. Another one is not endpoint-views: it is asked for the state of the world,
	// which every control plane serves.
	ControlPlane string
	// Admin is where the proxy's own page listens.
	Admin netip.AddrPort
	// Health is where /ready and /stats/prometheus are for others; not valid for nowhere.
	Health netip.AddrPort
	// CertificateFolder has tls.crt, tls.key and ca.crt; empty without TLS. Envoy reads
	// the files again when they change.
	CertificateFolder string
	// SecretsFolder is where the proxy finds the files certificate.yaml and
	// authority.yaml that Files returns; needed with TLS.
	SecretsFolder string
	// MaxConnections bounds the connections of clients, MaxHeapBytes the memory that the
	// proxy takes before it does less; 0 is no bound.
	MaxConnections int
	MaxHeapBytes   uint64
}

// The names of the files of a bootstrap.
const (
	BootstrapFile   = "envoy.yaml"
	CertificateFile = "certificate.yaml"
	AuthorityFile   = "authority.yaml"
)

// Files returns the files that a proxy starts from, by name: envoy.yaml, and with TLS two
// more that it names.
func (b Bootstrap) Files() (map[string][]byte, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	messages := map[string]proto.Message{BootstrapFile: b.message()}
	if b.CertificateFolder != "" {
		messages[CertificateFile], messages[AuthorityFile] = certificate(ownSecret, b.CertificateFolder), b.authority()
	}
	files := make(map[string][]byte, len(messages))
	for name, message := range messages {
		text, err := file(message)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = text
	}
	return files, nil
}

// file is a message as Envoy reads it from a file.
func file(message proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text)
}

// check says what is wrong with the options.
func (b Bootstrap) check() error {
	namespace, name, found := strings.Cut(b.Fleet, "/")
	switch {
	case !found || namespace == "" || name == "":
		return fmt.Errorf("%q is no name of a fleet; write NAMESPACE/NAME, for example shop/edge", b.Fleet)
	case b.Host == "" || b.Port == 0:
		return errors.New("the server has no host or no port; write HOST:PORT, for example endpoint-views.infra:18000")
	case b.CertificateFolder != "" && b.SecretsFolder == "":
		return errors.New("with certificates the proxy needs two more files; say in which folder it will find them")
	}
	return nil
}

func (b Bootstrap) message() *bootstrapv3.Bootstrap {
	own := &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{b.server()}}
	if b.Health.IsValid() {
		listener, cluster := b.health()
		own.Listeners, own.Clusters = append(own.Listeners, listener), append(own.Clusters, cluster)
	}
	return &bootstrapv3.Bootstrap{
		Node: &corev3.Node{Id: b.Node, Cluster: b.Fleet},
		// The page of a proxy that is full is needed most.
		Admin: &bootstrapv3.Admin{Address: listening(b.Admin), IgnoreGlobalConnLimit: true},
		DynamicResources: &bootstrapv3.Bootstrap_DynamicResources{
			CdsConfig: ads(0), LdsConfig: ads(0), AdsConfig: b.stream(),
		},
		StaticResources: own,
		OverloadManager: b.overload(),
	}
}

// plane is the name of the cluster of the server.
func (b Bootstrap) plane() string { return cmp.Or(b.ControlPlane, controlPlane) }

// stream says how the proxy asks: in the delta protocol, and again soon after a failure.
func (b Bootstrap) stream() *corev3.ApiConfigSource {
	protocol := corev3.ApiConfigSource_DELTA_GRPC
	if b.plane() != controlPlane {
		protocol = corev3.ApiConfigSource_GRPC
	}
	return &corev3.ApiConfigSource{
		ApiType: protocol, TransportApiVersion: corev3.ApiVersion_V3, SetNodeOnFirstMessageOnly: true,
		GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
			ClusterName: b.plane(),
			RetryPolicy: &corev3.RetryPolicy{RetryBackOff: &corev3.BackoffStrategy{
				BaseInterval: durationpb.New(200 * time.Millisecond), MaxInterval: durationpb.New(2 * time.Second),
			}},
		}}}},
	}
}

// static is a cluster of one host, which the bootstrap itself has.
func static(name, host string, port uint16) *clusterv3.Cluster {
	kind := clusterv3.Cluster_STRICT_DNS
	if isAddress(host) {
		kind = clusterv3.Cluster_STATIC
	}
	address := &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socket(host, port)}}}
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: kind}, ConnectTimeout: durationpb.New(time.Second),
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{address}}},
		},
	}
}

// server is the cluster of the server.
func (b Bootstrap) server() *clusterv3.Cluster {
	cluster := static(b.plane(), b.Host, b.Port)
	cluster.TypedExtensionProtocolOptions = speaking(http2(30 * time.Second))
	if b.CertificateFolder != "" {
		cluster.TransportSocket = b.tls()
	}
	return cluster
}
