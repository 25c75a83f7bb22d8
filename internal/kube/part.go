package kube

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// part says how much of a message in protobuf is decoded: of some fields only the first ones,
// of some only a part. The zero value is the whole message.
type part struct {
	// kind, if set, is that of the object in an envelope; one of another kind is decoded whole.
	kind  string
	first map[uint64]int
	of    map[uint64]part
	// entry, if set, says that the message is an entry of a map, and returns how many bytes of
	// its value are decoded, 0 where the entry is not. Before is how many are before it.
	entry  func(name []byte, before int) int
	before int
}

// part is what is decoded of an object of a list or a watch. Of a Service, a team decides how
// long it is: an API server takes more than a megabyte of labels. No reader of this package uses those.
func (c *Client) part(r Resource) part {
	if r.Name != Services("").Name {
		return part{}
	}
	const metadata, spec = 1, 2
	const labels, annotations, owners, finalizers, managedFields = 11, 12, 13, 14, 17
	const ports, selector, externalIPs, sourceRanges = 1, 2, 5, 9
	p := part{first: map[uint64]int{labels: 0, owners: 0, finalizers: 0, managedFields: 0}}
	if c.options.Annotations != nil {
		p.of = map[uint64]part{annotations: {entry: c.mostOfAnnotation}}
	}
	return part{of: map[uint64]part{
		metadata: p,
		spec:     {first: map[uint64]int{ports: MostPorts, selector: 1, externalIPs: 0, sourceRanges: 0}},
	}}
}

// mostOfAnnotation is Options.Annotations and what client-go reads: that one annotation is true.
func (c *Client) mostOfAnnotation(name []byte, before int) int {
	if string(name) == metav1.InitialEventsAnnotationKey {
		return len("true") + 1
	}
	return c.options.Annotations(name, before)
}

// MostPorts is how many ports of a Service are decoded, the first ones.
const MostPorts = 256

// event is what is decoded of an event of a watch. One that tells an error holds a Status.
func (c *Client) event(r Resource) part {
	p := c.part(r)
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
	if p.entry != nil {
		return p.readEntry(out, body, size)
	}
	if p.first == nil && p.of == nil {
		return readWhole(out, body, size)
	}
	if length := len(protobufMagic); size >= int64(length) { // no byte more: a watch may wait for that
		if magic, _ := body.Peek(length); bytes.Equal(magic, protobufMagic) {
			out, _ = readWhole(out, body, int64(length))
			size -= int64(length)
		}
	}
	seen, about := make(map[uint64]int), runtime.TypeMeta{}
	err := eachField(body, size, func(tag uint64, size int64) (err error) {
		field := tag >> 3
		seen[field]++
		if most, bounded := p.first[field]; bounded && seen[field] > most {
			return skip(body, size)
		}
		start := len(out)
		out = binary.AppendUvarint(out, tag)
		if tag&7 == 0 {
			out, err = readWhole(out, body, size)
			return err
		}
		const room = 5 // for the length, which is known later
		begin, inner := len(out)+room, p.of[field]
		inner.before = seen[field] - 1
		if about.Kind != p.kind {
			inner = part{}
		}
		if out, err = inner.read(append(out, make([]byte, room)...), body, size); err != nil {
			return err
		}
		if inner.entry != nil && len(out) == begin {
			out, seen[field] = out[:start], seen[field]-1
			return nil
		}
		setLength(out[begin-room:begin], len(out)-begin)
		if p.kind != "" && field == 1 {
			err = about.Unmarshal(out[begin:])
		}
		return err
	})
	return out, err
}

// readWhole appends the bytes that follow.
func readWhole(out []byte, body *bufio.Reader, size int64) ([]byte, error) {
	begin := len(out)
	out = slices.Grow(out, int(size))[:begin+int(size)]
	_, err := io.ReadFull(body, out[begin:])
	return out, short(err)
}

// setLength writes a length that takes all of the bytes.
func setLength(into []byte, length int) {
	for i := range into {
		into[i] = byte(length>>(7*i)) | 0x80
	}
	into[len(into)-1] &^= 0x80
}

// readEntry appends the part of an entry of a map that follows. Its name comes first, by custom.
func (p part) readEntry(out []byte, body *bufio.Reader, size int64) ([]byte, error) {
	const name = 1
	begin, most := len(out), int64(-1) // of the value; -1 before the name is known
	var early []byte                   // a value before its name
	err := eachField(body, size, func(tag uint64, size int64) (err error) {
		switch {
		case tag>>3 == name:
			if out, err = readWhole(appendHead(out, tag, size), body, size); err == nil {
				most = int64(p.entry(out[len(out)-int(size):], p.before))
			}
			return err
		case most < 0:
			early, err = readWhole(early[:0], body, size)
			return err
		}
		length := min(size, most)
		if out, err = readWhole(appendHead(out, tag, length), body, length); err != nil {
			return err
		}
		return skip(body, size-length)
	})
	if most <= 0 {
		return out[:begin], err
	}
	if early != nil {
		early = early[:min(int64(len(early)), most)]
		out = append(appendHead(out, 2<<3|2, int64(len(early))), early...)
	}
	return out, err
}

// appendHead appends what is before the bytes of a field.
func appendHead(out []byte, tag uint64, length int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(out, tag), uint64(length))
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
