package xds_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
)

// BenchmarkChangeToAcknowledgement is the time from a slice in the cache until all proxies
// of a fleet have acknowledged it.
func BenchmarkChangeToAcknowledgement(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		for _, proxies := range []int{1, 50} {
			b.Run(fmt.Sprintf("endpoints=%d/proxies=%d", n, proxies), func(b *testing.B) { toAcknowledgement(b, n, proxies) })
		}
	}
}

func toAcknowledgement(b *testing.B, endpoints, proxies int) {
	b.Helper()
	c := &cluster{Cache: cache.New(1)}
	c.sync(b)
	c.service("shop", "web", port("http", 80))
	const each = 100
	slice := func(i, state int) {
		var all []endpoint
		for j := range each {
			e := endpoint{address: fmt.Sprintf("10.%d.%d.%d", i/250, i%250, j+1)}
			if j == 0 && state%2 == 1 {
				e = down(e.address)
			}
			all = append(all, e)
		}
		c.slice("shop", fmt.Sprintf("web-%d", i), "web", "http", 8080, all...)
	}
	for i := range endpoints / each {
		slice(i, 0)
	}
	listening := make(chan net.Addr, 1)
	server, err := xds.New(xds.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: c.Cache, Settings: envoyconfigtest.Defaults(), MostClients: 100, MostOfOne: 100,
		Listening: func(at net.Addr) { listening <- at }, Logger: discard(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Run(ctx) })
	address := (<-listening).String()
	for i := range proxies {
		running.Go(func() { acknowledge(ctx, b, address, i) })
	}
	acks := func() uint64 {
		for _, k := range server.Stats().Kinds {
			if k.Protocol == xds.Envoy && k.Kind == envoyconfig.Endpoints {
				return k.Acks
			}
		}
		return 0
	}
	wait := func(count uint64) {
		for acks() < count {
			time.Sleep(50 * time.Microsecond)
		}
	}
	count := uint64(proxies)
	wait(count)
	var took []time.Duration
	b.ResetTimer()
	for i := range b.N {
		begun := time.Now()
		slice(0, i+1)
		count += uint64(proxies)
		wait(count)
		took = append(took, time.Since(begun))
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	cancel()
	running.Wait()
}

// acknowledge is a proxy that acknowledges everything.
func acknowledge(ctx context.Context, b *testing.B, address string, i int) {
	b.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		b.Error(err)
		return
	}
	defer connection.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return
	}
	request := &discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: fmt.Sprint(i), Cluster: "shop/edge"}, TypeUrl: envoyconfig.Endpoints.TypeURL(), ResourceNamesSubscribe: []string{"web.shop:80"},
	}
	for stream.Send(request) == nil {
		answer, err := stream.Recv()
		if err != nil {
			return
		}
		request = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: answer.GetTypeUrl(), ResponseNonce: answer.GetNonce()}
	}
}
