package kube_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// pageServer is an API server that cannot stream lists, and answers them in as many pages as there are
// endings: after its two objects each page ends with that error, nil for as it is to.
type pageServer struct {
	endings []error
	lists   []string // what was asked for, by where it goes on
}

func (p *pageServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	switch {
	case query.Has("sendInitialEvents"):
		return answer(r, http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`), nil
	case query.Has("watch"):
		<-r.Context().Done()
		return nil, r.Context().Err()
	case query.Get("limit") == "":
		return nil, fmt.Errorf("got %s, want a list in pages", r.URL)
	}
	p.lists = append(p.lists, query.Get("continue"))
	page := len(query.Get("continue"))
	next := ""
	if page < len(p.endings)-1 {
		next = strings.Repeat("x", page+1)
	}
	text := fmt.Sprintf(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"3","continue":%q},"items":[{"metadata":{"name":"a-%d"}},{"metadata":{"name":"b-%d"}}`, next, page, page)
	response := answer(r, http.StatusOK, text+"]}")
	if err := p.endings[page]; err != nil {
		p.endings[page] = nil
		response.Body = io.NopCloser(io.MultiReader(strings.NewReader(text), broken{err}))
	}
	return response, nil
}

// broken is the rest of an answer that breaks off.
type broken struct{ error }

func (b broken) Read([]byte) (int, error) { return 0, b.error }

// TestContract244AllPagesOfAListHaveOneBound: an API server sends 500 objects in one answer, however
// large they are. What came of a list that broke off takes no room of the next one.
func TestContract244AllPagesOfAListHaveOneBound(t *testing.T) {
	for name, c := range map[string]struct {
		endings []error
		lists   int
	}{
		"whole":                      {make([]error, 4), 4},
		"the second page breaks off": {[]error{nil, &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}, nil, nil}, 6},
		"the first page breaks off":  {[]error{&net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}, nil, nil, nil}, 5},
		"the only page breaks off":   {[]error{&net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server, taken := &pageServer{endings: c.endings}, make(chan []string, 1)
			config := &rest.Config{Host: "https://192.0.2.1"}
			config.Wrap(func(http.RoundTripper) http.RoundTripper { return server })
			const room = 3
			r := &kube.Reflector{
				Client: newClient(t, kube.Fixed(config), 0), What: "leases", Resource: kube.Leases("n"), Object: &coordinationv1.Lease{},
				Store: &kube.Feed[*coordinationv1.Lease, string]{
					Lock: &sync.Mutex{}, SetAll: func(all []string, _ string) error { taken <- all; return nil },
					Read: func(o *coordinationv1.Lease) (string, error) { return o.Name, nil },
					Listing: func() func(string) string {
						used := 0
						return func(name string) string {
							if used++; used > room {
								return ""
							}
							return name
						}
					},
				},
			}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { r.Run(ctx) })
			all := <-taken
			stop()
			running.Wait()
			kept := strings.Fields(strings.Join(all, " "))
			if len(all) != 2*len(c.endings) || len(kept) != min(room, len(all)) {
				t.Errorf("of %d objects %q are kept, want the first %d of %d", len(all), kept, room, 2*len(c.endings))
			}
			if len(server.lists) != c.lists {
				t.Errorf("got lists that go on at %q, want %d", server.lists, c.lists)
			}
		})
	}
}
