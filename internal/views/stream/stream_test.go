package stream_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// plain is a server on a loopback address without identities.
func plain(t *testing.T, c *cluster) string {
	t.Helper()
	server := run(t, stream.Options{
		Address: mustAddress("127.0.0.1:0"), Cache: c.Cache, Stale: current, MostClients: 10, MostOfOne: 10, Logger: discard(),
		Take: 2 * time.Minute, // a busy machine ends no stream
	})
	return "http://" + server.Address().String() + "/api/v1/views"
}

func TestContract40AStreamTellsTheStateAMarkAndEachChange(t *testing.T) {
	c := newCluster(t, "shop")
	events := watch(t, http.DefaultClient, plain(t, c)+"?watch=true")
	if e := events.next(t); e.Type != views.Added || e.Object.Metadata.Name != "web.http.10-0-0-1.8080" {
		t.Errorf("got %+v, want the endpoint", e)
	}
	if e := events.next(t); e.Type != views.Bookmark || !strings.Contains(events.Text(), `"k8s.io/initial-events-end":"true"`) {
		t.Errorf("got %s, want the mark after the state", events.Text())
	}
	c.slice("shop", 1, 2)
	if e := events.next(t); e.Type != views.Added || e.Object.Spec.Address != "10.0.0.2" || e.Object.Spec.Since == nil {
		t.Errorf("got %s, want the new endpoint and since when it is there", events.Text())
	}
	if e := events.next(t); e.Type != views.Bookmark || e.Object.Metadata.ResourceVersion == "" {
		t.Errorf("got %s, want where to go on after each change", events.Text())
	}
	c.slice("shop", 2)
	if e := events.change(t); e.Type != views.Deleted || e.Object.Spec.Address != "10.0.0.1" || e.Object.Spec.State != views.Ready {
		t.Errorf("got %s, want the last state of what is gone", events.Text())
	}
}

func TestContract41AStreamGoesOnFromAToken(t *testing.T) {
	c := newCluster(t, "shop")
	address := plain(t, c)
	first := watch(t, http.DefaultClient, address+"?watch=true")
	first.next(t)
	mark := first.next(t)
	c.slice("shop", 2)
	added, deleted := first.next(t), first.next(t)
	if added.Type != views.Added || deleted.Type != views.Deleted {
		t.Fatalf("got %s and %s", added.Type, deleted.Type)
	}
	if token := added.Object.Metadata.ResourceVersion; token != "" {
		t.Errorf("got %q in the middle of a change, where no other replica can go on for certain", token)
	}
	again := watch(t, http.DefaultClient, address+"?watch=true&resourceVersion="+mark.Object.Metadata.ResourceVersion)
	for _, want := range []event{added, deleted} {
		if e := again.next(t); e.Type != want.Type || e.Object.Metadata.Name != want.Object.Metadata.Name {
			t.Errorf("got %s of %s, want %s of %s", e.Type, e.Object.Metadata.Name, want.Type, want.Object.Metadata.Name)
		}
	}
}

func TestContract41ATokenThatCannotBeGoneOnFromIsRefused(t *testing.T) {
	c := newCluster(t, "shop")
	address := plain(t, c) + "?watch=true&resourceVersion="
	for token, want := range map[string]int{"0.1": http.StatusGone, "x": http.StatusBadRequest, "1.2.3": http.StatusBadRequest, "1.1_2.2": http.StatusBadRequest} {
		if code, body := get(t, http.DefaultClient, address+token, ""); code != want {
			t.Errorf("%s: got %d %s, want %d", token, code, body, want)
		}
	}
	began := time.Now()
	code, body := get(t, http.DefaultClient, address+"1000.1000", "")
	if code != http.StatusServiceUnavailable || time.Since(began) < 4*time.Second {
		t.Errorf("got %d %s after %v, want 503 after five seconds", code, body, time.Since(began))
	}
}

func TestContract41ATokenOfAReplicaThatIsFurtherIsWaitedFor(t *testing.T) {
	c := newCluster(t, "shop")
	address := plain(t, c)
	ahead := c.revision + 1
	token := cache.Token{{ahead, ahead}}.String()
	told := make(chan lines)
	go func() { told <- watch(t, http.DefaultClient, address+"?watch=true&resourceVersion="+token) }()
	c.Bookmark(0, cache.Services, ahead)
	c.Bookmark(0, cache.Slices, ahead)
	events := <-told
	c.revision = ahead
	if e := events.next(t); e.Type != views.Bookmark {
		t.Errorf("got %s, want that nothing happened", events.Text())
	}
	c.slice("shop", 1, 2)
	if e := events.next(t); e.Object.Spec.Address != "10.0.0.2" {
		t.Errorf("got %s, want what happened since", events.Text())
	}
}

