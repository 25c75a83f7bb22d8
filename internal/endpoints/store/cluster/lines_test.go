package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
)

// webhook is an API server with one slice that hangs in a webhook. The test decides
// when it answers the others.
type webhook struct {
	*httptest.Server

	arrived chan string   // the name of each slice that is written
	answers chan struct{} // one for each answer
	opened  atomic.Int64  // connections
}

func newWebhook(t *testing.T, http2 bool) *webhook {
	w := &webhook{arrived: make(chan string), answers: make(chan struct{})}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, _ := io.ReadAll(in.Body)
		name := "web-remote"
		if strings.Contains(string(body), "web-remote-2") {
			name = "web-remote-2"
		}
		w.arrived <- name
		if name == "web-remote-2" {
			<-in.Context().Done()
			panic(http.ErrAbortHandler) // to return would be an answer, which may still arrive
		}
		<-w.answers
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(slice(sent(bytes.NewReader(body), "8")))
	}))
	w.EnableHTTP2 = http2
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.opened.Add(1)
		}
	}
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

// store is one of that server.
func (w *webhook) store(t *testing.T) *single {
	config := &rest.Config{Host: w.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	store := newStore(t, config, storetest.Target("default"))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = store.Run(ctx) // closes its connections
	})
	return store
}

func createOf(name string) publish.Write {
	write := create()
	write.Slice.Name = name
	return write
}

// defective is a context that makes a request panic.
type defective struct{ context.Context }

func (defective) Deadline() (time.Time, bool) { panic("a defect") }

// TestContract23AWriteThatPanicsHidesNoNews: what others make of the slice later is told.
func TestContract23AWriteThatPanicsHidesNoNews(t *testing.T) {
	inWorld(t, []string{"shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
		w.put("ADDED", serviceOf("shop", "web"))
		store := viewOf(t, hub, "shop", "web", "web.blue")
		loaded(t, store)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the write did not panic")
				}
			}()
			_, _ = store.Write(defective{t.Context()}, createOf("web.blue"))
		}()
		loaded(t, store)
		news(store.Changed())
		w.put("ADDED", sliceOf("shop", "web.blue", "web", manager, 1))
		if news(store.Changed()) == 0 {
			t.Error("a slice that came is not told")
		}
	})
}

func TestAWriteThatHangsEndsNoOtherWriteUnderWay(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := newWebhook(t, http2)
			store := server.store(t)
			ctx := newDeadline()
			defer ctx.pass()
			var writes sync.WaitGroup
			defer writes.Wait()
			hung := make(chan error, 1)
			writes.Go(func() { _, err := store.Write(ctx, createOf("web-remote-2")); hung <- err })
			<-server.arrived
			// Another slice is written, so the connection is alive, and written again.
			writes.Go(func() { <-server.arrived; server.answers <- struct{}{} })
			if _, err := store.Write(t.Context(), createOf("web-remote")); err != nil {
				t.Fatal(err)
			}
			again := make(chan error, 1)
			update := createOf("web-remote")
			update.Operation, update.Slice.Version = publish.Update, "8"
			writes.Go(func() { _, err := store.Write(t.Context(), update); again <- err })
			select {
			case <-server.arrived:
			case err := <-again:
				t.Fatalf("the second write was not sent: %v", err)
			}
			ctx.pass()
			if err := <-hung; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, publish.ErrUnavailable) {
				t.Errorf("got %v, want a time-out of that slice alone", err)
			}
			server.answers <- struct{}{}
			if err := <-again; err != nil {
				t.Errorf("the write of the other slice: %v", err)
			}
			if got, most := server.opened.Load(), int64(2); got > most {
				t.Errorf("got %d connections, want at most %d", got, most)
			}
		})
	}
}

func TestAfterSilenceTheNextWriteHasAConnectionOfItsOwn(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := newWebhook(t, http2)
			store := server.store(t)
			var answers sync.WaitGroup
			defer answers.Wait()
			answers.Go(func() {
				for name := range server.arrived {
					if name == "web-remote" {
						server.answers <- struct{}{}
					}
				}
			})
			defer close(server.arrived)
			if _, err := store.Write(t.Context(), createOf("web-remote")); err != nil {
				t.Fatal(err)
			}
			// A late HTTP/2 frame of the first write ends the silence of the next.
			for try := 0; try < 50 && server.opened.Load() < 2; try++ {
				ctx, giveUp := context.WithTimeout(t.Context(), 100*time.Millisecond)
				if _, err := store.Write(ctx, createOf("web-remote-2")); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want a time-out", err)
				}
				giveUp()
				update := createOf("web-remote")
				update.Operation, update.Slice.Version = publish.Update, "8"
				if _, err := store.Write(t.Context(), update); err != nil {
					t.Error(err)
				}
			}
			if got := server.opened.Load(); got != 2 {
				t.Errorf("got %d connections, want a second one", got)
			}
		})
	}
}
