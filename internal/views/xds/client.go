package xds

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const (
	// longestNode bounds what a client says of its node, in bytes.
	longestNode = 4 << 10
	// longestVersion is how long a version may be that is remembered, in bytes; ours are
	// shorter.
	longestVersion = 64
	// namesAtOnce is how many names the streams of one identity may say without a pause,
	// namesASecond how many they may say for long. A request counts as one, and a rejection as
	// namesOfRejection more: the log tells each.
	namesAtOnce, namesASecond, namesOfRejection = 2 * mostNames, 50_000, 250
	// longestText bounds what a client says of a rejection, in bytes.
	longestText = 2000
)

// client is one stream.
type client struct {
	server   *Server
	protocol Protocol
	identity identity
	// namespaces are those that a client of gRPC may see.
	namespaces []string
	address    string
	since      time.Time
	// nonces is what the nonces of the stream begin with: no other stream has it. answers is
	// how many there are.
	nonces  string
	answers int
	// end ends the stream, with the reason.
	end context.CancelCauseFunc
	// ended is closed when the stream ends.
	ended <-chan struct{}
	// wire is the stream of gRPC, below that of the transport.
	wire  grpc.ServerStream
	below transportStream
	// fleet is that of an Envoy, and wants what the client wants, since its first request.
	fleet *fleet
	wants [envoyconfig.Kinds]*interest
	// replies are the answers that are to be sent.
	replies chan reply
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

// kindOf is the kind of a type; false for one that is not served.
func kindOf(typeURL string) (envoyconfig.Kind, bool) {
	for kind := range envoyconfig.Kinds {
		if kind.TypeURL() == typeURL {
			return kind, true
		}
	}
	return 0, false
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
func (c *client) keeps(kind envoyconfig.Kind) bool { return c.wants[kind].keeps() }

// sees reports whether the client may see a resource. An Envoy is sent what its fleet may see;
// for a client of gRPC web.shop:80 is of namespace shop.
func (c *client) sees(name string) bool {
	if c.protocol != GRPC || c.identity.trusted() {
		return true
	}
	name, _, _ = strings.Cut(name, ":")
	_, namespace, _ := strings.Cut(name, ".")
	return slices.Contains(c.namespaces, namespace) || slices.Contains(c.namespaces, allNamespaces)
}

// allNamespaces in a list of namespaces stands for every one.
const allNamespaces = "*"

// name is that of the certificate, or without certificates what the node says.
func (c *client) name() string {
	if c.identity.trusted() {
		return c.node.GetCluster()
	}
	return c.identity.name
}
