package xds

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const (
	// mostKinds is how many kinds a client may ask for that are not served, longestKind how
	// long the name of one may be, in bytes.
	mostKinds, longestKind = 32, 512
	// longestNode bounds what a client says of its node, in bytes.
	longestNode = 4 << 10
	// longestVersion is how long a version may be that is remembered, in bytes; ours are
	// shorter.
	longestVersion = 64
	// namesAtOnce is how many names the streams of one identity may say without a pause,
	// namesASecond how many they may say for long. A request counts as one.
	namesAtOnce, namesASecond = 2 * mostNames, 50_000
	// longestText bounds what a client says of a rejection, in bytes.
	longestText = 2000
)

// client is one stream. It implements the callbacks of the stream servers for that stream
// alone, and the way to the resources that it may see.
type client struct {
	server   *Server
	protocol Protocol
	identity identity
	// namespaces are those that a client of gRPC may see.
	namespaces []string
	address    string
	since      time.Time
	// nonces is what the nonces of the stream begin with: no other stream has it.
	nonces string
	// end ends the stream, with the reason.
	end context.CancelCauseFunc
	// ended is closed when the stream ends.
	ended <-chan struct{}
	// below is the stream of the transport, slot what a long request of it holds.
	below transportStream
	slot  atomic.Pointer[slot]
	// fleet is that of an Envoy, since its first request.
	fleet *fleet
	// wants is what an Envoy wants of the resources of its fleet, wish what its request
	// says that is answered now.
	wants [envoyconfig.Kinds]*subscription
	wish  wish
	// unserved are types that it asked for and that are not served, strange how many of
	// their resources it asks for. None of these is remembered.
	unserved map[string]struct{}
	strange  int
	// account is that of its identity, kept what this stream has of it.
	account *account
	kept    int
	// answering is how much the answer takes that is sent now, of names that do not exist.
	answering int

	mu    sync.Mutex
	node  *corev3.Node
	kinds [envoyconfig.Kinds]progress
	// generation is the newest one of the fleet that the client has acknowledged.
	generation int64
}

// admit checks what a request says of the node. The first one says it; every other one
// says the same, or nothing.
func (c *client) admit(node *corev3.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.node == nil && proto.Size(node) == 0:
		return status.Error(codes.InvalidArgument, "the first request names no node; set node.id and node.cluster")
	case proto.Size(node) > longestNode:
		return status.Errorf(codes.InvalidArgument, "the node of the request has more than %d bytes; shorten node.id", longestNode)
	case c.node != nil && node != nil && (node.GetId() != c.node.GetId() || node.GetCluster() != c.node.GetCluster()):
		return status.Errorf(codes.PermissionDenied, "the stream began as node %q of %q and goes on as another node; open another stream", c.node.GetId(), c.node.GetCluster())
	case c.node != nil:
		return nil
	case c.protocol == Envoy && !c.identity.trusted() && node.GetCluster() != "" && node.GetCluster() != c.identity.name:
		return status.Errorf(codes.PermissionDenied, "the certificate is that of %s, and the node says that it is of %q; set node.cluster to the name in the certificate", c.identity.name, node.GetCluster())
	case c.protocol == GRPC && strings.HasPrefix(node.GetUserAgentName(), "envoy"):
		return status.Error(codes.InvalidArgument, "Envoy is served by the delta protocol only; set api_type to DELTA_GRPC in its bootstrap")
	}
	c.node = node
	return nil
}

// foreign is a nonce that no answer has.
const foreign = "of another stream"

// own returns the nonce of a request as the stream server knows it. That server counts
// from 1 in each stream, so that what a client says to another stream's answer would be
// taken for this one's. Before the first answer of a kind a request says nothing to any.
func (c *client) own(typeURL, nonce string) string {
	kind, served := kindOf(typeURL)
	if !served || nonce == "" {
		return nonce
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.kinds[kind].answered {
		return ""
	}
	if number, found := strings.CutPrefix(nonce, c.nonces); found {
		return number
	}
	return foreign
}

// kindOf is the kind of a type; false for one that is not served.
func kindOf(typeURL string) (envoyconfig.Kind, bool) {
	for kind := range envoyconfig.Kinds {
		if kind.TypeURL() == typeURL {
			return kind, true
		}
	}
	return 0, false
}

// sends notes one answer.
func (c *client) sends(typeURL string, a answer) {
	kind, served := kindOf(typeURL)
	if !served {
		return
	}
	c.answer(c.kinds[kind].drop(&a))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.kinds[kind].send(a, time.Now()) {
		c.end(status.Errorf(codes.ResourceExhausted, "the client has not acknowledged or rejected %d answers of type %s; acknowledge or reject each", len(c.kinds[kind].pending), kind))
	}
	c.server.stats.of[c.protocol][kind].pushes.Add(1)
}

// knows reports whether routes of a proxy may lead to a cluster: the proxy has acknowledged
// that version of it, and endpoints for it, without which it still waits. One that wants no
// clusters has its own.
func (c *client) knows(cluster, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := &c.kinds[envoyconfig.Clusters]
	_, endpoints := c.kinds[envoyconfig.Endpoints].acked[cluster]
	return !of.asked || of.acked[cluster].version == version && endpoints
}

// follows reports whether a proxy has acknowledged the newest resources of a kind.
func (c *client) follows(kind envoyconfig.Kind, versions map[string]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[kind].follows(versions)
}

// keeps reports whether the client has something of a kind that it is told later to remove.
func (c *client) keeps(kind envoyconfig.Kind) bool {
	return c.fleet.sent[kind].keeps(&c.wants[kind].interest)
}

// name is that of the certificate, or without certificates what the node says.
func (c *client) name() string {
	if c.identity.trusted() {
		return c.node.GetCluster()
	}
	return c.identity.name
}
