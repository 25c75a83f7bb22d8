package xds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	grpcxds "google.golang.org/grpc/xds"
)

// backends are servers of gRPC, by the number of their port.
func backends(t *testing.T, count int) []int32 {
	t.Helper()
	var ports []int32
	for range count {
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		healthv1.RegisterHealthServer(server, health.NewServer())
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		t.Cleanup(func() { server.Stop(); <-served })
		ports = append(ports, int32(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports
}

// behind writes a slice for each backend of the Service web in shop.
func (c *cluster) behind(ports []int32, state func(i int) endpoint) {
	for i, number := range ports {
		c.slice("shop", "web-"+strconv.Itoa(i), "web", "grpc", number, state(i))
	}
}

func local(int) endpoint { return endpoint{address: "127.0.0.1"} }

// dialer makes clients of gRPC that ask the servers for everything else.
func dialer(t *testing.T, servers ...string) func(target string) healthv1.HealthClient {
	t.Helper()
	var all []map[string]any
	for _, address := range servers {
		all = append(all, map[string]any{"server_uri": address, "channel_creds": []map[string]any{{"type": "insecure"}}})
	}
	bootstrap, err := json.Marshal(map[string]any{"xds_servers": all, "node": map[string]any{"id": t.Name(), "cluster": "shop/test"}})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	return func(target string) healthv1.HealthClient {
		connection, err := grpc.NewClient("xds:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		return healthv1.NewHealthClient(connection)
	}
}

// call returns the port of the backend that answers.
func call(t *testing.T, client healthv1.HealthClient, options ...grpc.CallOption) (int32, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	var from peer.Peer
	_, err := client.Check(ctx, &healthv1.HealthCheckRequest{}, append(options, grpc.Peer(&from))...)
	if err != nil {
		return 0, err
	}
	return int32(from.Addr.(*net.TCPAddr).Port), nil
}

// calls counts by port which backends answer.
func calls(t *testing.T, client healthv1.HealthClient, count int) map[int32]int {
	t.Helper()
	got := make(map[int32]int)
	for range count {
		from, err := call(t, client, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		got[from]++
	}
	return got
}

// all waits until so many backends answer.
func all(t *testing.T, client healthv1.HealthClient, backends int) {
	t.Helper()
	until(t, fmt.Sprintf("%d backends answer", backends), func() bool { return len(calls(t, client, 60)) == backends })
}

func TestContract64GRPCClientsCallWhatIsReadyByZoneAndNothingThatDrains(t *testing.T) {
	c, ports := newCluster(t), backends(t, 4)
	c.service("shop", "web", port("grpc", 80))
	c.behind(ports, func(i int) endpoint {
		switch i {
		case 0:
			return in("a", local(i))
		case 3:
			return in("b", draining("127.0.0.1"))
		}
		return in("b", local(i))
	})
	dial := dialer(t, start(t, c, nil).address)
	for _, target := range []string{"web.shop:80", "web.shop"} {
		client := dial(target)
		all(t, client, 3)
		got := calls(t, client, 600)
		for i, number := range ports[:3] {
			if got[number] < 120 || got[number] > 280 {
				t.Errorf("%s: backend %d got %d of 600 calls, want about a third: zone a has one of the three", target, i, got[number])
			}
		}
	}
}

func TestContract64WhereAllDrainGRPCClientsCallThem(t *testing.T) {
	c, ports := newCluster(t), backends(t, 2)
	c.service("shop", "web", port("grpc", 80))
	c.behind(ports, local)
	client := dialer(t, start(t, c, nil).address)("web.shop:80")
	all(t, client, 2)
	c.behind(ports, func(int) endpoint { return draining("127.0.0.1") })
	for range 200 {
		if _, err := call(t, client); err != nil {
			t.Fatalf("a call fails while all endpoints drain: %v", err)
		}
	}
}

func TestContract64GRPCClientsGoOnWithoutAServerAndFollowItWhenItIsBack(t *testing.T) {
	c, ports := newCluster(t), backends(t, 3)
	c.service("shop", "web", port("grpc", 80))
	c.behind(ports[:2], local)
	// The second replica has another history: it saw the Service later and oftener.
	first := start(t, c, nil)
	forward := newForward(t, first.address)
	client := dialer(t, forward.address)("web.shop:80")
	all(t, client, 2)
	first.stop()
	for range 50 {
		if _, err := call(t, client); err != nil {
			t.Fatalf("a call fails while the server is away: %v", err)
		}
	}
	c.service("shop", "other", port("grpc", 80))
	second := start(t, c, nil)
	c.behind(ports, local)
	forward.to(second.address)
	all(t, client, 3)
}

func TestContract64APortThatIsAddedTakesNothingFromGRPCClients(t *testing.T) {
	c, ports := newCluster(t), backends(t, 1)
	c.service("shop", "web", port("grpc", 80))
	c.behind(ports, local)
	client := dialer(t, start(t, c, nil).address)("web.shop")
	all(t, client, 1)
	c.service("shop", "web", port("grpc", 80), port("metrics", 9090))
	for range 100 {
		if _, err := call(t, client); err != nil {
			t.Fatal(err)
		}
	}
}

// TestContract64AnAddressInTwoSlicesIsNotRejected: a client of gRPC rejects all endpoints
// of a Service where one is there twice.
func TestContract64AnAddressInTwoSlicesIsNotRejected(t *testing.T) {
	c, ports := newCluster(t), backends(t, 1)
	c.service("shop", "web", port("grpc", 80))
	c.behind(slices.Concat(ports, ports), local)
	s := start(t, c, nil)
	calls(t, dialer(t, s.address)("web.shop:80"), 10)
	if got := s.Stats().Rejecting; got != 0 {
		t.Errorf("%d clients reject what they were sent", got)
	}
}

// TestContract64GRPCClientsReadEverythingOfManyServices counts by what a client reads at
// the wire how long 1,000 Services take, and that a change sends one of them.
func TestContract64GRPCClientsFollowOneOf1000Services(t *testing.T) {
	const services = 1000
	c, ports := newCluster(t), backends(t, 2)
	for i := range services {
		name := "s" + strconv.Itoa(i)
		c.service("shop", name, port("grpc", 80))
		c.slice("shop", name+"-1", name, "grpc", ports[0], local(0))
	}
	s := start(t, c, nil)
	dial := dialer(t, s.address)
	begun := time.Now()
	for i := 0; i < services; i += 100 {
		if _, err := call(t, dial("s"+strconv.Itoa(i)+".shop:80"), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("10 clients of 1,000 Services begin in %s", time.Since(begun))
	before := pushes(s)
	client := dial("s500.shop:80")
	c.slice("shop", "s500-1", "s500", "grpc", ports[1], local(0))
	until(t, "calls go to the other backend", func() bool {
		from, err := call(t, client, grpc.WaitForReady(true))
		return err == nil && from == ports[1]
	})
	if got := pushes(s) - before; got > 3 {
		t.Errorf("one change made %d answers with endpoints", got)
	}
}

// pushes are the answers with endpoints so far.
func pushes(s *server) (count uint64) {
	for _, one := range s.Stats().Kinds {
		if one.Kind == endpoints {
			count += one.Pushes
		}
	}
	return count
}
