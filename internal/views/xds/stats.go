package xds

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// stats counts what the server did.
type stats struct {
	of      map[Protocol]*[envoyconfig.Kinds]outcomes
	refused atomic.Uint64
}

// outcomes counts what became of answers.
type outcomes struct{ pushes, acks, rejections atomic.Uint64 }

// Stats is what the server did so far.
type Stats struct {
	// Streams are those that are open, by protocol.
	Streams map[Protocol]int
	// Rejecting is how many of them keep an old state of some kind because they rejected
	// the new one.
	Rejecting int
	// Kept are the fleets with proxies that keep their listeners although nothing confirms
	// them, by the reason.
	Kept map[KeptReason]int
	// Kinds are the answers by protocol and kind.
	Kinds []KindStats
	// Denied are the connections and streams that were denied, and the streams that ended
	// because of what the client sent, Unacknowledged the steps of fleets that were taken
	// without all acknowledgements.
	Denied, Unacknowledged uint64
}

// KindStats is what became of the answers of one kind.
type KindStats struct {
	Protocol                 Protocol
	Kind                     envoyconfig.Kind
	Pushes, Acks, Rejections uint64
}

// Stats returns what the server did so far.
func (s *Server) Stats() Stats {
	now := Stats{Streams: map[Protocol]int{Envoy: 0, GRPC: 0}, Kept: map[KeptReason]int{KeptMissing: 0, KeptInvalid: 0, KeptUnread: 0}, Denied: s.stats.refused.Load()}
	for _, protocol := range []Protocol{Envoy, GRPC} {
		for kind := range envoyconfig.Kinds {
			of := &s.stats.of[protocol][kind]
			now.Kinds = append(now.Kinds, KindStats{protocol, kind, of.pushes.Load(), of.acks.Load(), of.rejections.Load()})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now.Unacknowledged = s.late
	for _, f := range s.fleets {
		now.Unacknowledged += f.late
		if why := s.definition(f).kept(); why != "" {
			now.Kept[why]++
		}
	}
	for c := range s.clients {
		now.Streams[c.protocol]++
		locked(&c.mu, func() {
			if slices.ContainsFunc(c.kinds[:], func(p progress) bool { return len(p.rejected) > 0 }) {
				now.Rejecting++
			}
		})
	}
	return now
}

// Stream is a client, and what it was sent.
type Stream struct {
	// Client is NAMESPACE/NAME of the certificate, or what the client says of itself
	// where there are no certificates.
	Client   string          `json:"client"`
	Protocol Protocol        `json:"protocol"`
	Node     string          `json:"node"`
	Address  string          `json:"address"`
	Since    time.Time       `json:"since"`
	Sent     []SentResources `json:"sent"`
	// Fleet is where the fleet of an Envoy is written down; missing for clients of gRPC, and
	// for one that has asked for nothing yet.
	Fleet *Definition `json:"fleet,omitempty"`
}

// SentResources is what a client was sent of one kind.
type SentResources struct {
	// Type is CDS, EDS, LDS or RDS.
	Type      string     `json:"type"`
	Resources []Resource `json:"resources"`
	Rejected  *Rejection `json:"rejected,omitempty"`
}

// Resource is one resource as a client has it.
type Resource struct {
	Name    string    `json:"name"`
	Version string    `json:"version"`
	SentAt  time.Time `json:"sentAt"`
	// AcknowledgedAt is missing while the client has not acknowledged this version.
	AcknowledgedAt *time.Time `json:"acknowledgedAt,omitempty"`
}

// Streams are the clients and what they were sent, by client and node.
func (s *Server) Streams() []Stream {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.clients))
	s.mu.Unlock()
	streams := make([]Stream, 0, len(all))
	for _, c := range all {
		one := c.stream()
		locked(&s.mu, func() {
			if c.fleet != nil {
				one.Fleet = new(s.definition(c.fleet))
			}
		})
		streams = append(streams, one)
	}
	slices.SortFunc(streams, func(a, b Stream) int {
		return cmp.Or(strings.Compare(a.Client, b.Client), strings.Compare(a.Node, b.Node), a.Since.Compare(b.Since))
	})
	return streams
}

func (c *client) stream() Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := Stream{Client: c.name(), Protocol: c.protocol, Node: c.node.GetId(), Address: c.address, Since: c.since.UTC()}
	for kind := range c.kinds {
		p := &c.kinds[kind]
		if !p.asked {
			continue
		}
		sent := SentResources{Type: envoyconfig.Kind(kind).String(), Resources: []Resource{}, Rejected: p.rejection()}
		for _, name := range slices.Sorted(maps.Keys(p.sent)) {
			newest, acked := p.sent[name], p.acked[name]
			r := Resource{Name: name, Version: newest.version, SentAt: newest.at.UTC()}
			if acked.version == newest.version {
				r.AcknowledgedAt = new(acked.at.UTC())
			}
			sent.Resources = append(sent.Resources, r)
		}
		one.Sent = append(one.Sent, sent)
	}
	return one
}
