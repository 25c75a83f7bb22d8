package cluster_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// keeper is an API server that ends watches when it was asked to, and that may
// refuse lists and watches, or not answer them at all.
type keeper struct {
	mu       sync.Mutex
	code     int    // of refusals, 0 for none
	revision string // of lists
	listed   []discoveryv1.EndpointSlice
	// mute is the name of a slice about which no list is answered, and writes is the
	// code of every answer to a write.
	mute     string
	writes   int
	hangs    bool // nothing is answered, and streams stay open
	silent   bool // watches are accepted and tell nothing
	unlisted bool // no list is answered
	only     string
	requests int
}

func (k *keeper) set(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
}

func (k *keeper) RoundTrip(r *http.Request) (*http.Response, error) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	k.mu.Lock()
	k.requests++
	code, hangs, unlisted := k.code, k.hangs, k.unlisted
	if k.only != "" && k.only != resource {
		code, hangs = 0, false
	}
	k.mu.Unlock()
	query := r.URL.Query()
	if k.mute != "" && query.Get("fieldSelector") == "metadata.name="+k.mute {
		hangs = true
	}
	switch {
	case r.Method != http.MethodGet && k.writes == http.StatusCreated:
		return reply(r, k.writes, slice(sent(r.Body, "20"))), nil
	case r.Method != http.MethodGet:
		return reply(r, k.writes, nil), nil
	case hangs || unlisted && !query.Has("watch"):
		<-r.Context().Done()
		return nil, r.Context().Err()
	case code != 0:
		return reply(r, code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason(code), Message: "not for you"}), nil
	case query.Has("sendInitialEvents"):
		return reply(r, http.StatusUnprocessableEntity, nil), nil
	case query.Has("watch"):
		return k.stream(r, resource, query.Get("timeoutSeconds")), nil //nolint:contextcheck // it is the request's
	case resource == "services":
		return reply(r, http.StatusOK, &corev1.ServiceList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ListMeta: metav1.ListMeta{ResourceVersion: "10"},
			Items: []corev1.Service{*knownService("10")},
		}), nil
	}
	return reply(r, http.StatusOK, &discoveryv1.EndpointSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"}, ListMeta: metav1.ListMeta{ResourceVersion: k.revision},
		Items: k.listed,
	}), nil
}

func reason(code int) metav1.StatusReason {
	if code == http.StatusUnauthorized {
		return metav1.StatusReasonUnauthorized
	}
	return metav1.StatusReasonForbidden
}

// stream sends nothing but the bookmark that comes two seconds before its end. It ends
// in time, but not while nothing is answered.
func (k *keeper) stream(r *http.Request, resource, seconds string) *http.Response {
	response := reply(r, http.StatusOK, nil)
	body, stream := io.Pipe()
	response.Body = body
	n, _ := strconv.Atoi(seconds)
	lasts := time.Duration(n) * time.Second
	go func() {
		kube.Wait(r.Context(), lasts-2*time.Second)
		var silent, hangs bool
		if k.set(func() { silent, hangs = k.silent, k.hangs }); !silent && !hangs {
			_ = json.NewEncoder(stream).Encode(map[string]any{"type": "BOOKMARK", "object": bookmark(resource, "10")})
		}
		kube.Wait(r.Context(), 2*time.Second)
		if k.set(func() { hangs = k.hangs }); hangs {
			<-r.Context().Done()
		}
		_ = stream.Close()
	}()
	return response
}

// kept runs the test in a bubble with a store that is in sync.
func kept(t *testing.T, test func(t *testing.T, k *keeper, store *single)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		k := &keeper{revision: "10"}
		config := &rest.Config{Host: "https://192.0.2.1"}
		config.Wrap(func(http.RoundTripper) http.RoundTripper { return k })
		target := storetest.Target("default")
		store, err := newSingle(cluster.Options{Way: kube.Fixed(config), Only: &target})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, store)
		if _, err := store.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		drain(store)
		test(t, k, store)
		stop()
	})
}

// promised is within which a store says that a watch is refused, after what it was told
// last. The alert comes 45 s later at most, so within the 90 s of contract 36.
const promised = 45 * time.Second

// toldWithin waits until the store announces a change, and returns why it is stale
// by then.
func toldWithin(t *testing.T, store *single, d time.Duration) error {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-store.Changed():
	case <-timer.C:
		t.Fatalf("nothing was told within %v", d)
	}
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatalf("got %v, want the state as it was known", err)
	}
	if state.Service.UID != "s-1" {
		t.Errorf("got %+v, want the Service as it was known", state.Service)
	}
	return state.Stale
}

