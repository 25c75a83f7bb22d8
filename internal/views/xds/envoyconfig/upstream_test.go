package envoyconfig_test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
)

func TestContract108CertificatesOfEndpointsAreCheckedAsTheServiceSays(t *testing.T) {
	for name, c := range map[string]struct {
		says join.TLS
		// has and hasNot are parts of the cluster.
		has, hasNot []string
	}{
		"an authority":            {join.TLS{Authorities: "PEM"}, []string{`"inlineString":"PEM"`, `"autoSni":true`, `"autoSanValidation":true`}, []string{"exact"}},
		"an authority and a name": {join.TLS{Authorities: "PEM", ServerName: "worker.internal"}, []string{`"sni":"worker.internal"`, `"sanType":"DNS"`, `"exact":"worker.internal"`}, []string{"autoSni"}},
		"an address":              {join.TLS{Authorities: "PEM", ServerName: "fd00::1"}, []string{`"sanType":"IP_ADDRESS"`, `"exact":"fd00::1"`}, []string{`"sni"`, "autoSni"}},
		"no check":                {join.TLS{Unchecked: true}, []string{`"autoSni":true`}, []string{"validationContext", `"autoSanValidation":true`}},
		"no check, but a name":    {join.TLS{Unchecked: true, ServerName: "worker.internal"}, []string{`"sni":"worker.internal"`}, []string{"validationContext", "autoSni"}},
		"both":                    {join.TLS{Unchecked: true, Authorities: "PEM"}, []string{`"inlineString":"PEM"`, `"autoSanValidation":true`}, nil},
	} {
		service := secure()
		service.TLS = c.says
		cluster, _ := envoyconfig.Envoy(service, nil, envoyconfigtest.Defaults())[envoyconfig.Clusters]["web.shop:9000:tls"].(*clusterv3.Cluster)
		if cluster == nil {
			t.Errorf("%s: there is no cluster", name)
			continue
		}
		if err := cluster.ValidateAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := strings.ReplaceAll(protojson.MarshalOptions{}.Format(cluster), ": ", ":")
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s is missing in %s", name, want, text)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(text, not) {
				t.Errorf("%s: %s is in %s", name, not, text)
			}
		}
	}
}

func TestContract108WithoutAWordAboutCertificatesNothingIsSent(t *testing.T) {
	service := secure()
	service.TLS = join.TLS{ServerName: "worker.internal"}
	find := func(join.Key) *join.Service { return service }
	if c := envoyconfig.Envoy(service, nil, envoyconfigtest.Defaults())[envoyconfig.Clusters]["web.shop:9000:tls"]; c != nil {
		t.Errorf("got %v, want no cluster: it would check nothing", c)
	}
	set := envoyconfig.Fleet(full(), find, envoyconfigtest.Defaults())
	text := protojson.Format(set[envoyconfig.Routes]["port-443"].(*routev3.RouteConfiguration))
	if want := "Service shop/web speaks TLS and does not say how certificates are checked; annotate it with endpoints.ablmnzde.github.io/tls-certificate-authority."; !strings.Contains(text, want) {
		t.Errorf("got %s, want the remedy in the answer", text)
	}
	// A listener of TCP passes on the TLS of its clients, who check it themselves.
	if set[envoyconfig.Listeners]["port-9000"] == nil {
		t.Error("the listener of TCP is gone")
	}
}
