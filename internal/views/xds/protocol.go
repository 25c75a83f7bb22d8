package xds

import (
	"cmp"
	"strconv"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// clientRequest is one request: what it wants, and what it says to an answer.
type clientRequest struct {
	node           *corev3.Node
	typeURL, nonce string
	text           string // of a rejection
	has            bool   // something, of another stream where it is the first request
	wish           wish
	slot           *slot // that it holds, nil for none
}

// wish is what one request asks for.
type wish struct {
	more, fewer []string
	// has are the versions that the client has when it begins, gone those of them of which
	// it is told later to remove them.
	has  map[string]string
	gone map[string]struct{}
}

// reply is what a request is answered with.
type reply struct {
	kind      envoyconfig.Kind
	resources []*discoveryv3.Resource
	removed   []string
	// version is that of all that a client of the state of the world has after it.
	version string
}

// receive returns the next request.
func (c *client) receive() (clientRequest, error) {
	if c.protocol == Envoy {
		r := &discoveryv3.DeltaDiscoveryRequest{}
		held, err := c.read(r)
		return clientRequest{
			node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), text: rejection(r.GetErrorDetail()), slot: held,
			has: len(r.GetInitialResourceVersions()) > 0, wish: wish{more: r.GetResourceNamesSubscribe(), fewer: r.GetResourceNamesUnsubscribe(), has: r.GetInitialResourceVersions()},
		}, err
	}
	r := &discoveryv3.DiscoveryRequest{}
	held, err := c.read(r)
	return clientRequest{
		node: r.GetNode(), typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), text: rejection(r.GetErrorDetail()), slot: held,
		has: r.GetVersionInfo() != "", wish: wish{more: r.GetResourceNames()},
	}, err
}

// rejection is the text of a rejection, empty for none.
func rejection(said *rpcstatus.Status) string {
	if said == nil {
		return ""
	}
	return transport.Cut(transport.Printable(cmp.Or(said.GetMessage(), "no reason was given")), longestText)
}

// run answers requests until the stream ends. One request is read while another is handled.
func (c *client) run() error {
	requests := make(chan clientRequest)
	go func() {
		defer close(requests)
		for {
			h, err := c.receive()
			if err != nil {
				return
			}
			select {
			case requests <- h:
			case <-c.ended:
				return
			}
		}
	}()
	for {
		var err error
		select {
		case <-c.ended:
			return nil
		case r := <-c.replies:
			err = c.send(r)
		case h, more := <-requests:
			if !more {
				return nil
			}
			err = c.hear(h)
		}
		if err != nil {
			return err
		}
	}
}

// send notes an answer and sends it. What it says of names that the client never had is not
// shared with other streams.
func (c *client) send(r reply) error {
	c.answers++
	a := answer{nonce: c.nonces + strconv.Itoa(c.answers), put: make([]nameVersion, 0, len(r.resources)), removed: r.removed, whole: c.wants[r.kind].whole()}
	for _, one := range r.resources {
		a.put = append(a.put, nameVersion{one.GetName(), cmp.Or(r.version, one.GetVersion())})
	}
	p := &c.kinds[r.kind]
	c.answer(p.drop(&a))
	defer c.answer(0)
	locked(&c.mu, func() {
		if !p.send(a, time.Now()) {
			c.end(status.Errorf(codes.ResourceExhausted, "the client has not acknowledged or rejected %d answers of type %s; acknowledge or reject each", len(p.pending), r.kind))
		}
	})
	c.server.stats.of[c.protocol][r.kind].pushes.Add(1)
	select {
	case <-c.ended: // the answer is too much
		return nil
	default:
	}
	encoded, err := r.encode(c.protocol, a.nonce)
	if err != nil {
		return err
	}
	return c.wire.SendMsg(encoded)
}
