package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// resource is one resource. Its bytes are made when the first client needs them, and then
// they are those of every client.
type resource struct {
	of   *batch
	name string
}

// batch are resources that are made together: those of one kind of a Service or fleet.
type batch struct {
	once sync.Once
	kind envoyconfig.Kind
	make func() map[string]proto.Message
	// encoded is never changed once it is made: answers share it.
	encoded map[string]*discoveryv3.Resource
}

// later returns resources of these names that are made when they are needed.
func later(kind envoyconfig.Kind, names []string, from func() map[string]proto.Message) map[string]*resource {
	of := &batch{kind: kind, make: from}
	all := make(map[string]*resource, len(names))
	for _, name := range names {
		all[name] = &resource{of, name}
	}
	return all
}

// encoded is the resource as it is sent.
func (r *resource) encoded() *discoveryv3.Resource {
	r.of.once.Do(r.of.encode)
	return r.of.encoded[r.name]
}

// version is that of the bytes: every replica gives the same bytes the same version.
func (r *resource) version() string { return r.encoded().GetVersion() }

func (b *batch) encode() {
	made := b.make()
	b.encoded = make(map[string]*discoveryv3.Resource, len(made))
	for name, message := range made {
		text := envoyconfig.Bytes(message)
		b.encoded[name] = &discoveryv3.Resource{
			Name: name, Version: versionOf(text), Resource: &anypb.Any{TypeUrl: b.kind.TypeURL(), Value: text},
		}
	}
	b.make = nil // and with it what it was made of
}

// versionOf is the version of some bytes.
func versionOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// set are resources by kind and name.
type set [envoyconfig.Kinds]map[string]*resource

// newSet returns a set of messages that are there.
func newSet(from envoyconfig.Set) set {
	var s set
	for kind, all := range from {
		s[kind] = later(envoyconfig.Kind(kind), slices.Sorted(maps.Keys(all)), func() map[string]proto.Message { return all })
	}
	return s
}

// merge adds the resources of another set.
func (s *set) merge(other set) {
	for kind := range s {
		if s[kind] == nil {
			s[kind] = make(map[string]*resource)
		}
		maps.Copy(s[kind], other[kind])
	}
}

// form makes the resources of a Service for one kind of clients.
type form func(*join.Service, []join.Endpoint, envoyconfig.Settings) envoyconfig.Set

// of returns the resources of a Service in this form. Those that do not depend on endpoints
// are these of before, if the Service is the same as then.
func (f form) of(j cache.JoinedService, s envoyconfig.Settings, before *set) set {
	var to set
	if before != nil {
		to = *before
	} else {
		for kind, all := range f(j.Service, nil, s) {
			to[kind] = later(envoyconfig.Kind(kind), slices.Sorted(maps.Keys(all)), func() map[string]proto.Message { return f(j.Service, nil, s)[kind] })
		}
	}
	names := slices.Collect(maps.Keys(to[envoyconfig.Endpoints]))
	to[envoyconfig.Endpoints] = later(envoyconfig.Endpoints, names, func() map[string]proto.Message {
		return f(j.Service, j.Endpoints, s)[envoyconfig.Endpoints]
	})
	return to
}