// Contract 36: a store whose watch fails reports it.
func TestContract36AWatchThatIsRefusedOrSilentIsToldWithin45Seconds(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*keeper)
		want  string
	}{
		"forbidden":         {func(k *keeper) { k.code = http.StatusForbidden }, "not for you"},
		"unauthorized":      {func(k *keeper) { k.code = http.StatusUnauthorized }, "not for you"},
		"the Service alone": {func(k *keeper) { k.code, k.only = http.StatusForbidden, "services" }, "the watch of the Service"},
		"the slices alone":  {func(k *keeper) { k.code, k.only = http.StatusForbidden, "endpointslices" }, "the watch of slices"},
		"the lists hang, and watches are accepted and tell nothing": {func(k *keeper) { k.silent, k.unlisted = true, true }, "has sent no event since"},
		"an error of the server":                                    {func(k *keeper) { k.code = http.StatusInternalServerError }, "not for you"},
		"nothing is answered":                                       {func(k *keeper) { k.hangs = true }, "has sent no event since"},
		"the watch of slices hangs":                                 {func(k *keeper) { k.hangs, k.only = true, "endpointslices" }, "the watch of slices has sent no event since"},
		"the watch of services hangs":                               {func(k *keeper) { k.hangs, k.only = true, "services" }, "the watch of the Service has sent no event since"},
	} {
		t.Run(name, func(t *testing.T) {
			kept(t, func(t *testing.T, k *keeper, store *single) {
				time.Sleep(10 * time.Minute)
				if n := drain(store); n > 0 {
					t.Fatalf("got %d changes in 10 quiet minutes, want none", n)
				}
				k.set(func() { c.spoil(k) })
				if err := toldWithin(t, store, promised); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want an error that says %q", err, c.want)
				}
				k.set(func() { k.code, k.hangs, k.silent, k.unlisted = 0, false, false, false })
				if err := toldWithin(t, store, 30*time.Second); err != nil {
					t.Errorf("got %v, want no error after that", err)
				}
				// A watch that hung with the other one is given up later, and may be told on its own until then.
				time.Sleep(2 * longestWatch)
				_ = drain(store)
				if state, err := store.Load(t.Context()); err != nil || state.Stale != nil {
					t.Errorf("got %v and %v, want no doubt a minute later", err, state.Stale)
				}
				time.Sleep(10 * time.Minute)
				if n := drain(store); n > 0 {
					t.Errorf("got %d changes in 10 quiet minutes, want none", n)
				}
			})
		})
	}
}

// A watch that is accepted proves nothing. What it does not tell, a list does.
func TestContract36WhatAWatchDoesNotTellIsKnownWithinAMinute(t *testing.T) {
	kept(t, func(t *testing.T, k *keeper, store *single) {
		time.Sleep(10 * time.Minute)
		other := discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}}}
		other.Namespace, other.Name, other.Labels = "default", "web-x7f2k", map[string]string{discoveryv1.LabelServiceName: "web"}
		for _, listed := range [][]discoveryv1.EndpointSlice{{other}, nil, {other}} {
			k.set(func() { k.silent, k.listed = true, listed })
			if err := toldWithin(t, store, time.Minute); err != nil {
				t.Errorf("got %v, want no doubt: the lists are answered", err)
			}
			if state, err := store.Load(t.Context()); err != nil || len(state.Beside) != len(listed) {
				t.Errorf("got %+v, %v, want %d slices beside ours", state.Beside, err, len(listed))
			}
			k.set(func() { k.silent = false })
			time.Sleep(5 * time.Minute)
			_ = drain(store)
		}
	})
}

func TestARefusalOfAMomentIsNotTold(t *testing.T) {
	kept(t, func(t *testing.T, k *keeper, store *single) {
		k.set(func() { k.code = http.StatusForbidden })
		before := 0
		k.set(func() { before = k.requests })
		for asked := before; asked == before; {
			time.Sleep(100 * time.Millisecond)
			k.set(func() { asked = k.requests })
		}
		time.Sleep(5 * time.Second)
		k.set(func() { k.code = 0 })
		time.Sleep(5 * time.Minute)
		if n := drain(store); n > 0 {
			t.Errorf("got %d changes, want none", n)
		}
	})
}

