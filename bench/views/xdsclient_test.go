package views_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	clusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	// clusterName is what the Service is called in xDS.
	clusterName = service + "." + namespace + ":80"
)

// proxy does what an Envoy does on its stream, in the delta protocol: it acknowledges all
// that it is sent. Its windows are wide, as Envoy's are (256 MiB by default). It decodes no
// resource, to leave the machine to what is measured.
type proxy struct {
	// acked counts acknowledgements of endpoints, last is when the newest was sent.
	acked, last atomic.Int64
	// read counts the bytes of the connection, received the resources in answers.
	read, received atomic.Int64
	end            func()

	mu sync.Mutex
	// has are versions by type and name.
	has map[string]map[string]string
}

// countedConn counts what is read of a connection.
type countedConn struct {
	net.Conn

	read *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// proxy connects, and asks for the types with what another connection had before.
func (w *world) proxy(t *testing.T, address string, number int, had map[string]map[string]string, types ...string) *proxy {
	t.Helper()
	p := &proxy{has: make(map[string]map[string]string)}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)),
		grpc.WithInitialWindowSize(16<<20), grpc.WithInitialConnWindowSize(24<<20),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var dialer net.Dialer
			made, err := dialer.DialContext(ctx, "tcp", address)
			return countedConn{made, &p.read}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range types {
		p.has[one] = make(map[string]string)
		maps.Copy(p.has[one], had[one])
		request := &discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{Id: fmt.Sprint(number), Cluster: namespace + "/edge"}, TypeUrl: one, InitialResourceVersions: had[one],
		}
		if one == endpointType {
			request.ResourceNamesSubscribe = []string{clusterName}
		}
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.follow(stream)
	}()
	p.end = func() { cancel(); <-ended; _ = connection.Close() }
	return p
}

// follow acknowledges until the stream ends.
func (p *proxy) follow(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient) {
	for {
		answer, err := stream.Recv()
		if err != nil || stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.GetTypeUrl(), ResponseNonce: answer.GetNonce()}) != nil {
			return
		}
		p.received.Add(int64(len(answer.GetResources())))
		p.mu.Lock()
		for _, one := range answer.GetResources() {
			p.has[answer.GetTypeUrl()][one.GetName()] = one.GetVersion()
		}
		p.mu.Unlock()
		if answer.GetTypeUrl() == endpointType {
			p.last.Store(time.Now().UnixNano())
			p.acked.Add(1)
		}
	}
}

// versions are what it has.
func (p *proxy) versions() map[string]map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return map[string]map[string]string{clusterType: maps.Clone(p.has[clusterType]), endpointType: maps.Clone(p.has[endpointType])}
}
