package cluster_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func create() publish.Write {
	return publish.Write{Operation: publish.Create, Slice: publish.Slice{
		Name: "web-remote", Owner: "s-1",
		Endpoints: []inventory.Member{{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateReady}},
	}}
}

// answer runs a server that answers every request in the same way and returns
// the error of one write, and what the server saw.
func answer(t *testing.T, code int, header http.Header, message string) ([]*http.Request, error) {
	t.Helper()
	var mu sync.Mutex
	var seen []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r)
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"` + message + `"}`))
	}))
	defer server.Close()
	store := newStore(t, &rest.Config{Host: server.URL, BearerToken: "s3cr3t"}, storetest.Target("default"))
	_, err := store.Write(t.Context(), create())
	mu.Lock()
	defer mu.Unlock()
	return seen, err
}

func TestContract21AWriteIsSentOnceHoweverTheServerAnswers(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInternalServerError} {
		seen, err := answer(t, code, http.Header{"Retry-After": {"0"}}, "not now")
		if err == nil || errors.Is(err, publish.ErrConflict) {
			t.Errorf("%d: got %v, want an error that is no conflict", code, err)
		}
		if len(seen) != 1 {
			t.Errorf("%d: got %d requests, want 1", code, len(seen))
		}
	}
}

func TestContract35AnErrorIsBoundedAndHoldsNoSecret(t *testing.T) {
	seen, err := answer(t, http.StatusUnprocessableEntity, nil, strings.Repeat("endpoints[7] is wrong; ", 50_000))
	if err == nil || len(err.Error()) > 600 {
		t.Errorf("got an error of %d bytes", len(err.Error()))
	}
	if got := seen[0].Header.Get("Authorization"); got != "Bearer s3cr3t" {
		t.Errorf("got authorization %q", got)
	}
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error holds the token: %v", err)
	}
}

func TestNoThrottleOfOurOwnDelaysAWrite(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "https://192.0.2.1", QPS: 1, Burst: 1}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return refusal{} })
		store := newStore(t, config, storetest.Target("default"))
		started := time.Now()
		for range 100 {
			if _, err := store.Write(t.Context(), create()); err == nil {
				t.Fatal("got no error")
			}
		}
		if waited := time.Since(started); waited != 0 {
			t.Errorf("100 writes waited %v, want none to wait", waited)
		}
	})
}

// refusal is a server that refuses at once.
type refusal struct{}

func (refusal) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

func TestTheUserAgentNamesTheProgram(t *testing.T) {
	seen, _ := answer(t, http.StatusInternalServerError, nil, "")
	if got := seen[0].UserAgent(); got != "ionos-endpointslice-controller" {
		t.Errorf("got user agent %q", got)
	}
}

// The store must see a local API server again within a few seconds of its return,
// also after a long outage.
func TestAnAPIServerThatIsAwayIsAskedEveryFewSeconds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var asked []time.Time
		store := newStore(t, &rest.Config{
			Host: "https://192.0.2.1",
			Dial: func(context.Context, string, string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, time.Now())
				return nil, errors.New("connection refused")
			},
		}, storetest.Target("default"))
		stop := run(t, store)
		time.Sleep(10 * time.Minute)
		stop()
		mu.Lock()
		defer mu.Unlock()
		for i := 1; i < len(asked); i++ {
			if pause := asked[i].Sub(asked[i-1]); pause > 3*time.Second {
				t.Errorf("a pause of %v before attempt %d", pause, i)
			}
		}
		if len(asked) < 300 || len(asked) > 2400 {
			t.Errorf("got %d attempts in 10 minutes, want one in about two seconds for each watch", len(asked))
		}
	})
}

func TestALoadWithoutAnAnswerEndsWithItsContextAndSaysWhy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		store := newStore(t, &rest.Config{
			Host: "https://192.0.2.1",
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") },
		}, storetest.Target("default"))
		run(t, store)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := store.Load(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("got %v, want a deadline and the reason", err)
		}
	})
}

func TestIncompleteOptionsAreRefused(t *testing.T) {
	target, named := storetest.Target("default"), storetest.Target("default")
	target.SliceName = ""
	for name, options := range map[string]cluster.Options{
		"no config": {Only: &named},
		"no name":   {Only: &target, Way: kube.Fixed(&rest.Config{Host: "https://192.0.2.1"})},
		"bad CA": {Only: &named, Way: kube.Fixed(&rest.Config{
			Host: "https://192.0.2.1", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}})},
	} {
		if _, err := newSingle(options); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
