package xds_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

const secrets = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// strange are names of resources that nobody has.
func strange(from, to int) []string {
	all := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("name-of-a-resource-that-nobody-has-%09d.shop:80", i))
	}
	return all
}

// greedy is a stream of a client that wants too much. Answers are read and not acknowledged.
type greedy struct {
	delta discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient
	world discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	ended chan error
}

func newGreedy(t *testing.T, s *server) *greedy {
	t.Helper()
	connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = connection.Close() })
	service := discoveryv3.NewAggregatedDiscoveryServiceClient(connection)
	g := &greedy{ended: make(chan error, 2)}
	if g.delta, err = service.DeltaAggregatedResources(ctx); err != nil {
		t.Fatal(err)
	}
	if g.world, err = service.StreamAggregatedResources(ctx); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := g.delta.Recv(); err != nil {
				g.ended <- err
				return
			}
		}
	}()
	go func() {
		for {
			if _, err := g.world.Recv(); err != nil {
				g.ended <- err
				return
			}
		}
	}()
	return g
}

// asks sends a request of the delta protocol; false where the stream has ended.
func (g *greedy) asks(typeURL string, more, fewer []string) bool {
	return g.delta.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: "g", Cluster: "shop/edge"}, TypeUrl: typeURL, ResourceNamesSubscribe: more, ResourceNamesUnsubscribe: fewer,
	}) == nil
}

// has sends what the client says it has.
func (g *greedy) has(kind envoyconfig.Kind, versions map[string]string) bool {
	return g.delta.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: "g", Cluster: "shop/edge"}, TypeUrl: kind.TypeURL(), InitialResourceVersions: versions,
	}) == nil
}

func (g *greedy) asksWorld(typeURL string, names []string) bool {
	return g.world.Send(&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "g"}, TypeUrl: typeURL, ResourceNames: names}) == nil
}

// versionsOf are versions that the client says it has of resources.
func versionsOf(names []string) map[string]string {
	all := make(map[string]string, len(names))
	for _, name := range names {
		all[name] = "v"
	}
	return all
}

// attacks are ways to make a list of the server longer without an end. Each says what one
// round of it sends, and reports whether the stream still takes it.
var attacks = map[string]func(g *greedy, round int) bool{
	"names": func(g *greedy, round int) bool {
		return g.asks(endpoints.TypeURL(), strange(round*40_000, (round+1)*40_000), nil)
	},
	"names behind some that were never asked for": func(g *greedy, round int) bool {
		if round == 0 {
			return g.asks(endpoints.TypeURL(), nil, strange(0, 50_000))
		}
		return g.asks(endpoints.TypeURL(), strange(round*40_000, (round+1)*40_000), nil)
	},
	"names at once": func(g *greedy, _ int) bool { return g.asks(routes.TypeURL(), make([]string, 1<<20), nil) },
	"names that are asked for no more": func(g *greedy, _ int) bool {
		return g.asks(routes.TypeURL(), nil, make([]string, 1<<20))
	},
	"versions": func(g *greedy, _ int) bool {
		return g.has(clusters, versionsOf(strange(0, 60_000)))
	},
	"the text of versions": func(g *greedy, round int) bool {
		if round == 0 { // they are cut
			return g.has(clusters, map[string]string{"web.shop:80": strings.Repeat("v", 3<<20), "gone.shop:80": strings.Repeat("v", 1<<19)})
		}
		return g.asks(clusters.TypeURL(), strange(round*40_000, (round+1)*40_000), nil)
	},
	"answers that are not acknowledged": func(g *greedy, round int) bool {
		return g.asks(endpoints.TypeURL(), []string{"web.shop:80"}, nil) && g.asks(endpoints.TypeURL(), nil, []string{"web.shop:80"})
	},
	"names in the state of the world": func(g *greedy, _ int) bool {
		return g.asksWorld(endpoints.TypeURL(), strange(0, 50_001))
	},
	"a node that says much of itself": func(g *greedy, _ int) bool {
		return g.delta.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters.TypeURL(), Node: &corev3.Node{Id: strings.Repeat("i", 1<<20)}}) == nil
	},
}

// TestContract68WhatAClientMakesLongerIsBounded: each attack ends the stream, with a reason,
// before the server keeps much.
func TestContract68WhatAClientMakesLongerIsBounded(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			s := start(t, twoServices(t), nil)
			before := memory.Live()
			g := newGreedy(t, s)
			for round := 0; attack(g, round) && round < 5000; round++ {
			}
			select {
			case err := <-g.ended:
				if code := status.Code(err); code != codes.ResourceExhausted && code != codes.InvalidArgument {
					t.Errorf("the stream ends without a reason: %v", err)
				}
			case <-time.After(waitLimit):
				t.Error("the stream does not end")
			}
			until(t, "the heap has grown by 32 MiB at most, once what was under way has ended", func() bool { return memory.Live() <= before+22<<20 })
		})
	}
}

// TestContract68TheTextOfNamesHasABound: what Envoys say they have is kept. Of what a client of
// gRPC asks for it is not.
func TestContract68TheTextOfNamesHasABound(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := memory.Live()
	var refused error
	for n := 0; refused == nil && n < 10; n++ {
		g := newGreedy(t, s)
		for kind := range envoyconfig.Kinds {
			g.has(kind, versionsOf([]string{strings.Repeat("n", 3<<20), strings.Repeat("m", 1<<19)}))
			g.asksWorld(kind.TypeURL(), []string{strings.Repeat("n", 3<<20)})
		}
		select {
		case refused = <-g.ended:
		case <-time.After(50 * time.Millisecond):
		}
	}
	if status.Code(refused) != codes.ResourceExhausted || !strings.Contains(refused.Error(), "MiB") {
		t.Errorf("got %v", refused)
	}
	until(t, "the heap has grown by 64 MiB at most, once what was under way has ended", func() bool { return memory.Live() <= before+64<<20 })
}