// TestContract40ASlowReaderDelaysNoOtherAndGetsTheNewestStates: one client takes nothing while
// thousands of changes happen; another one sees each at once, and the first one the
// newest state of each object.
func TestContract40ASlowReaderDelaysNoOtherAndGetsTheNewestStates(t *testing.T) {
	c := newCluster(t, "shop")
	address := plain(t, c)
	slow := watch(t, http.DefaultClient, address+"?watch=true")
	quick := watch(t, http.DefaultClient, address+"?watch=true")
	for range 2 {
		slow.next(t)
		quick.next(t)
	}
	many := make([]int, 0, 2001)
	for i := range 2000 {
		many = append(many, i+10)
	}
	const rounds = 30 // more than the buffers between both ends hold
	for range rounds {
		for _, endpoints := range [][]int{many, nil} {
			c.slice("shop", endpoints...)
		}
	}
	c.slice("shop", 5)
	for e := quick.next(t); e.Object.Spec.Address != "10.0.0.5"; e = quick.next(t) {
	}
	has := map[string]bool{"10.0.0.1": true}
	lines := 0
	for e := slow.change(t); ; e = slow.change(t) {
		lines++
		if e.Type == views.Deleted {
			delete(has, e.Object.Spec.Address)
			continue
		}
		if has[e.Object.Spec.Address] = true; e.Object.Spec.Address == "10.0.0.5" {
			break
		}
	}
	if len(has) != 1 {
		t.Errorf("got %d endpoints in the end, want the one that is left", len(has))
	}
	if all := rounds * 2 * len(many); lines > all/2 {
		t.Errorf("got %d lines of %d changes, want the newest state of each object", lines, all)
	}
}

// TestContract40AClientThatTakesNothingIsCutOffAndCounted, over HTTP/2 as well, where
// the error is another one.
func TestContract40AClientThatTakesNothingIsCutOffAndCounted(t *testing.T) {
	for name, secured := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, "shop")
			s := startWith(t, c, identities, stream.Options{Take: 300 * time.Millisecond})
			client := s.client(t, nil)
			if !secured {
				client.Transport.(*http.Transport).ForceAttemptHTTP2 = false //nolint:forcetypeassert // made above
			}
			response := open(t, client, s.url+"/api/v1/views?watch=true", token)
			defer response.Body.Close() // it is never read
			var states [2][]int         // every endpoint flips each time, so that there is much to tell
			for i := range 5_000 {
				states[0], states[1] = append(states[0], i+10), append(states[1], -i-10)
			}
			round := 0
			s.until(t, "the client is cut off", func() bool {
				round++
				c.slice("shop", states[round%2]...)
				return s.Stats().TimedOut == 1 && s.Stats().Streams == 0
			})
		})
	}
}

// TestContract40WhoIsCutOffIsCounted, also where the bound passes at the end of a write,
// or between two. No client goes away here, so each stream that ends was cut off.
func TestContract40WhoIsCutOffIsCounted(t *testing.T) {
	var all []func() bool
	for i := range 40 {
		c, take := newCluster(t, "shop"), time.Duration(i+1)*time.Millisecond
		s := startWith(t, c, identities, stream.Options{Take: take})
		if response := open(t, s.client(t, nil), s.url+"/api/v1/views?watch=true", token); response != nil {
			defer response.Body.Close() // it is never read
		}
		all = append(all, func() bool {
			endpoints := make([]int, 200)
			for e := range endpoints {
				endpoints[e] = (e + 10) * (1 - 2*rand.IntN(2))
			}
			c.slice("shop", endpoints...)
			if s.Stats().Streams > 0 {
				return false
			}
			if s.Stats().TimedOut != 1 {
				t.Errorf("with %v: the stream ended, and %d clients are counted as cut off", take, s.Stats().TimedOut)
			}
			return true
		})
	}
	// Without a pause: on a machine at rest the bound hardly ever passes just then.
	for end := time.Now().Add(5 * time.Minute); len(all) > 0; {
		all = slices.DeleteFunc(all, func(ended func() bool) bool { return ended() })
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %d clients are not cut off", len(all))
		}
	}
}

