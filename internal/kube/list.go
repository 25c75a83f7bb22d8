package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// mostOfObject bounds one object of a list. No API server stores a larger one.
const mostOfObject = 16 << 20

// Each lists objects, and keeps of each what keep returns, nil for nothing. The answer is decoded object by
// object, so that a list needs no more memory than what is kept of it, whatever others
// wrote into its objects. Where the options name no revision the answer comes from the
// server's storage, past every cache.
func (c *Client) Each(ctx context.Context, r Resource, options metav1.ListOptions, empty func() runtime.Object, keep func(runtime.Object) runtime.Object) (list *internalversion.List, err error) {
	build := func(l *lane) *rest.Request { return l.request("GET", r).VersionedParams(&options, c.codec) }
	err = c.read(ctx, build, func(ctx context.Context, request *rest.Request) (int, error) {
		body, err := request.Stream(ctx)
		if err != nil {
			return 0, err
		}
		defer body.Close()
		list = &internalversion.List{}
		reading := listReader{list: list, part: c.part(r), empty: empty, keep: keep}
		if err = reading.read(bufio.NewReader(body)); err == nil {
			err = isListOf(reading.about, empty())
		}
		if err != nil {
			err = fmt.Errorf("decode the list of %s: %w", r.Name, err)
			if len(list.Items) > 0 && errors.Is(err, net.ErrClosed) {
				err = errors.New(err.Error()) // is not repeated: keep would count what it has seen twice
			}
		}
		return 0, err
	})
	return list, err
}

// isListOf says what is wrong with a list that is one of other objects.
func isListOf(about runtime.TypeMeta, object runtime.Object) error {
	kinds, _, err := scheme().ObjectKinds(object)
	if err != nil {
		return err
	}
	if about.Kind == "" || slices.ContainsFunc(kinds, func(k schema.GroupVersionKind) bool {
		return about.Kind == k.Kind+"List" && about.APIVersion == k.GroupVersion().String()
	}) {
		return nil
	}
	return fmt.Errorf("it is a %s of %s", about.Kind, about.APIVersion)
}

// listReader decodes one list.
type listReader struct {
	list  *internalversion.List
	about runtime.TypeMeta
	part  part // of each object
	empty func() runtime.Object
	keep  func(runtime.Object) runtime.Object
	// raw is an object as it was sent; the next one takes its place.
	raw []byte
}

// protobufMagic is how a server begins an answer in protobuf. Any other is in JSON.
var protobufMagic = []byte("k8s\x00")

func (l *listReader) read(body *bufio.Reader) error {
	if magic, _ := body.Peek(len(protobufMagic)); !bytes.Equal(magic, protobufMagic) {
		return l.readJSON(json.NewDecoder(body))
	}
	if _, err := body.Discard(len(protobufMagic)); err != nil {
		return err
	}
	// In the envelope, what it holds is field 1, and the list field 2; in that, the metadata
	// is field 1, and each object field 2.
	return eachField(body, -1, func(tag uint64, size int64) error {
		switch tag >> 3 {
		case 1:
			return l.unmarshal(body, size, part{}, &l.about)
		case 2:
		default:
			return skip(body, size)
		}
		return eachField(body, size, func(tag uint64, size int64) error {
			switch tag >> 3 {
			case 1:
				return l.unmarshal(body, size, part{}, &l.list.ListMeta)
			case 2:
				return l.object(func(object runtime.Object) error {
					into, ok := object.(unmarshaler)
					if !ok {
						return fmt.Errorf("a %T in protobuf", object)
					}
					return l.unmarshal(body, size, l.part, into)
				})
			}
			return skip(body, size)
		})
	})
}

// object decodes one object, and keeps what is kept of it.
func (l *listReader) object(decode func(runtime.Object) error) error {
	object := l.empty()
	if err := decode(object); err != nil {
		return err
	}
	if kept := l.keep(object); kept != nil {
		l.list.Items = append(l.list.Items, kept)
	}
	return nil
}

// unmarshaler is a message of protobuf.
type unmarshaler interface{ Unmarshal(data []byte) error }

// unmarshal decodes a part of the message of so many bytes that follows.
func (l *listReader) unmarshal(body *bufio.Reader, size int64, part part, into unmarshaler) (err error) {
	if l.raw, err = part.read(l.raw[:0], body, size); err != nil {
		return err
	}
	return into.Unmarshal(l.raw)
}

// eachField calls take for the tag and the size of each field of the message of so many
// bytes that follows; -1 for all that there is. It takes the field itself.
func eachField(body *bufio.Reader, size int64, take func(tag uint64, size int64) error) error {
	for size != 0 {
		tag, n, err := varint(body)
		if errors.Is(err, io.EOF) && size < 0 {
			return nil
		}
		if err != nil {
			return short(err)
		}
		length, m, err := lengthOf(body, tag)
		if err != nil {
			return err
		}
		whole := int64(n+m) + int64(length)
		if length > 1<<40 || size > 0 && size < whole {
			return errors.New("a field that is longer than its message")
		}
		if size > 0 {
			size -= whole
		}
		if err := take(tag, int64(length)); err != nil {
			return err
		}
	}
	return nil
}

// lengthOf returns how long the field of that tag is, and how many bytes it took to say so:
// none where it is a number.
func lengthOf(body *bufio.Reader, tag uint64) (length uint64, size int, err error) {
	switch tag & 7 {
	case 0:
		for length = 1; length <= binary.MaxVarintLen64; length++ { // no byte more: a watch may wait for that
			number, err := body.Peek(int(length))
			if err != nil || number[length-1] < 0x80 {
				return length, 0, short(err)
			}
		}
	case 2:
		length, size, err = varint(body)
		return length, size, short(err)
	}
	return 0, 0, fmt.Errorf("field %d of an unknown kind", tag>>3)
}

// varint reads a number, and returns how many bytes that took.
func varint(body *bufio.Reader) (number uint64, size int, err error) {
	number, err = binary.ReadUvarint(body)
	for rest := number; ; rest >>= 7 {
		if size++; rest < 0x80 {
			return number, size, err
		}
	}
}

func skip(body *bufio.Reader, size int64) error {
	_, err := body.Discard(int(size))
	return short(err)
}

// short says of the end of an answer that it came too early.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (l *listReader) readJSON(body *json.Decoder) error {
	token, err := body.Token()
	if err == nil && token != json.Delim('{') {
		err = fmt.Errorf("it begins with %v", token)
	}
	if err != nil {
		return short(err)
	}
	for body.More() {
		name, err := body.Token()
		if err != nil {
			return err
		}
		switch name {
		case "kind":
			err = body.Decode(&l.about.Kind)
		case "apiVersion":
			err = body.Decode(&l.about.APIVersion)
		case "metadata":
			err = body.Decode(&l.list.ListMeta)
		case "items":
			err = l.itemsJSON(body)
		default:
			err = body.Decode(new(anyJSON))
		}
		if err != nil {
			return short(err)
		}
	}
	_, err = body.Token()
	return short(err)
}

func (l *listReader) itemsJSON(body *json.Decoder) error {
	items, err := body.Token()
	if err != nil || items == nil { // null
		return err
	}
	if items != json.Delim('[') {
		return errors.New("items that are no list")
	}
	for body.More() {
		if err := l.object(func(object runtime.Object) error { return body.Decode(object) }); err != nil {
			return err
		}
	}
	_, err = body.Token()
	return err
}
