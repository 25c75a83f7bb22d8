package views_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const (
	secrets = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	// mostMemory is what the program may take at its worst moment, in KiB.
	mostMemory = 160 << 10
)

// TestContract146ParallelRequestsTakeBoundedMemory: 50 and 100 streams of one identity each
// send requests of 3 MB at once, whether or not they read what they are answered.
func TestContract146ParallelRequestsTakeBoundedMemory(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{})
	c := client(t, server.Config())
	createNamespace(t, c, "xds")
	createService(t, c, "xds", "web", map[string]string{"endpoints.ablmnzde.github.io/views": "true"})
	create(t, c, "xds", slice("web-1", "web", "10.0.0.11"))
	for name, a := range map[string]attack{
		"endpoints":                 {streams: 50, typeURL: assignments, delta: true, reads: true},
		"answers that nobody reads": {streams: 100, typeURL: assignments, delta: true},
		"a type that is not served": {streams: 50, typeURL: secrets, delta: true, reads: true},
		"the state of the world":    {streams: 50, typeURL: assignments, reads: true},
	} {
		t.Run(name, func(t *testing.T) {
			// How much garbage there is at the worst moment depends on the machine: what is kept is
			// too much in every program, not in one of three.
			for range 3 {
				d := serve(t, server.Kubeconfig(t), "XDS_ADDRESS=127.0.0.1:0")
				until(t, "the program serves xDS", func() bool { return d.xdsAddress() != "" })
				before := d.peak(t)
				a.run(t, d.xdsAddress())
				after := d.peak(t)
				t.Logf("at most %d MiB, %d MiB before", after>>10, before>>10)
				if after <= mostMemory {
					return
				}
			}
			t.Errorf("the program took more than %d MiB three times", mostMemory>>10)
		})
	}
}

// peak is the most memory that the program ever had, in KiB.
func (d *daemon) peak(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	size, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// attack are streams that name 4,000,000 resources that nobody has, 40,000 in each request.
type attack struct {
	streams int
	typeURL string
	// delta says that it is the delta protocol, reads that the answers are read.
	delta, reads bool
}

// attackTime is how long one attack lasts. The most memory is taken at its beginning.
const attackTime = 8 * time.Second

func (a attack) run(t *testing.T, address string) {
	var all sync.WaitGroup
	for n := range a.streams {
		all.Go(func() { a.stream(t, address, n) })
	}
	all.Wait()
}

func (a attack) stream(t *testing.T, address string, n int) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Error(err)
		return
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(t.Context(), attackTime)
	defer cancel()
	method := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	if a.delta {
		method = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	}
	s, err := connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodecV2(raw{encoding.GetCodecV2(protocodec.Name)}))
	if err != nil {
		t.Error(err)
		return
	}
	if a.reads {
		var reading sync.WaitGroup
		defer reading.Wait()
		reading.Go(func() {
			for s.RecvMsg(&discoveryv3.DeltaDiscoveryResponse{}) == nil {
			}
		})
	}
	for round := range 4_000_000/40_000/a.streams + 2 {
		if s.SendMsg(a.request(n*1000+round)) != nil {
			break
		}
	}
	<-ctx.Done()
}

func (a attack) request(n int) []byte {
	names := make([]string, 40_000)
	for i := range names {
		names[i] = fmt.Sprintf("name-of-a-resource-that-nobody-has-and-that-is-rather-long-%05d-%05d.shop:80", n, i)
	}
	var m proto.Message = &discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "g"}, TypeUrl: a.typeURL, ResourceNames: names}
	if a.delta {
		m = &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "g", Cluster: "shop/edge"}, TypeUrl: a.typeURL, ResourceNamesSubscribe: names}
	}
	text, _ := proto.Marshal(m) // nothing in it can fail
	return text
}

// raw sends bytes.
type raw struct{ encoding.CodecV2 }

func (r raw) Marshal(m any) (mem.BufferSlice, error) {
	if text, is := m.([]byte); is {
		return mem.BufferSlice{mem.SliceBuffer(text)}, nil
	}
	return r.CodecV2.Marshal(m)
}
