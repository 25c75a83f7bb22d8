package cache_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// filled is a replica of a server with the Service web and one endpoint.
func filled() (*server, *replica) {
	s := newServer()
	s.service("web", 80, true)
	s.slice("web-1", "web", 1)
	return s, newReplica(s)
}

func TestNothingIsReadBeforeEveryWatchHasToldACompleteList(t *testing.T) {
	s, _ := filled()
	c := cache.New(1)
	if err := c.Replace(0, cache.Slices, nil, s.revision); err != nil {
		t.Fatal(err)
	}
	everything := newClient(false).selection
	if _, err := c.Read(everything, ""); !errors.Is(err, cache.ErrNotSynced) {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.List(everything); !errors.Is(err, cache.ErrNotSynced) || c.Synced() {
		t.Errorf("got %v: an empty list would take every endpoint away", err)
	}
}

// TestWhatIsGoneIsRememberedForTenMinutes: a reader that was away for longer must
// begin again.
func TestWhatIsGoneIsRememberedForTenMinutes(t *testing.T) {
	for after, expired := range map[time.Duration]bool{9 * time.Minute: false, 11 * time.Minute: true} {
		bubble.Test(t, func(t *testing.T) {
			s, r := filled()
			away, token := newClient(false), newClient(false)
			for _, c := range []*client{away, token} {
				if err := errors.Join(c.connect(r), c.take()); err != nil {
					t.Fatal(err)
				}
			}
			s.slice("web-1", "web", 2)
			r.catchUp()
			time.Sleep(after)
			s.slice("other-1", "other", 1) // something happens, and the cache looks at the time
			r.catchUp()
			_, err := away.reader.Next()
			if errors.Is(err, cache.ErrExpired) != expired {
				t.Errorf("after %v: got %v of a reader", after, err)
			}
			_, err = r.Read(token.selection, token.token)
			if errors.Is(err, cache.ErrExpired) != expired {
				t.Errorf("after %v: got %v of a token", after, err)
			}
		})
	}
}

// TestARestoredServerIsTakenAtTheSecondList: its revisions begin again, so every
// token and every reader must begin again too.
func TestARestoredServerIsTakenAtTheSecondList(t *testing.T) {
	s, r := filled()
	for range 50 {
		s.slice("web-1", "web", 1, 2)
	}
	r.catchUp()
	c := newClient(false)
	if err := errors.Join(c.connect(r), c.take()); err != nil {
		t.Fatal(err)
	}
	restored := newServer()
	restored.service("web", 80, true)
	restored.slice("web-1", "web", 1)
	r.server, r.next = restored, [2]int{1, 1}
	for kind := range r.next {
		var all []cache.Input
		for _, in := range restored.held[kind] {
			all = append(all, in)
		}
		if err := r.Replace(0, cache.Kind(kind), all, restored.revision); !errors.Is(err, cache.ErrWentBack) {
			t.Fatalf("got %v, want that the list is asked for again", err)
		}
		if got := len(listed(r.Cache, false)); kind == 0 && got != 2 {
			t.Errorf("got %d endpoints after a list of the past, want 2", got)
		}
		if err := r.Replace(0, cache.Kind(kind), all, restored.revision); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(restored.views(false), listed(r.Cache, false)); diff != "" {
		t.Error(diff)
	}
	if _, err := c.reader.Next(); !errors.Is(err, cache.ErrExpired) {
		t.Errorf("got %v of a reader of the time before", err)
	}
}

// TestContract39ARestoredServerIsFollowedInWhatItsBackupLacks: an object that was made anew has a lower
// revision than the one that was known.
func TestContract39ARestoredServerIsFollowedInWhatItsBackupLacks(t *testing.T) {
	for name, comes := range map[string]func(*replica){
		"by a list":   func(r *replica) { r.relist(cache.Slices, nil) },
		"by an event": func(r *replica) { r.deliver(cache.Slices) },
		"by a read":   func(r *replica) { r.confirm() },
	} {
		s, r := filled()
		for range 50 {
			s.slice("web-1", "web", 1, 2)
		}
		r.catchUp()
		restored := newServer()
		restored.service("web", 80, true)
		r.server, r.next = restored, [2]int{1, 0}
		for kind, held := range restored.held {
			all := slices.Collect(maps.Values(held))
			if err := r.Replace(0, cache.Kind(kind), all, restored.revision); !errors.Is(err, cache.ErrWentBack) {
				t.Fatalf("got %v, want that the list is asked for again", err)
			}
			if err := r.Replace(0, cache.Kind(kind), all, restored.revision); err != nil {
				t.Fatal(err)
			}
		}
		restored.slice("web-1", "web", 3)
		comes(r)
		if diff := cmp.Diff(restored.views(false), listed(r.Cache, false)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestContract39ARestoredServerIsFollowedWhereItsRevisionsWereRaised, as etcd recommends: a list is newer
// than all that is known, and its objects are as old as the backup.
func TestContract39ARestoredServerIsFollowedWhereItsRevisionsWereRaised(t *testing.T) {
	s, r := filled()
	s.service("web", 81, true)
	s.slice("web-1", "web", 1, 2)
	r.catchUp()
	r.server, _ = filled()
	r.server.revision += 1_000_000
	r.relist(cache.Services, nil)
	r.relist(cache.Slices, nil)
	if diff := cmp.Diff(r.server.views(false), listed(r.Cache, false)); diff != "" {
		t.Error(diff)
	}
}

func TestASuspectIsKeptUntilTheServerConfirms(t *testing.T) {
	s, r := filled()
	s.gone(cache.Slices, "web-1")
	r.relist(cache.Slices, nil) // the watch has told nothing of it
	if got := listed(r.Cache, false); len(got) != 1 {
		t.Errorf("got %v, want the endpoint: no answer said that it is gone", got)
	}
	want := []cache.UnconfirmedObject{{Kind: cache.Slices, Key: join.Key{Namespace: "shop", Name: "web-1"}}}
	if diff := cmp.Diff(want, r.Unconfirmed()); diff != "" {
		t.Error(diff)
	}
	r.confirm()
	if got := listed(r.Cache, false); len(got) != 0 || len(r.Unconfirmed()) != 0 {
		t.Errorf("got %v, want nothing once it is confirmed", got)
	}
}

// TestContract40MemoryIsBoundedByEndpoints: endpoints that come and go leave nothing but what is
// remembered.
func TestContract40MemoryIsBoundedByEndpoints(t *testing.T) {
	s, r := filled()
	c := newClient(false)
	if err := c.connect(r); err != nil {
		t.Fatal(err)
	}
	var before int
	for round := range 24_000 {
		s.slice("web-1", "web", 1+round%200, 300+round)
		s.log[cache.Slices] = s.log[cache.Slices][len(s.log[cache.Slices])-1:]
		r.next[cache.Slices] = 0
		r.deliver(cache.Slices)
		if round == 12_000 {
			before = memory.Live()
		}
	}
	if after := memory.Live(); after > before+before/2 {
		t.Errorf("got %d bytes after %d, want no growth with time", after, before)
	}
	runtime.KeepAlive(c)
}

func TestTokensAreParsedStrictly(t *testing.T) {
	for text, ok := range map[string]bool{
		"1.2": true, "18446744073709551615.0": true, "": false, "1": false, "1.": false, ".2": false, "1.2.3": false, "-1.2": false, "1.2_3.4": false, "18446744073709551616.0": false,
	} {
		token, err := cache.ParseToken(text, 1)
		if (err == nil) != ok || ok && token.String() != text {
			t.Errorf("%q: got %v, %v", text, token, err)
		}
	}
	if token, err := cache.ParseToken("1.2_3.4", 2); err != nil || token.String() != "1.2_3.4" {
		t.Errorf("got %v, %v", token, err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add("1.2_3.4")
	f.Fuzz(func(t *testing.T, text string) {
		if token, err := cache.ParseToken(text, strings.Count(text, "_")+1); err == nil {
			if again, err := cache.ParseToken(token.String(), len(token)); err != nil || fmt.Sprint(again) != fmt.Sprint(token) {
				t.Errorf("%q: got %v, %v", text, again, err)
			}
		}
	})
}

// BenchmarkChange is one endpoint of many that flips, and a reader that is told.
func BenchmarkChange(b *testing.B) {
	for _, size := range []int{100, 200} {
		b.Run(fmt.Sprint(size*50), func(b *testing.B) {
			s := newServer()
			s.service("web", 80, true)
			for i := range 50 {
				s.slice(fmt.Sprint("web-", i), "web", numbers(i*size, size, false)...)
			}
			r := newReplica(s)
			c := newClient(false)
			if err := c.connect(r); err != nil {
				b.Fatal(err)
			}
			flip := false
			for b.Loop() {
				flip = !flip
				s.slice("web-0", "web", numbers(0, size, flip)...)
				r.deliver(cache.Slices)
				for batch, err := c.reader.Next(); ; batch, err = c.reader.Next() {
					if err != nil {
						b.Fatal(err)
					}
					for _, e := range batch.Events {
						e.Object()
					}
					if batch.Changed != nil {
						break
					}
				}
			}
		})
	}
}

// numbers are those of addresses, the first one not ready where that is asked for.
func numbers(from, count int, flip bool) []int {
	all := make([]int, count)
	for i := range all {
		all[i] = from + i + 1
	}
	if flip {
		all[0] = -all[0]
	}
	return all
}

// TestSinceMovesWithTheStateAlone: the field of docs/reference/stream.md.
func TestSinceMovesWithTheStateAlone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, r := filled()
		since := func() *time.Time {
			events, _, err := r.List(newClient(false).selection)
			if err != nil || len(events) != 1 {
				t.Fatal(events, err)
			}
			var one views.EndpointView
			if err := json.Unmarshal(events[0].Object(), &one); err != nil {
				t.Fatal(err)
			}
			return one.Spec.Since
		}
		if got := since(); got != nil {
			t.Errorf("got %v of a state from before the beginning", got)
		}
		time.Sleep(time.Minute)
		s.slice("web-1", "web", -1)
		r.catchUp()
		went := time.Now()
		if got := since(); got == nil || !got.Equal(went) {
			t.Errorf("got %v, want %v, when the endpoint went down", got, went)
		}
		time.Sleep(time.Minute)
		s.service("web", 81, true)
		r.catchUp()
		if got := since(); got == nil || !got.Equal(went) {
			t.Errorf("got %v, want %v: the state is the same", got, went)
		}
	})
}

// TestContract39WhatWasReadIsNotTakenAwayByAnOlderEvent: a list leaves a slice out, and it is read
// while the watch has yet to tell what happened between both.
func TestContract39WhatWasReadIsNotTakenAwayByAnOlderEvent(t *testing.T) {
	for name, between := range map[string]func(*server){
		"it was empty": func(s *server) { s.slice("web-1", "web") },
		"it was gone":  func(s *server) { s.gone(cache.Slices, "web-1") },
	} {
		s, r := filled()
		r.relist(cache.Slices, allSlices(s))
		between(s)
		s.slice("web-1", "web", 1)
		r.confirm()
		for range 2 {
			r.deliver(cache.Slices)
			if diff := cmp.Diff(s.views(false), listed(r.Cache, false)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		s.slice("web-1", "web", 2)
		r.deliver(cache.Slices)
		if diff := cmp.Diff(s.views(false), listed(r.Cache, false)); diff != "" {
			t.Errorf("%s, and another change: %s", name, diff)
		}
	}
}
