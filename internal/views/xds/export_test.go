package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Made reports whether the newest endpoints of a Service were made for clients of gRPC, and
// for Envoys. Those that were not cannot be made any more.
func (s *Server) Made(key join.Key) (grpc, envoy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := func(of set) bool {
		for _, r := range of[envoyconfig.Endpoints] {
			there := true
			r.of.once.Do(func() { there = false })
			return there
		}
		return false
	}
	t := s.services[key]
	return made(t.grpc), made(t.envoy)
}

// Generation makes what a fleet of the file is sent now that of a generation.
func (s *Server) Generation(fleet string, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Fleets.mu.Lock()
	defer s.opts.Fleets.mu.Unlock()
	for _, fleets := range []map[string]envoyconfig.Traffic{s.opts.Fleets.file, s.opts.Fleets.all, s.traffic} {
		traffic := fleets[fleet]
		traffic.Generation = generation
		fleets[fleet] = traffic
	}
}

// Encode is an answer about clusters.
func Encode(protocol Protocol, nonce, version string, resources []*discoveryv3.Resource, removed []string) (mem.BufferSlice, error) {
	return reply{resources: resources, removed: removed, version: version}.encode(protocol, nonce)
}

// NewSharing returns the codec of the server.
func NewSharing() encoding.CodecV2 { return newSharing() }

// Decode reads a request as streams do.
func Decode(text []byte, request proto.Message) error { return decode(text, request) }