// A server that does not answer is asked on new connections, each time for at most
// ten seconds.
func TestContract36OpeningAWatchIsGivenUp(t *testing.T) {
	kept(t, func(t *testing.T, k *keeper, store *single) {
		k.set(func() { k.hangs = true })
		time.Sleep(90 * time.Second)
		before := 0
		k.set(func() { before = k.requests })
		time.Sleep(time.Minute)
		k.set(func() {
			if n := k.requests - before; n < 6 || n > 30 {
				t.Errorf("got %d requests in a minute for two watches, want one about every 12 s for each", n)
			}
		})
		_ = drain(store)
	})
}

// TestContract21ASliceThatCannotBeReadKeepsNoOtherFromBeingLoaded: its last write
// failed, and the API server does not answer what became of it.
func TestContract21ASliceThatCannotBeReadKeepsNoOtherFromBeingLoaded(t *testing.T) {
	kept(t, func(t *testing.T, k *keeper, store *single) {
		k.set(func() { k.writes, k.mute = http.StatusInternalServerError, "web-remote-2" })
		for _, name := range []string{"web-remote", "web-remote-2", "web-remote-3"} {
			if _, err := store.Write(t.Context(), createOf(name)); err == nil {
				t.Fatal("got no error of a write that fails")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		state, err := store.Load(ctx)
		if err != nil || !slices.Equal(state.Unread, []string{"web-remote-2"}) || state.UnreadErr == nil || state.Stale != nil {
			t.Errorf("got %q unread, %v, %v and %v, want the one slice and why", state.Unread, state.UnreadErr, state.Stale, err)
		}
		k.set(func() { k.mute = "" })
		before := 0
		k.set(func() { before = k.requests })
		state, err = store.Load(t.Context())
		if err != nil || len(state.Unread) > 0 || state.UnreadErr != nil {
			t.Errorf("got %q unread, %v and %v, want nothing", state.Unread, state.UnreadErr, err)
		}
		k.set(func() {
			if got := k.requests - before; got != 1 {
				t.Errorf("got %d requests, want one: the others were read before", got)
			}
		})
	})
}

// TestContract21ARestoredServerCounts: its revisions begin again at an earlier one,
// so the answer of a write looks newer than everything that follows.
func TestContract21ARestoredServerCounts(t *testing.T) {
	older := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	older.Namespace, older.Name, older.ResourceVersion = "default", "web-remote", "3"
	older.Labels = map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "ionos-endpointslice-controller"}
	for name, restored := range map[string][]discoveryv1.EndpointSlice{
		"without the slice": nil, "with the slice as it was": {older},
	} {
		t.Run(name, func(t *testing.T) {
			kept(t, func(t *testing.T, k *keeper, store *single) {
				k.set(func() { k.writes = http.StatusCreated })
				if _, err := store.Write(t.Context(), createOf("web-remote")); err != nil {
					t.Fatal(err)
				}
				state, err := store.Load(t.Context())
				if err != nil || len(state.Slices)+len(state.Refused) != 1 {
					t.Fatalf("got %+v, %v, want the slice that was made", state, err)
				}
				k.set(func() { k.revision, k.listed, k.code = "5", restored, http.StatusGone })
				time.Sleep(longestWatch)
				k.set(func() { k.code = 0 })
				time.Sleep(10 * time.Second)
				state, err = store.Load(t.Context())
				if err != nil || len(state.Slices) != len(restored) || len(state.Refused) != 0 {
					t.Fatalf("got %+v, %v, want %d slices, as the server has", state, err, len(restored))
				}
				for _, slice := range state.Slices {
					if slice.Version != "3" {
						t.Errorf("got version %s, want 3, as the server has it", slice.Version)
					}
				}
			})
		})
	}
}

func TestAListSaysWhichSlicesBesideOursAreGone(t *testing.T) {
	kept(t, func(t *testing.T, k *keeper, store *single) {
		other := discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}}}
		other.Namespace, other.Name, other.Labels = "default", "web-x7f2k", map[string]string{discoveryv1.LabelServiceName: "web"}
		for _, listed := range [][]discoveryv1.EndpointSlice{{other}, nil} {
			k.set(func() { k.listed, k.code = listed, http.StatusGone })
			time.Sleep(longestWatch)
			k.set(func() { k.code = 0 })
			time.Sleep(10 * time.Second)
			if n := drain(store); n != 1 {
				t.Errorf("got %d news, want 1", n)
			}
			if state, err := store.Load(t.Context()); err != nil || len(state.Beside) != len(listed) {
				t.Errorf("got %+v, %v, want %d slices beside ours", state.Beside, err, len(listed))
			}
		}
	})
}

// longestWatch is the longest time that a watch lasts.
const longestWatch = 30 * time.Second
