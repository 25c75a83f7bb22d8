package xds_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// proxy is what an Envoy does on its stream: it acknowledges what it is sent, and
// remembers it. The test says what it wants.
type proxy struct {
	t      *testing.T
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	node   *corev3.Node
	in     chan *discoveryv3.DeltaDiscoveryResponse
	failed chan error
	// has are versions by kind and name, raw the resources.
	has map[envoyconfig.Kind]map[string]string
	raw map[envoyconfig.Kind]map[string][]byte
	// order are the kinds of the answers as they came, with + and - for what they
	// brought and took.
	order []string
}

// connect opens a stream of a node. Nothing is asked yet.
func connect(t *testing.T, s *server, node, fleet string, creds credentials.TransportCredentials) *proxy {
	t.Helper()
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	p := &proxy{
		t: t, stream: stream, node: &corev3.Node{Id: node, Cluster: fleet, UserAgentName: "envoy"},
		in: make(chan *discoveryv3.DeltaDiscoveryResponse), failed: make(chan error, 1),
		has: make(map[envoyconfig.Kind]map[string]string), raw: make(map[envoyconfig.Kind]map[string][]byte),
	}
	for kind := range envoyconfig.Kinds {
		p.has[kind], p.raw[kind] = make(map[string]string), make(map[string][]byte)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			answer, err := stream.Recv()
			if err != nil {
				p.failed <- err
				return
			}
			select {
			case p.in <- answer:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended; _ = connection.Close() })
	return p
}

// ask sends a request for resources by name; none is everything.
func (p *proxy) ask(kind envoyconfig.Kind, names ...string) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: kind.TypeURL(), ResourceNamesSubscribe: names, InitialResourceVersions: maps.Clone(p.has[kind]),
	})
}

func (p *proxy) send(request *discoveryv3.DeltaDiscoveryRequest) {
	p.t.Helper()
	request.Node, p.node = p.node, nil
	if err := p.stream.Send(request); err != nil {
		p.t.Logf("send: %v", err)
	}
}

// take returns the next answer without a word to the server.
func (p *proxy) take() *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	select {
	case answer := <-p.in:
		return answer
	case err := <-p.failed:
		p.t.Fatalf("the stream ended: %v", err)
	case <-time.After(waitLimit):
		p.t.Fatal("no answer")
	}
	return nil
}

// ends returns why the stream ended.
func (p *proxy) ends() error {
	p.t.Helper()
	for {
		select {
		case <-p.in:
		case err := <-p.failed:
			return err
		case <-time.After(waitLimit):
			p.t.Fatal("the stream does not end")
		}
	}
}

// next takes the next answer, and acknowledges it.
func (p *proxy) next() *discoveryv3.DeltaDiscoveryResponse {
	p.t.Helper()
	answer := p.take()
	p.apply(answer)
	p.acknowledge(answer)
	return answer
}

func (p *proxy) acknowledge(answer *discoveryv3.DeltaDiscoveryResponse) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.GetTypeUrl(), ResponseNonce: answer.GetNonce()})
}

func (p *proxy) reject(answer *discoveryv3.DeltaDiscoveryResponse, text string) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.GetTypeUrl(), ResponseNonce: answer.GetNonce(), ErrorDetail: &status.Status{Code: 3, Message: text}})
}

func (p *proxy) apply(answer *discoveryv3.DeltaDiscoveryResponse) {
	kind := kindOf(answer.GetTypeUrl())
	var changes []string
	for _, one := range answer.GetResources() {
		p.has[kind][one.GetName()], p.raw[kind][one.GetName()] = one.GetVersion(), one.GetResource().GetValue()
		changes = append(changes, "+"+one.GetName())
	}
	for _, name := range answer.GetRemovedResources() {
		delete(p.has[kind], name)
		delete(p.raw[kind], name)
		changes = append(changes, "-"+name)
	}
	p.order = append(p.order, kind.String()+" "+strings.Join(sorted(changes), " "))
}

func kindOf(typeURL string) envoyconfig.Kind {
	for kind := range envoyconfig.Kinds {
		if kind.TypeURL() == typeURL {
			return kind
		}
	}
	return -1
}

// quiet fails if the server sends anything before it has answered a request of a type that
// is asked for now. The answer to that is the last in the order of the server.
func (p *proxy) quiet(what string) {
	p.t.Helper()
	select {
	case answer := <-p.in:
		p.t.Fatalf("%s: the server sends %v", what, answer)
	case err := <-p.failed:
		p.t.Fatalf("%s: the stream ended: %v", what, err)
	case <-time.After(200 * time.Millisecond):
	}
}

// names are the resources of a kind that the proxy has.
func (p *proxy) names(kind envoyconfig.Kind) []string { return slices.Sorted(maps.Keys(p.has[kind])) }

// addresses are the endpoints of web.shop:80 as the proxy has them: address/health.
func (p *proxy) addresses() []string {
	p.t.Helper()
	raw, there := p.raw[envoyconfig.Endpoints]["web.shop:80"]
	if !there {
		return nil
	}
	assignment := &endpointv3.ClusterLoadAssignment{}
	if err := proto.Unmarshal(raw, assignment); err != nil {
		p.t.Fatal(err)
	}
	all := []string{}
	for _, zone := range assignment.GetEndpoints() {
		for _, e := range zone.GetLbEndpoints() {
			all = append(all, e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()+"/"+e.GetHealthStatus().String())
		}
	}
	return all
}
