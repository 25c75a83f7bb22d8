package kubeapi

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// part says how much of a message in protobuf is decoded: of some fields only the first ones,
// of some only a part. The zero value is the whole message.
type part struct {
	// kind, if set, is that of the object in an envelope; one of another kind is decoded whole.
	kind  string
	first map[uint64]int
	of    map[uint64]part
}

// part is what is decoded of an object of a list or a watch. Of a Service, a team decides how
// long it is: an API server takes more than a megabyte of labels. Nobody reads those.
func (r Resource) part() part {
	if r.Name != Services("").Name {
		return part{}
	}
	const metadata, spec = 1, 2
	const labels, owners, finalizers, managedFields = 11, 13, 14, 17
	const ports, selector, externalIPs, sourceRanges = 1, 2, 5, 9
	return part{of: map[uint64]part{
		metadata: {first: map[uint64]int{labels: 0, owners: 0, finalizers: 0, managedFields: 0}},
		spec:     {first: map[uint64]int{ports: MostPorts, selector: 1, externalIPs: 0, sourceRanges: 0}},
	}}
}

// MostPorts is how many ports of a Service are decoded, the first ones.
const MostPorts = 256

// event is what is decoded of an event of a watch. One that tells an error holds a Status.
func (r Resource) event() part {
	p := r.part()
	if p.of == nil {
		return p
	}
	const envelope, raw, event = 2, 1, 2 // where each has what it holds
	p = part{kind: "Service", of: map[uint64]part{envelope: p}}
	return part{of: map[uint64]part{event: {of: map[uint64]part{raw: p}}}}
}

// read appends the part of the message of so many bytes that follows.
func (p part) read(out []byte, body *bufio.Reader, size int64) ([]byte, error) {
	if size > mostOfObject {
		return out, fmt.Errorf("an object of %d bytes", size)
	}
	if p.first == nil && p.of == nil {
		begin := len(out)
		out = slices.Grow(out, int(size))[:begin+int(size)]
		_, err := io.ReadFull(body, out[begin:])
		return out, short(err)
	}
	if length := len(protobufMagic); size >= int64(length) { // no byte more: a watch may wait for that
		if magic, _ := body.Peek(length); bytes.Equal(magic, protobufMagic) {
			out = append(out, magic...)
			size -= int64(length)
			_, _ = body.Discard(length)
		}
	}
	seen, about := make(map[uint64]int), runtime.TypeMeta{}
	err := eachField(body, size, func(tag uint64, size int64) (err error) {
		field := tag >> 3
		seen[field]++
		if most, bounded := p.first[field]; bounded && seen[field] > most {
			return skip(body, size)
		}
		out = binary.AppendUvarint(out, tag)
		if tag&7 == 0 {
			out, err = part{}.read(out, body, size)
			return err
		}
		const room = 5 // for the length, which is known later
		begin, inner := len(out)+room, p.of[field]
		if about.Kind != p.kind {
			inner = part{}
		}
		if out, err = inner.read(append(out, make([]byte, room)...), body, size); err != nil {
			return err
		}
		length := len(out) - begin
		for i := range room {
			out[begin-room+i] = byte(length>>(7*i)) | 0x80
		}
		out[begin-1] &^= 0x80
		if p.kind != "" && field == 1 {
			err = about.Unmarshal(out[begin:])
		}
		return err
	})
	return out, err
}

// events are those of a watch, of each a part.
type events struct {
	io.Closer

	body *bufio.Reader
	part part
	// event is the one that is being read, left what is left of it.
	event, left []byte
}

// Read implements io.Reader.
func (e *events) Read(into []byte) (int, error) {
	if len(e.left) == 0 {
		if err := e.next(); err != nil {
			return 0, err
		}
	}
	n := copy(into, e.left)
	e.left = e.left[n:]
	return n, nil
}

// next takes the next event, which follows its length.
func (e *events) next() (err error) {
	const length = 4
	e.event = append(e.event[:0], make([]byte, length)...)
	if _, err = io.ReadFull(e.body, e.event); err != nil {
		return err
	}
	e.event, err = e.part.read(e.event, e.body, int64(binary.BigEndian.Uint32(e.event)))
	if err == nil {
		binary.BigEndian.PutUint32(e.event, uint32(len(e.event)-length))
		e.left = e.event
	}
	return err
}