// TestContract68OfTypesThatAreNotServedNothingIsKept: streams that ask for ever more of them go on.
func TestContract68OfTypesThatAreNotServedNothingIsKept(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := memory.Live()
	g := newGreedy(t, s)
	long := strings.Repeat("t", 1<<20)
	for round := range 50 {
		another := fmt.Sprint("type.googleapis.com/", round, long)
		if !g.asks(secrets, strange(round*3_000, (round+1)*3_000), nil) || !g.asks(another, nil, nil) || !g.asksWorld(another, strange(0, 100)) {
			t.Fatal("a stream has ended")
		}
	}
	if !g.asks(clusters.TypeURL(), nil, nil) || !g.asksWorld(clusters.TypeURL(), []string{"web.shop:80"}) {
		t.Fatal("a stream has ended")
	}
	until(t, "both streams are answered", func() bool {
		answered := 0
		for _, one := range s.Stats().Kinds {
			answered += int(one.Pushes)
		}
		return answered == 2
	})
	until(t, "the heap has grown by 8 MiB at most, once what was under way has ended", func() bool { return memory.Live() <= before+8<<20 })
}

// TestContract68WhatANodeSaysOfItselfIsNotKept: but for its names.
func TestContract68WhatANodeSaysOfItselfIsNotKept(t *testing.T) {
	s := start(t, twoServices(t), nil)
	many := make([]*structpb.Value, 200_000)
	for i := range many {
		many[i] = structpb.NewBoolValue(true)
	}
	metadata := &structpb.Struct{Fields: map[string]*structpb.Value{"much": structpb.NewListValue(&structpb.ListValue{Values: many})}}
	before := memory.Live()
	for range 20 {
		p := connect(t, s, "a", "shop/edge", nil)
		p.node.Metadata = metadata
		p.ask(clusters)
		p.next()
	}
	if after := memory.Live(); after > before+16<<20 {
		t.Errorf("the heap grew from %d to %d MiB", before, after)
	}
}

// TestContract68TheStreamsOfOneIdentityHaveABoundTogether: what one stream may ask for, 200
// may not.
func TestContract68TheStreamsOfOneIdentityHaveABoundTogether(t *testing.T) {
	s := start(t, twoServices(t), func(o *xds.Options) { o.MostClients = 1000 })
	before := memory.Live()
	var refused error
	for n := 0; refused == nil && n < 400; n++ {
		g := newGreedy(t, s)
		for kind := range envoyconfig.Kinds {
			g.has(kind, versionsOf(strange(0, 5_000)))
			g.asks(kind.TypeURL(), strange(5_000, 50_000), nil)
		}
		select {
		case refused = <-g.ended:
		case <-time.After(50 * time.Millisecond):
		}
	}
	if status.Code(refused) != codes.ResourceExhausted || !strings.Contains(refused.Error(), "MiB") {
		t.Errorf("got %v", refused)
	}
	if after := memory.Live(); after > before+64<<20 {
		t.Errorf("the heap grew from %d to %d MiB", before, after)
	}
	until(t, "there is room again when the streams have ended", func() bool {
		g := newGreedy(t, s)
		g.has(clusters, versionsOf(strange(0, 100)))
		g.asks("", nil, nil)
		return strings.Contains((<-g.ended).Error(), "type URL")
	})
}

// TestContract140ARequestCostsWhatItSays: an empty request of a client with 50,000 names takes
// as long as one of a client with one, and so does one that is answered.
func TestContract140ARequestCostsWhatItSays(t *testing.T) {
	rounds := func(names int) time.Duration {
		s := start(t, twoServices(t), nil)
		p := connect(t, s, "a", "shop/edge", nil)
		p.has[clusters] = versionsOf(strange(0, names))
		p.ask(clusters)
		p.next()
		p.ask(endpoints, append(strange(0, names), "web.shop:80")...)
		p.next()
		began := time.Now()
		for range 300 {
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters.TypeURL()})
			p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints.TypeURL(), ResourceNamesSubscribe: []string{"web.shop:80"}})
			p.next()
		}
		return time.Since(began)
	}
	var few, many time.Duration
	for range 5 { // a machine that does much else is slow at times
		if few, many = rounds(1), rounds(49_000); many < 4*few {
			return
		}
	}
	t.Errorf("300 requests of a client with 49,000 names take %v, of one with one %v", many, few)
}

// TestContract140OfALongRequestNothingIsKeptWhenItIsHandled: a stream that lasts sends many.
func TestContract140OfALongRequestNothingIsKeptWhenItIsHandled(t *testing.T) {
	s := start(t, twoServices(t), nil)
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(clusters)
	p.next()
	kept := func() int64 {
		return int64(memory.Live())
	}
	before := kept()
	long := slices.Repeat([]string{strings.Repeat("n", 250)}, 20)
	for range 10_000 {
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters.TypeURL(), ResourceNamesUnsubscribe: long})
		p.next()
		p.order = nil // what the test keeps
	}
	until(t, "of each request less than 100 bytes are kept, once what was under way has ended", func() bool { return kept() < before+100*10_000 })
}

func TestContract140NothingIsKeptOfAClientThatHasLeft(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := memory.Live()
	for range 30 {
		p := connect(t, s, "a", "shop/edge", nil)
		p.has[clusters] = versionsOf(strange(0, 9_000))
		p.ask(clusters)
		p.next()
		if err := p.stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if err := p.ends(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	until(t, "the streams are gone", func() bool { return len(s.Streams()) == 0 })
	until(t, "the heap has grown by 8 MiB at most, once what was under way has ended", func() bool { return memory.Live() <= before+8<<20 })
}
