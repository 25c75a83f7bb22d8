package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// replica stands for endpoint-views. It speaks the form that package xds writes.
type replica struct {
	mu    sync.Mutex
	says  []envoyconfig.ProxyState
	knows []envoyconfig.ObjectState
	fails bool
}

func (r *replica) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails || request.URL.Path != "/api/v1/fleets" || request.Header.Get("Authorization") != "Bearer of the operator" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"streams": r.says, "objects": r.knows})
}

func (r *replica) say(fails bool, all ...envoyconfig.ProxyState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.says, r.fails = all, fails
}

// asking asks a replica until the test ends, and returns the news.
func asking(t *testing.T, r *replica) (*fleet.Streams, <-chan string) {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("of the operator\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := fleet.NewStreams(fleet.StreamsOptions{Address: server.URL, TokenFile: token, Interval: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	news, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, func(ctx context.Context, fleet string) {
			select {
			case news <- fleet:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() { stop(); <-ended })
	return s, news
}

func next(t *testing.T, news <-chan string, want string) {
	t.Helper()
	select {
	case got := <-news:
		if got != want {
			t.Fatalf("got news of %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no news of %q", want)
	}
}

func TestContract89WhatIsNewOfAFleetIsToldOnce(t *testing.T) {
	r := &replica{}
	r.say(false, envoyconfig.ProxyState{Client: "shop/edge", Node: "edge-1", Generation: 1})
	s, news := asking(t, r)
	next(t, news, "") // the first answer concerns every fleet
	next(t, news, "shop/edge")
	r.say(false, envoyconfig.ProxyState{Client: "shop/edge", Node: "edge-1", Generation: 1, Rejected: []envoyconfig.RejectedKind{{Type: "LDS", Text: "no such\nsocket"}}},
		envoyconfig.ProxyState{Client: "blog/edge", Node: "edge-9", Generation: 3})
	next(t, news, "blog/edge")
	next(t, news, "shop/edge")
	all := s.Of("shop/edge")
	if !all.Asked || all.Answered != 1 || len(all.All) != 1 || all.All[0].Node != "edge-1" || len(all.All[0].Rejected) != 1 {
		t.Errorf("got %+v", all)
	}
	r.say(false, envoyconfig.ProxyState{Client: "blog/edge", Node: "edge-9", Generation: 3})
	next(t, news, "shop/edge")
	if all := s.Of("shop/edge"); len(all.All) != 0 {
		t.Errorf("the stream is gone, and it is still there: %+v", all)
	}
}

func TestContract152WhatServeSaysOfAnObjectIsToldOnce(t *testing.T) {
	r := &replica{}
	s, news := asking(t, r)
	next(t, news, "")
	r.mu.Lock()
	r.knows = []envoyconfig.ObjectState{{Client: "shop/edge", Generation: 3, More: 1, Unresolved: []envoyconfig.UnresolvedRef{{Port: 8443, Route: 2, Reason: "NotShown", Text: "no\nannotation"}}, Notes: []string{"a note"}}}
	r.mu.Unlock()
	next(t, news, "shop/edge")
	want := []envoyconfig.ObjectState{{Client: "shop/edge", Generation: 3, More: 1, Unresolved: []envoyconfig.UnresolvedRef{{Port: 8443, Route: 2, Reason: "NotShown", Text: "no\nannotation"}}, Notes: []string{"a note"}}}
	if diff := cmp.Diff(want, s.Of("shop/edge").Served); diff != "" {
		t.Error(diff)
	}
	r.mu.Lock()
	r.knows = []envoyconfig.ObjectState{{Client: "shop/edge", Generation: 4, Problem: "two routes"}}
	r.mu.Unlock()
	next(t, news, "shop/edge")
	if diff := cmp.Diff([]envoyconfig.ObjectState{{Client: "shop/edge", Generation: 4, Problem: "two routes"}}, s.Of("shop/edge").Served); diff != "" {
		t.Error(diff)
	}
}

// TestContract233WhatServeSaysOfAllOthersConcernsEveryFleet: one that serve knows by its own
// name is none of the others.
func TestContract233WhatServeSaysOfAllOthersConcernsEveryFleet(t *testing.T) {
	r := &replica{knows: []envoyconfig.ObjectState{{Client: "shop/edge", Generation: 3}}}
	s, news := asking(t, r)
	next(t, news, "")
	next(t, news, "shop/edge")
	r.mu.Lock()
	r.knows = append(r.knows, envoyconfig.ObjectState{Client: envoyconfig.Others("shop/edge"), Problem: "too many"})
	r.mu.Unlock()
	next(t, news, "")
	for fleet, want := range map[string]envoyconfig.ObjectState{"shop/edge": {Client: "shop/edge", Generation: 3}, "shop/unknown": {Client: "shop/*", Problem: "too many"}} {
		if diff := cmp.Diff([]envoyconfig.ObjectState{want}, s.Of(fleet).Served); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fleet, diff)
		}
	}
	if got := s.Of("blog/edge").Served; len(got) != 0 {
		t.Errorf("got %+v of a fleet of another namespace", got)
	}
}

func TestContract89AReplicaThatDoesNotAnswerConcernsEveryFleet(t *testing.T) {
	r := &replica{}
	s, news := asking(t, r)
	next(t, news, "")
	r.say(true)
	next(t, news, "")
	if all := s.Of("shop/edge"); all.Answered != 0 || !strings.Contains(all.Missing, "403 Forbidden") {
		t.Errorf("got %+v, want why no server answers", all)
	}
	r.say(false)
	next(t, news, "")
	if all := s.Of("shop/edge"); all.Answered != 1 || all.Missing != "" {
		t.Errorf("got %+v, want that it answers again", all)
	}
}

func TestBeforeTheFirstAnswerNothingIsKnown(t *testing.T) {
	s, err := fleet.NewStreams(fleet.StreamsOptions{Address: "https://endpoint-views.infra"})
	if err != nil || s.Of("shop/edge").Asked {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := fleet.NewStreams(fleet.StreamsOptions{Address: "endpoint-views:443"}); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("got %v, want what to write", err)
	}
}

// TestContract149OfWhatReplicasAnswerABoundedPartIsRead: one answers without an end.
func TestContract149OfWhatReplicasAnswerABoundedPartIsRead(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		next, long := []byte(`{"streams":[{"client":"`), bytes.Repeat([]byte("x"), 1<<20)
		for {
			n, err := w.Write(next)
			if sent.Add(int64(n)); err != nil {
				return
			}
			next = long
		}
	}))
	defer server.Close()
	s, err := fleet.NewStreams(fleet.StreamsOptions{Address: server.URL, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s.Run(ctx, func(context.Context, string) { stop() })
	if got := s.Of("shop/edge"); got.Answered != 0 || !strings.Contains(got.Missing, "read the first 33554432 bytes of the answer") {
		t.Errorf("got %+v", got) // also where a slow machine runs out of time before
	}
	// Some more is on its way.
	if got := sent.Load(); got > 48<<20 {
		t.Errorf("%d MiB were sent", got>>20)
	}
}
