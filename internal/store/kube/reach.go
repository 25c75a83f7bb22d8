package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// reach is how far one request came on its way to the server, and over which of
// the connections.
type reach struct {
	lines     *lines
	asked     atomic.Bool // a connection is needed
	connected atomic.Bool // and there is one
	line      atomic.Pointer[line]
}

// trace makes the request of that context tell.
func (r *reach) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { r.asked.Store(true); r.connected.Store(false) },
		GotConn: func(info httptrace.GotConnInfo) {
			r.connected.Store(true)
			r.line.Store(r.lines.take(info.Conn))
		},
	})
}

// judge says of an error whether the server is unavailable to other requests too:
// see plan.ErrUnavailable. Code is the status of the server's answer, 0 where the
// error itself is to say it.
func (r *reach) judge(err error, code int) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		if code == 0 {
			code = int(status.Status().Code)
		}
		if busy := code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable; !busy || denied(err) {
			return err
		}
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return plan.Unavailable(err, time.Duration(seconds)*time.Second)
	}
	switch {
	case err == nil, errors.Is(err, context.Canceled): // that was ourselves
		return err
	case r.asked.Load() && !r.connected.Load(), broken(err):
		return plan.Unavailable(err, 0)
	}
	return err
}

// denied reports whether an admission webhook refused the request. It may do so
// with any status, and what it says is about this object and not about the server.
func denied(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && strings.HasPrefix(status.Status().Message, `admission webhook "`)
}

// broken reports whether the connection ended under the request. That we closed
// it ourselves (net.ErrClosed) says nothing of the server, and a stream that the
// server ended within a connection is about one request.
func broken(err error) bool {
	for _, number := range []syscall.Errno{
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, number) {
			return true
		}
	}
	if unanswered := new(url.Error); !errors.As(err, &unanswered) {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsHTTP2ConnectionLost(err) || strings.Contains(err.Error(), "http2: server sent GOAWAY")
}
