package kube_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// inMemory is a listener of connections without a network.
type inMemory struct {
	accepted chan net.Conn
	closed   context.Context
}

func (l inMemory) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l.accepted <- theirs
	return ours, nil
}

// Accept implements net.Listener.
func (l inMemory) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (inMemory) Close() error { return nil }

// Addr implements net.Listener.
func (inMemory) Addr() net.Addr { return &net.TCPAddr{} }

// TestContract36ARequestThatHangsEndsNoOtherThatWasSentLater: three connections answered long
// ago. A request over the first gets no answer in time, one over the second was sent later
// and is answered later, and the third carries nothing.
func TestContract36ARequestThatHangsEndsNoOtherThatWasSentLater(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		closed, answers := 0, time.Duration(0)
		hangs := make(chan struct{})
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				after := answers
				mu.Unlock()
				if after == 0 {
					<-hangs
				}
				time.Sleep(after)
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`))
			}),
			ConnState: func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					mu.Lock()
					defer mu.Unlock()
					closed++
				}
			},
		}
		ctx, end := context.WithCancel(t.Context())
		listener := inMemory{make(chan net.Conn), ctx}
		var running sync.WaitGroup
		running.Go(func() { _ = server.Serve(listener) })
		client := newClient(t, kube.Fixed(&rest.Config{Host: "http://192.0.2.1", Dial: listener.dial}), 10*time.Second)
		requests := func(many int, answered time.Duration) (errs func() error) {
			mu.Lock()
			answers = answered
			mu.Unlock()
			var asking sync.WaitGroup
			all := make([]error, many)
			for i := range all {
				asking.Go(func() {
					all[i] = client.Create(ctx, kube.Leases("n"), &coordinationv1.Lease{}, &coordinationv1.Lease{})
				})
			}
			synctest.Wait() // all are sent
			return func() error { asking.Wait(); return errors.Join(all...) }
		}
		if err := requests(3, time.Second)(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		hanging := requests(1, 0)
		time.Sleep(5 * time.Second)
		later := requests(1, 9*time.Second)
		if err := hanging(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the request that hangs: got %v, want a deadline", err)
		}
		close(hangs)
		if err := later(); err != nil {
			t.Errorf("the request that was sent later: got %v, want the answer", err)
		}
		synctest.Wait()
		mu.Lock()
		if closed != 2 {
			t.Errorf("got %d connections that are closed, want 2: that of the request that hung, and the idle one", closed)
		}
		mu.Unlock()
		client.Close()
		end()
		_ = server.Close()
		running.Wait()
	})
}
