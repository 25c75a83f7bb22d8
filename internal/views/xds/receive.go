package xds

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// longestRequest is how long a request may be, in bytes.
	longestRequest = 4 << 20
	// shortRequest is how long one may be that needs no slot, in bytes: it is shorter
	// than what gRPC reads ahead of each stream anyway.
	shortRequest = 4 << 10
	// requestTime is how long a request may hold the slot until it is handled.
	requestTime = 10 * time.Second
)

// transportStream is the stream of the transport below one of gRPC. It reads the length of a
// message apart from the message: gRPC alone would read whole messages, one for each stream.
type transportStream interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	WriteStatus(why *status.Status) error
}

// slot is what a long request holds: of the streams of one identity one at a time reads and
// handles one. Late ends the stream of a request that is not handled in time, and leave gives
// the slot to the next stream.
type slot struct {
	late  *time.Timer
	leave func()
}

// read reads the next request. Where it cannot be read, the stream ends with the reason.
func (c *client) read(request proto.Message) (*slot, error) {
	held, err := c.tryRead(request)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = status.Error(codes.Internal, err.Error())
	}
	if code := status.Code(err); code == codes.Internal || code == codes.ResourceExhausted {
		c.end(err)
	}
	return held, err
}

func (c *client) tryRead(request proto.Message) (held *slot, err error) {
	var header [5]byte // whether it is compressed, and the length
	if err := c.below.ReadMessageHeader(header[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(header[1:])
	switch {
	case header[0] != 0:
		return nil, status.Error(codes.Internal, "the request is compressed; send it without compression")
	case length > longestRequest:
		return nil, status.Errorf(codes.ResourceExhausted, "the request has %d bytes, and the limit is %d; name fewer resources at a time", length, longestRequest)
	case length > shortRequest:
		if held, err = c.takeSlot(); err != nil {
			return nil, err
		}
	}
	data, err := c.below.Read(int(length))
	if err != nil {
		return nil, err
	}
	text := data.Materialize()
	data.Free()
	if err := decode(text, request); err != nil {
		return nil, status.Errorf(codes.Internal, "the request cannot be decoded: %v", err)
	}
	return held, nil
}

// takeSlot waits for the slot. A stream that ends gives it back.
func (c *client) takeSlot() (*slot, error) {
	stream := c.wire.Context()
	select {
	case c.account.slot <- struct{}{}:
	case <-stream.Done():
		return nil, stream.Err()
	}
	leave := sync.OnceFunc(func() { <-c.account.slot })
	stop := context.AfterFunc(stream, leave) // stopped, or a long stream keeps one for each request
	return &slot{leave: func() { stop(); leave() }, late: time.AfterFunc(requestTime, func() {
		c.end(status.Errorf(codes.ResourceExhausted, "a long request has not arrived within %v, or the client has not read an earlier answer", requestTime))
	})}, nil
}
