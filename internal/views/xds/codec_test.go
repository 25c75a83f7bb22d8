package xds_test

import (
	"bytes"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

func TestAnAnswerIsEncodedAsTheLibraryDoesAndItsResourcesAreNotCopied(t *testing.T) {
	large := bytes.Repeat([]byte{7}, 100_000)
	assignment := &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment", Value: large}
	for name, c := range map[string]struct {
		message proto.Message
		copied  bool
	}{
		"delta": {message: &discoveryv3.DeltaDiscoveryResponse{
			TypeUrl: assignment.GetTypeUrl(), Nonce: "7", RemovedResources: []string{"web.shop:80", "api.shop:80"},
			Resources: []*discoveryv3.Resource{{Name: "a", Version: "1", Resource: assignment}, {Name: "b"}, {Name: "c", Resource: &anypb.Any{}}, {Name: strings.Repeat("c", 300), Resource: &anypb.Any{TypeUrl: "t"}}},
		}},
		"the state of the world": {message: &discoveryv3.DiscoveryResponse{
			TypeUrl: assignment.GetTypeUrl(), Nonce: "7", VersionInfo: "abc", Resources: []*anypb.Any{assignment, {}, assignment},
		}},
		"nothing": {message: &discoveryv3.DeltaDiscoveryResponse{}},
		"with a field that we do not set": {copied: true, message: &discoveryv3.DeltaDiscoveryResponse{
			Resources: []*discoveryv3.Resource{{Name: "a", Resource: assignment, Ttl: durationpb.New(1)}}, ControlPlane: &corev3.ControlPlane{Identifier: "x"},
		}},
		"another message": {copied: true, message: assignment},
	} {
		t.Run(name, func(t *testing.T) {
			buffers, err := xds.NewSharing().Marshal(c.message)
			if err != nil {
				t.Fatal(err)
			}
			again := c.message.ProtoReflect().New().Interface()
			if err := xds.NewSharing().Unmarshal(buffers, again); err != nil || !proto.Equal(again, c.message) {
				t.Errorf("got %v and %v, want %v", again, err, c.message)
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
}
