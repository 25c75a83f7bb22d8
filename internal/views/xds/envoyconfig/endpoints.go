package envoyconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// assignment is what a cluster of that name has as endpoints. Its zones are encoded
// already: there are thousands of endpoints, each change makes them anew, and as messages
// they take ten times the memory.
func assignment(name string, zones []byte) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	a.ProtoReflect().SetUnknown(zones)
	return a
}

// zone is the encoding of the endpoints of a LocalityLbEndpoints.
type zone struct {
	endpoints []byte
	ready     int
}

// endpointRoom is enough for an endpoint with an IPv4 address. Where there are others, the
// room grows.
const endpointRoom = 32

// zones are the endpoints of a port by zone, as the field endpoints of an assignment. The
// endpoints are the Service's, in the order of a join.
func zones(service *join.Service, port join.Port, all []join.Endpoint) []byte {
	members := usable(service, port, all)
	counts := make(map[string]int)
	for _, e := range members {
		counts[e.Zone]++
	}
	byZone := make(map[string]*zone, len(counts))
	for name, count := range counts {
		byZone[name] = &zone{endpoints: make([]byte, 0, count*endpointRoom)}
	}
	for _, e := range members {
		byZone[e.Zone].add(e)
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(byZone)) {
		if z := byZone[name]; z.ready > 0 {
			text = z.appendTo(text, name)
		}
	}
	return text
}

// The numbers of fields in envoy.config.endpoint.v3 and envoy.config.core.v3.
const (
	fieldEndpoints = 2 // ClusterLoadAssignment.endpoints
	fieldEndpoint  = 2 // LocalityLbEndpoints.lb_endpoints
	fieldHealth    = 2 // LbEndpoint.health_status
	fieldInner     = 1 // LbEndpoint.endpoint, Endpoint.address and Address.socket_address
	fieldAddress   = 2 // SocketAddress.address
	fieldPort      = 3 // SocketAddress.port_value
)

// appendTo appends the zone of that name with its weight.
func (z *zone) appendTo(text []byte, name string) []byte {
	own := Bytes(&endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Zone: name}, LoadBalancingWeight: number(uint32(z.ready))})
	text = protowire.AppendVarint(protowire.AppendTag(text, fieldEndpoints, protowire.BytesType), uint64(len(own)+len(z.endpoints)))
	return append(append(text, own...), z.endpoints...)
}

// add appends an endpoint, which is a socket address in three messages.
func (z *zone) add(e *join.Endpoint) {
	health := corev3.HealthStatus_HEALTHY
	if e.State == views.Draining {
		health = corev3.HealthStatus_DRAINING
	} else if e.State == views.Ready {
		z.ready++
	}
	var room [64]byte
	address := e.Address.AppendTo(room[:0])
	socket := protowire.SizeTag(fieldAddress) + protowire.SizeBytes(len(address)) + protowire.SizeTag(fieldPort) + protowire.SizeVarint(uint64(e.TargetPort))
	outer := protowire.SizeTag(fieldInner) + protowire.SizeBytes(socket)
	inner := protowire.SizeTag(fieldInner) + protowire.SizeBytes(outer)
	whole := protowire.SizeTag(fieldInner) + protowire.SizeBytes(inner) + protowire.SizeTag(fieldHealth) + protowire.SizeVarint(uint64(health))

	text := protowire.AppendVarint(protowire.AppendTag(z.endpoints, fieldEndpoint, protowire.BytesType), uint64(whole))
	for _, size := range []int{inner, outer, socket} {
		text = protowire.AppendVarint(protowire.AppendTag(text, fieldInner, protowire.BytesType), uint64(size))
	}
	text = protowire.AppendBytes(protowire.AppendTag(text, fieldAddress, protowire.BytesType), address)
	text = protowire.AppendVarint(protowire.AppendTag(text, fieldPort, protowire.VarintType), uint64(e.TargetPort))
	z.endpoints = protowire.AppendVarint(protowire.AppendTag(text, fieldHealth, protowire.VarintType), uint64(health))
}

// usable are the endpoints of a port that are not down, of one family. An address that
// is there twice, with another target port, is another endpoint.
func usable(service *join.Service, port join.Port, all []join.Endpoint) []*join.Endpoint {
	of := [2][]*join.Endpoint{make([]*join.Endpoint, 0, len(all))} // the Service's first family, and the other one
	var ready [2]bool
	for i := range all {
		e := &all[i]
		if e.Port.Name != port.Name || e.State == views.Down {
			continue
		}
		family := 0
		if e.Address.Is6() != service.IPv6First {
			family = 1
		}
		of[family] = append(of[family], e)
		ready[family] = ready[family] || e.State == views.Ready
	}
	if !ready[0] && ready[1] {
		return of[1]
	}
	return of[0]
}

// mark gives an assignment other bytes whenever its cluster has others. A proxy that gets
// another version of a cluster waits for its endpoints, and a server of the delta
// protocol sends only what changed: so both have to change. Proxies ignore the field.
func mark(assignment *endpointv3.ClusterLoadAssignment, cluster proto.Message) {
	sum := sha256.Sum256(Bytes(cluster))
	assignment.NamedEndpoints = map[string]*endpointv3.Endpoint{"cluster-" + hex.EncodeToString(sum[:8]): {}}
}
