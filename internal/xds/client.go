package xds

import (
	"context"
	"strings"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds/resources"
)

const (
	// mostNames is how many resources of a kind a client may ask for.
	mostNames = 50_000
	// mostKinds is how many kinds a client may ask for that are not served.
	mostKinds = 32
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
	// fleet is that of an Envoy, since its first request.
	fleet *fleet
	// unserved are types that it asked for and that are not served.
	unserved map[string]struct{}

	mu    sync.Mutex
	node  *corev3.Node
	kinds [resources.Kinds]progress
	// kept are clusters, and listeners of a fleet that nothing names, that the client had
	// when it connected and that are gone. It is told so later: its routes may still lead
	// to the clusters. owed are those of which it is told by the next answer.
	kept, owed [resources.Kinds]map[string]struct{}
	// generation is the newest one of the fleet that the client has acknowledged.
	generation int64
}

// admit checks what a request says of the node. The first one says it; every other one
// says the same, or nothing.
func (c *client) admit(node *corev3.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.node == nil && node == nil:
		return status.Error(codes.InvalidArgument, "the first request names no node")
	case c.node != nil && node != nil && (node.GetId() != c.node.GetId() || node.GetCluster() != c.node.GetCluster()):
		return status.Errorf(codes.PermissionDenied, "the stream began as node %q of %q and goes on as another one; open another stream", c.node.GetId(), c.node.GetCluster())
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
func kindOf(typeURL string) (resources.Kind, bool) {
	for kind := range resources.Kinds {
		if kind.TypeURL() == typeURL {
			return kind, true
		}
	}
	return 0, false
}

// heard notes one request: what it wants, and what it says to an answer.
type heard struct {
	typeURL, nonce string
	text           string // of a rejection
	// more and fewer are how many names it asks for, or asks for no more.
	more, fewer []string
	whole       bool // more are all
	has         map[string]string
	gone        map[string]struct{} // of what it has, the clusters that are not there
}

func (c *client) hear(h heard) error {
	kind, served := kindOf(h.typeURL)
	if !served {
		return c.hearUnserved(h)
	}
	answered, err := c.note(kind, h)
	if err != nil || !answered {
		return err
	}
	if h.text == "" {
		c.server.stats.acks[c.stat()][kind].Add(1)
	} else {
		c.server.stats.rejections[c.stat()][kind].Add(1)
		c.server.opts.Logger.Warn("a client rejects what it was sent, and keeps what it had", "client", c.name(), "node", c.node.GetId(),
			"type", kind.String(), "message", h.text)
	}
	c.server.nudge()
	return nil
}

// hearUnserved notes a request for a type that is not served.
func (c *client) hearUnserved(h heard) error {
	c.unserved[h.typeURL] = struct{}{}
	if len(c.unserved) > mostKinds {
		return status.Errorf(codes.InvalidArgument, "the stream asks for %d types of resources that are not served", len(c.unserved))
	}
	return nil
}

// note notes a request for a type that is served, and reports whether it says something to
// an answer.
func (c *client) note(kind resources.Kind, h heard) (answered bool, err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &c.kinds[kind]
	if !p.asked {
		p.begin(h.has, now)
		c.kept[kind] = h.gone
	}
	if p.names += len(h.more) - len(h.fewer); h.whole {
		p.names = len(h.more)
	}
	if p.names > mostNames {
		return false, status.Errorf(codes.ResourceExhausted, "the stream asks for %d resources of type %s; at most %d may be asked for", p.names, kind, mostNames)
	}
	p.forget(h.fewer)
	return h.nonce != "" && p.hear(h.nonce, h.text, now), nil
}

// rejection is the text of a rejection, empty for none.
func rejection(message string, there bool) string {
	if !there {
		return ""
	}
	if message == "" {
		message = "no reason was given"
	}
	return redact.Cut(redact.Printable(message), longestText)
}

// sends notes one answer.
func (c *client) sends(typeURL string, a answer) {
	kind, served := kindOf(typeURL)
	if !served {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[kind].send(a, time.Now())
	for _, name := range a.removed {
		delete(c.owed[kind], name)
	}
	c.server.stats.pushes[c.stat()][kind].Add(1)
}

// knows reports whether routes of a proxy may lead to a cluster: the proxy has acknowledged
// that version of it, and endpoints for it, without which it still waits. One that wants no
// clusters has its own.
func (c *client) knows(cluster, version string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := &c.kinds[resources.Clusters]
	_, endpoints := c.kinds[resources.Endpoints].acked[cluster]
	return !of.asked || of.acked[cluster].version == version && endpoints
}

// follows reports whether a proxy has acknowledged the newest resources of a kind.
func (c *client) follows(kind resources.Kind, versions map[string]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[kind].follows(versions)
}

// keeps reports whether the client has something of a kind that it is told later to remove.
func (c *client) keeps(kind resources.Kind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kept[kind]) > 0
}

// release ends that, and reports whether the client is to be told now.
func (c *client) release(kind resources.Kind, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept[kind]) == 0 || now.Sub(c.since) < acknowledgeTime {
		return false
	}
	c.owed[kind], c.kept[kind] = c.kept[kind], nil
	return true
}

// name is that of the certificate, or without certificates what the node says.
func (c *client) name() string {
	if c.identity.trusted() {
		return c.node.GetCluster()
	}
	return c.identity.name
}

func (c *client) stat() int {
	if c.protocol == Envoy {
		return 0
	}
	return 1
}