func TestReadyShowsAFlipAsDeletedAndAdded(t *testing.T) {
	c := newCluster(t, "shop")
	address := plain(t, c)
	ready, all := watch(t, http.DefaultClient, address+"?watch=true&ready=true"), watch(t, http.DefaultClient, address+"?watch=true")
	for range 2 {
		ready.next(t)
		all.next(t)
	}
	for _, step := range []struct {
		endpoint int
		ready    views.EventType
		state    views.State
	}{{-1, views.Deleted, views.Down}, {1, views.Added, views.Ready}} {
		c.slice("shop", step.endpoint)
		if e := ready.change(t); e.Type != step.ready {
			t.Errorf("with ready=true: got %s, want %s", ready.Text(), step.ready)
		}
		if e := all.change(t); e.Type != views.Modified || e.Object.Spec.State != step.state {
			t.Errorf("got %s, want MODIFIED and %s", all.Text(), step.state)
		}
	}
}

func TestGatheringTellsThePortWithAllItsEndpoints(t *testing.T) {
	c := newCluster(t, "shop")
	events := watch(t, http.DefaultClient, plain(t, c)+"?watch=true&gather=true")
	events.next(t)
	events.next(t)
	c.slice("shop", 1, 2, 3)
	if e := events.next(t); e.Type != views.Modified || e.Object.Kind != "ServicePortView" || strings.Count(events.Text(), `"address"`) != 3 {
		t.Errorf("got %s, want the port with three endpoints", events.Text())
	}
}

// TestContract41AReplicaThatIsNotCurrentDoesNotSayThatItIsBehind, because clients give a
// token up of which that is said too often; nor one that may have read a wrong list, or none.
func TestContract41AReplicaThatIsNotCurrentDoesNotSayThatItIsBehind(t *testing.T) {
	unsure := newCluster(t, "shop")
	if err := unsure.Replace(0, cache.Slices, nil, unsure.revision); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		*cluster
		stale error
	}{
		"its watches are silent": {newCluster(t, "shop"), errors.New("the API server is away")},
		"its list may be wrong":  {unsure, nil},
		"it has read nothing":    {&cluster{Cache: cache.New(1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := run(t, stream.Options{
				Address: mustAddress("127.0.0.1:0"), Cache: c.Cache, MostClients: 10, MostOfOne: 10, Logger: discard(),
				Stale: func(time.Time) (time.Time, error) { return time.Now(), c.stale },
			})
			code, text := get(t, http.DefaultClient, "http://"+server.Address().String()+"/api/v1/views?watch=true&timeoutSeconds=1&resourceVersion=1000.1000", "")
			if code != http.StatusGatewayTimeout {
				t.Errorf("got %d %s, want 504", code, text)
			}
		})
	}
}

// TestContract44AStateThatIsNotCurrentIsMarked, in lists and streams, and stands.
func TestContract44AStateThatIsNotCurrentIsMarked(t *testing.T) {
	c := newCluster(t, "shop")
	server := run(t, stream.Options{
		Address: mustAddress("127.0.0.1:0"), Cache: c.Cache, MostClients: 10, MostOfOne: 10, Logger: discard(),
		Stale: func(time.Time) (time.Time, error) {
			return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), errors.New("the API server is away")
		},
	})
	address, want := "http://"+server.Address().String()+"/api/v1/views", `"endpoints.ablmnzde.github.io/stale-since":"2026-01-02T03:04:05Z"`
	if code, body := get(t, http.DefaultClient, address, ""); code != 200 || !strings.Contains(body, want) || !strings.Contains(body, "10.0.0.1") {
		t.Errorf("got %d %s, want the last state and since when it stands", code, body)
	}
	events := watch(t, http.DefaultClient, address+"?watch=true")
	events.next(t)
	if events.next(t); !strings.Contains(events.Text(), want) {
		t.Errorf("got %s, want since when the state stands", events.Text())
	}
}

func TestAListIsSortedAndSaysWhereToGoOn(t *testing.T) {
	c := newCluster(t, "shop", "blog")
	code, body := get(t, http.DefaultClient, plain(t, c), "")
	if code != http.StatusOK || strings.Index(body, `"namespace":"blog"`) > strings.Index(body, `"namespace":"shop"`) {
		t.Errorf("got %d %s, want blog before shop", code, body)
	}
	if !strings.HasPrefix(body, `{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":"EndpointViewList","metadata":{"resourceVersion":"`) {
		t.Errorf("got %.200s", body)
	}
}
