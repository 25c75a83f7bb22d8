package settings

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// Views is the configuration of endpoint-views. LoadViews is the only way to get a
// valid one.
type Views struct {
	Cluster ViewsCluster
	Stream  ViewsStream
	XDS     ViewsXDS
	Fleet   ViewsFleet
	Log     Log

	// origins and warnings are as in Config.
	origins  map[string]Origin
	warnings Mistakes
}

// ViewsCluster is what is watched.
type ViewsCluster struct {
	// Kubeconfig is empty for the ServiceAccount of the Pod we run in.
	Kubeconfig string   `envconfig:"KUBECONFIG" fallback:"in-cluster" desc:"kubeconfig of the cluster whose endpoints are shown"`
	Namespaces []string `envconfig:"VIEWS_NAMESPACES" format:"dns-label" fallback:"all" desc:"namespaces to watch, separated by commas; the rights are needed in these only" example:"shop,blog"`
	// Annotation selects Services: the default one by the value true, another one by
	// being there.
	Annotation string `envconfig:"VIEWS_ANNOTATION" default:"endpoints.ablmnzde.github.io/views" format:"annotation" desc:"annotation of the Services that are shown; the default one has to be true, any other one only has to be there"`
}

// ViewsStream is how clients are served.
type ViewsStream struct {
	Address        netip.AddrPort `envconfig:"VIEWS_ADDRESS" default:"127.0.0.1:8082" desc:"IP address and port of the stream and of lists; port 0 takes any free one"`
	MetricsAddress netip.AddrPort `envconfig:"METRICS_ADDRESS" default:"127.0.0.1:8083" desc:"IP address and port of /livez, /readyz and /metrics; port 0 takes any free one"`
	Certificate    string         `envconfig:"VIEWS_TLS_CERT_FILE" fallback:"no TLS" desc:"file with the certificate of the server, read again at each handshake"`
	Key            string         `envconfig:"VIEWS_TLS_KEY_FILE" desc:"file with its key"`
	ClientCA       string         `envconfig:"VIEWS_CLIENT_CA_FILE" fallback:"no client certificates" desc:"file with the authority of clients' certificates, read again when it changes, for open connections too; a certificate names its client by one URI SAN, spiffe://VIEWS_TRUST_DOMAIN/ns/NAMESPACE/client/NAME"`
	TrustDomain    string         `envconfig:"VIEWS_TRUST_DOMAIN" default:"cluster.local" format:"dns-subdomain" desc:"trust domain of the clients' certificates; one of another trust domain is refused"`
	Identities     string         `envconfig:"VIEWS_IDENTITIES_FILE" fallback:"everything, on a loopback address only" desc:"YAML file that says which client may see which namespaces, read again when it changes; a client that is not in it sees nothing"`
	MostClients    int            `envconfig:"VIEWS_MAX_CLIENTS" default:"500" min:"1" max:"10000" desc:"streams that may be open at a time; at most a quarter of the file descriptors that the process may have"`
	MostOfOne      int            `envconfig:"VIEWS_MAX_CLIENTS_PER_IDENTITY" default:"50" min:"1" max:"10000" desc:"streams of one client that may be open at a time"`
}

// OwnAnnotation is the one that has to be true.
const OwnAnnotation = "endpoints.ablmnzde.github.io/views"

// Selects reports whether a Service with these annotations is shown.
func (c ViewsCluster) Selects(annotations map[string]string) bool {
	value, there := annotations[c.Annotation]
	return there && (value == "true" || c.Annotation != OwnAnnotation)
}

func annotation(value string) error {
	if len(content.IsLabelKey(value)) == 0 {
		return nil
	}
	return Problem{Rule: "is no name of an annotation", Remedy: "write for example " + OwnAnnotation}
}

// sections lists the parts in the order of the reference.
func (v *Views) sections() []any {
	return []any{&v.Cluster, &v.Stream, &v.XDS, &v.Fleet, &v.Log}
}

// LoadViews is Load for endpoint-views.
func LoadViews(environ []string) (Views, error) {
	var v Views
	l := newLoader(environ, variablesOf(v.sections()...))
	for _, one := range l.variables {
		l.load(one)
	}
	l.checkUnknown()
	l.checkViews(&v)
	l.checkXDS(&v)
	l.checkFleet(&v)
	if len(l.mistakes) > 0 {
		return Views{}, l.mistakes.sorted(l.place)
	}
	v.origins, v.warnings = l.origins, l.warnings
	return v, nil
}

// checkViews holds variables against each other.
func (l *loader) checkViews(v *Views) {
	const cert, key, ca, list, address = "VIEWS_TLS_CERT_FILE", "VIEWS_TLS_KEY_FILE", "VIEWS_CLIENT_CA_FILE", "VIEWS_IDENTITIES_FILE", "VIEWS_ADDRESS"
	s := v.Stream
	l.needs(key, cert, s.Certificate != "")
	l.needs(cert, key, s.Key != "")
	l.needs(cert, ca, s.ClientCA != "")
	l.needs(list, ca, s.ClientCA != "")
	if !l.sound(address) || s.Address.Addr().IsLoopback() {
		return
	}
	if s.Certificate == "" {
		l.mistake(address, "can be reached by others, who could read and change what is sent", "set "+cert+" and "+key+", or write 127.0.0.1:8082")
	}
	if s.Identities == "" {
		l.mistake(address, "can be reached by others, and no list says what they may see", "set "+list+", or write 127.0.0.1:8082")
	}
}

// Warnings returns the variables that look like ours and are not.
func (v Views) Warnings() []Mistake { return slices.Clone(v.warnings) }
