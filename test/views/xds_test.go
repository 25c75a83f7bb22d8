package views_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const assignments = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// xdsAddress is where the program says that it serves xDS.
func (d *daemon) xdsAddress() string {
	for line := range strings.SplitSeq(d.log.String(), "\n") {
		var said struct {
			Address string `json:"xds_address"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Address != "" {
			return said.Address
		}
	}
	return ""
}

// followedByXDS is the way of a change from the API server to a proxy, and what the
// program says of that proxy.
func followedByXDS(t *testing.T, server *controlplane.ControlPlane) {
	c := client(t, server.Config())
	createNamespace(t, c, "xds")
	createService(t, c, "xds", "web", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
	create(t, c, "xds", slice("web-1", "web", "10.0.0.11"))
	d := serve(t, server.Kubeconfig(t), "XDS_ADDRESS=127.0.0.1:0")
	until(t, "the program serves xDS", func() bool { return d.xdsAddress() != "" })

	connection, err := grpc.NewClient(d.xdsAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "edge-1", Cluster: "xds/edge"}, TypeUrl: assignments, ResourceNamesSubscribe: []string{"web.xds:80"}}
	for _, addresses := range [][]string{{"10.0.0.11"}, {"10.0.0.11", "10.0.0.12"}} {
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		if len(addresses) > 1 {
			update(t, c, "xds", slice("web-1", "web", addresses...))
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		assignment := &endpointv3.ClusterLoadAssignment{}
		if err := answer.GetResources()[0].GetResource().UnmarshalTo(assignment); err != nil {
			t.Fatal(err)
		}
		if got := len(assignment.GetEndpoints()[0].GetLbEndpoints()); got != len(addresses) {
			t.Fatalf("got %d endpoints, want %v", got, addresses)
		}
		request = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: assignments, ResponseNonce: answer.GetNonce()}
	}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	d.explains(t, "acknowledged at")
	d.counts(t, `xds_streams{protocol="envoy"} 1`, `xds_pushes_total{protocol="envoy",type="EDS"} 2`, `xds_acknowledgements_total{protocol="envoy",type="EDS"} 2`, "xds_streams_rejecting 0")

	// What it rejects is told by its own words.
	update(t, c, "xds", slice("web-1", "web", "10.0.0.13"))
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	rejection := &rpcstatus.Status{Code: 3, Message: "no such zone"}
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: assignments, ResponseNonce: answer.GetNonce(), ErrorDetail: rejection}); err != nil {
		t.Fatal(err)
	}
	d.explains(t, "rejected, so the client keeps the previous version: no such zone")
	d.counts(t, `xds_pushes_total{protocol="envoy",type="EDS"} 3`, `xds_rejections_total{protocol="envoy",type="EDS"} 1`, "xds_streams_rejecting 1")
}

// explains waits until explain says something of the endpoints that the proxy was sent.
func (d *daemon) explains(t *testing.T, what string) {
	t.Helper()
	until(t, "explain says "+what, func() bool {
		out, err := exec.CommandContext(t.Context(), built.Views(t), "explain", "--client", "xds/edge", "--server", d.url).CombinedOutput()
		return err == nil && strings.Contains(string(out), "EDS web.xds:80: sent at") && strings.Contains(string(out), what)
	})
}

// counts waits for metrics, each with its value.
func (d *daemon) counts(t *testing.T, want ...string) {
	t.Helper()
	for _, one := range want {
		until(t, "the metric endpoint_views_"+one, func() bool {
			return strings.Contains(read(t, d.health+"/metrics"), "\nendpoint_views_"+one+"\n")
		})
	}
}

// read is the body of an answer.
func read(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
