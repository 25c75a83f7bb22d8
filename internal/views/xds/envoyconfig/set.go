package envoyconfig

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Kind is a type of resources. The kinds are in the order in which additions are sent.
type Kind int

// The kinds of resources.
const (
	Clusters Kind = iota
	Endpoints
	Listeners
	Routes
	Kinds // how many there are
)

// String is the short name of the kind.
func (k Kind) String() string { return [...]string{"CDS", "EDS", "LDS", "RDS"}[k] }

// TypeURL is the name of the kind in the protocol.
func (k Kind) TypeURL() string {
	return "type.googleapis.com/" + [...]string{
		"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment",
		"envoy.config.listener.v3.Listener", "envoy.config.route.v3.RouteConfiguration",
	}[k]
}

// Set are resources by kind and name.
type Set [Kinds]map[string]proto.Message

// NewSet returns a set without resources.
func NewSet() Set {
	var s Set
	for kind := range s {
		s[kind] = make(map[string]proto.Message)
	}
	return s
}

// Bytes are those of a message, always the same for the same message.
func Bytes(message proto.Message) []byte {
	// It fails for texts that are not UTF-8, and all texts here are names.
	text, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return text
}

// packed is a message as a field of any type.
func packed(message proto.Message) *anypb.Any {
	return &anypb.Any{TypeUrl: "type.googleapis.com/" + string(message.ProtoReflect().Descriptor().FullName()), Value: Bytes(message)}
}

// ads says that a resource comes from the same stream. Wait is how long a proxy waits for
// it; 0 is for ever.
func ads(wait time.Duration) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		ResourceApiVersion:    corev3.ApiVersion_V3, InitialFetchTimeout: durationpb.New(wait),
	}
}

func number(n uint32) *wrapperspb.UInt32Value { return wrapperspb.UInt32(n) }
