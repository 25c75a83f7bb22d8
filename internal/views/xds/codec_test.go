package xds_test

import (
	"bytes"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

func TestAnAnswerIsEncodedAsTheLibraryDoesAndItsResourcesAreNotCopied(t *testing.T) {
	large := bytes.Repeat([]byte{7}, 100_000)
	assignment := &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", Value: large}
	all := []*discoveryv3.Resource{{Name: "a", Version: "1", Resource: assignment}, {Name: "c", Resource: &anypb.Any{}}, {Name: strings.Repeat("c", 300), Resource: &anypb.Any{TypeUrl: "t"}}}
	gone := []string{"web.shop:80", "api.shop:80"}
	of := func(protocol xds.Protocol, nonce, version string, resources []*discoveryv3.Resource, removed []string) mem.BufferSlice {
		buffers, err := xds.Encode(protocol, nonce, version, resources, removed)
		if err != nil {
			t.Fatal(err)
		}
		return buffers
	}
	for name, c := range map[string]struct {
		answer any
		want   proto.Message
		copied bool
	}{
		"delta": {answer: of(xds.Envoy, "7", "", all, gone), want: &discoveryv3.DeltaDiscoveryResponse{
			TypeUrl: clusters.TypeURL(), Nonce: "7", RemovedResources: gone, Resources: all,
		}},
		"the state of the world": {answer: of(xds.GRPC, "7", "abc", all, nil), want: &discoveryv3.DiscoveryResponse{
			TypeUrl: clusters.TypeURL(), Nonce: "7", VersionInfo: "abc", Resources: []*anypb.Any{assignment, {}, {TypeUrl: "t"}},
		}},
		"nothing":         {answer: of(xds.Envoy, "", "", nil, nil), want: &discoveryv3.DeltaDiscoveryResponse{TypeUrl: clusters.TypeURL()}},
		"another message": {answer: assignment, want: assignment, copied: true},
	} {
		t.Run(name, func(t *testing.T) {
			buffers, err := xds.NewSharing().Marshal(c.answer)
			if err != nil {
				t.Fatal(err)
			}
			again := c.want.ProtoReflect().New().Interface()
			if err := xds.NewSharing().Unmarshal(buffers, again); err != nil || !proto.Equal(again, c.want) {
				t.Errorf("got %v and %v, want %v", again, err, c.want)
			}
			own := 0
			for _, b := range buffers {
				if text := b.ReadOnlyData(); len(text) == 0 || &text[0] != &large[0] {
					own += len(text)
				}
			}
			if copied := own >= len(large); copied != c.copied {
				t.Errorf("%d bytes are its own, copied is %v, want %v", own, copied, c.copied)
			}
		})
	}
	if _, err := xds.Encode(xds.Envoy, "7", "", nil, []string{"\xff"}); err == nil {
		t.Error("a name that is no UTF-8 is sent")
	}
}

// TestContract146FieldsThatAreNotReadTakeNoMemory: a request of 4 MiB has 600,000 of them.
func TestContract146FieldsThatAreNotReadTakeNoMemory(t *testing.T) {
	var text []byte
	for number := protowire.Number(100); len(text) < 4<<20-10; number++ {
		text = protowire.AppendVarint(protowire.AppendTag(text, number, protowire.VarintType), 1)
	}
	var request discoveryv3.DeltaDiscoveryRequest
	if allocations := testing.AllocsPerRun(3, func() {
		if err := xds.Decode(bytes.Clone(text), &request); err != nil {
			t.Error(err)
		}
	}); allocations > 20 || proto.Size(&request) > 0 {
		t.Errorf("decoding allocates %v times, and leaves %d bytes", allocations, proto.Size(&request))
	}
}
