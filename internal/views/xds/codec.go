package xds

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// answerCodec is the codec of gRPC, but answers are encoded already.
type answerCodec struct{ encoding.CodecV2 }

func newSharing() answerCodec { return answerCodec{encoding.GetCodecV2(protocodec.Name)} }

// Marshal implements encoding.CodecV2.
func (s answerCodec) Marshal(message any) (mem.BufferSlice, error) {
	if answer, is := message.(mem.BufferSlice); is {
		return answer, nil
	}
	return s.CodecV2.Marshal(message)
}

// encode is an answer in a protocol. It refers to the bytes of its resources instead of copying
// them: an assignment of 10,000 endpoints has 250 kB, and every proxy is sent it at the same
// moment.
func (r reply) encode(protocol Protocol, nonce string) (mem.BufferSlice, error) {
	var p pieces
	if protocol == Envoy {
		p.message(&discoveryv3.DeltaDiscoveryResponse{TypeUrl: r.kind.TypeURL(), RemovedResources: r.removed, Nonce: nonce})
		for _, one := range r.resources {
			p.resource(one)
		}
	} else {
		p.message(&discoveryv3.DiscoveryResponse{VersionInfo: r.version, TypeUrl: r.kind.TypeURL(), Nonce: nonce})
		for _, one := range r.resources {
			p.field(answerResources, one.GetResource())
		}
	}
	return p.all(), p.err
}

// fields are those of a message that are read, each with what is read of the message in it;
// nil for all of it.
type fields map[protowire.Number]fields

// What is read of requests. The rest is not even decoded: a node may describe itself in
// megabytes, and four megabytes of short names become a hundred.
var (
	ofNode         = fields{1: nil, 2: nil, 6: nil} // id, cluster, user_agent_name
	ofStatus       = fields{1: nil, 2: nil}         // code, message
	ofDeltaRequest = fields{1: ofNode, 2: nil, 3: nil, 4: nil, 5: nil, 6: nil, 7: ofStatus}
	ofRequest      = fields{1: nil, 2: ofNode, 3: nil, 4: nil, 5: nil, 6: ofStatus}
)

// decode reads a request, and overwrites its text.
func decode(text []byte, request proto.Message) error {
	read := ofRequest
	if _, is := request.(*discoveryv3.DeltaDiscoveryRequest); is {
		read = ofDeltaRequest
	}
	thin, err := read.of(text[:0], text)
	if err != nil {
		return err
	}
	return proto.Unmarshal(thin, request)
}

// of appends what is read of a message, which may overwrite the message. Of a list that is
// too long as much is read as shows that it is.
func (f fields) of(to, text []byte) ([]byte, error) {
	counts := make(map[protowire.Number]int)
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, text[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		inner, read := f[number]
		if read { // of what is not, nothing is kept
			counts[number]++
			read = counts[number] <= mostNames+1
		}
		switch {
		case !read:
		case inner == nil || kind != protowire.BytesType:
			to = append(to, text[:n+size]...)
		default:
			value, _ := protowire.ConsumeBytes(text[n:])
			part, err := inner.of(nil, value)
			if err != nil {
				return nil, err
			}
			to = protowire.AppendBytes(append(to, text[:n]...), part)
		}
		text = text[n+size:]
	}
	return to, nil
}

// The numbers of fields in envoy.service.discovery.v3 and google.protobuf.Any.
const (
	answerResources = 2 // DiscoveryResponse.resources and DeltaDiscoveryResponse.resources

	resourceVersion = 1
	resourceAny     = 2
	resourceName    = 3

	anyTypeURL = 1
	anyValue   = 2
)

// pieces are the encoding of an answer: bytes of its own, and those of resources.
type pieces struct {
	done mem.BufferSlice
	own  []byte
	err  error
}

func (p *pieces) message(m proto.Message) {
	p.own, p.err = proto.MarshalOptions{}.MarshalAppend(p.own, m)
}

// resource adds one of the delta protocol.
func (p *pieces) resource(r *discoveryv3.Resource) {
	p.begin(answerResources, proto.Size(r))
	p.text(resourceVersion, r.GetVersion())
	p.text(resourceName, r.GetName())
	p.field(resourceAny, r.GetResource())
}

// field adds a resource without its name.
func (p *pieces) field(number protowire.Number, a *anypb.Any) {
	p.begin(number, proto.Size(a))
	p.text(anyTypeURL, a.GetTypeUrl())
	if value := a.GetValue(); len(value) > 0 {
		p.begin(anyValue, len(value))
		p.done = append(p.done, mem.SliceBuffer(p.own), mem.SliceBuffer(value))
		p.own = nil
	}
}

func (p *pieces) begin(number protowire.Number, size int) {
	p.own = protowire.AppendVarint(protowire.AppendTag(p.own, number, protowire.BytesType), uint64(size))
}

func (p *pieces) text(number protowire.Number, text string) {
	if text != "" {
		p.own = protowire.AppendString(protowire.AppendTag(p.own, number, protowire.BytesType), text)
	}
}

// all is what was added.
func (p *pieces) all() mem.BufferSlice {
	if len(p.own) > 0 {
		p.done, p.own = append(p.done, mem.SliceBuffer(p.own)), nil
	}
	return p.done
}
