package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract41AClientThatMovesMissesNothingAndKeepsNothing: each history ends with a
// client that has taken everything at one replica, and goes on at another one.
func TestContract41AClientThatMovesMissesNothingAndKeepsNothing(t *testing.T) {
	for name, history := range map[string]func(s *server, from, to *replica){
		"a Service that the other replica saw after its slice was gone": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			s.slice("web-1", "web", 1)
			from.catchUp()
			s.gone(cache.Slices, "web-1")
			to.deliver(cache.Slices)
			to.deliver(cache.Slices)
			to.deliver(cache.Services)
		},
		"the same, ten minutes later": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			s.slice("web-1", "web", 1)
			from.catchUp()
			s.gone(cache.Slices, "web-1")
			to.deliver(cache.Slices)
			to.deliver(cache.Slices)
			time.Sleep(11 * time.Minute)
			s.slice("other-1", "other", 1) // something happens, and the cache looks at the time
			to.deliver(cache.Slices)
			to.deliver(cache.Services)
		},
		"slices of a Service that was not selected when a list left them out": func(s *server, from, to *replica) {
			s.slice("web-1", "web", 1)
			from.catchUp()
			to.catchUp()
			from.relist(cache.Slices, allSlices(s))
			s.service("web", 80, true)
			from.deliver(cache.Services)
		},
		"a new slice that a wrong list left out, until the next list": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			s.slice("web-1", "web", 1)
			from.catchUp()
			to.catchUp()
			s.slice("web-2", "web", 2)
			from.relist(cache.Slices, allSlices(s))
			for _, unconfirmed := range from.Unconfirmed() {
				from.There(unconfirmed, s.held[unconfirmed.Kind][unconfirmed.Key])
			}
			to.deliver(cache.Slices)
		},
		"the same, when the watch tells first of what was left out": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			s.slice("web-1", "web", 1)
			from.catchUp()
			to.catchUp()
			s.slice("web-2", "web", 2)
			from.relist(cache.Slices, allSlices(s))
			s.slice("web-1", "web", 1, 3)
			from.deliver(cache.Slices)
			to.deliver(cache.Slices)
			to.deliver(cache.Slices)
		},
		"an endpoint that came and went between two lists of the other replica": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			to.catchUp()
			s.slice("web-1", "web", 1)
			from.catchUp()
			s.gone(cache.Slices, "web-1")
			to.relist(cache.Slices, nil)
		},
		"a slice whose end the other replica learnt by a read, after the Service was no more selected": func(s *server, from, to *replica) {
			s.service("web", 80, true)
			s.slice("web-1", "web", 1) // without it what leaves is ready
			s.slice("web-2", "web", leaving+2)
			from.catchUp()
			to.catchUp()
			s.gone(cache.Slices, "web-1")
			from.deliver(cache.Slices)
			to.relist(cache.Slices, nil)
			s.service("web", 80, false)
			s.slice("other-1", "other", 1)
			to.deliver(cache.Services)
			to.deliver(cache.Slices)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newServer()
				from, to := newReplica(s), newReplica(s)
				history(s, from, to)
				for _, ready := range []bool{false, true} {
					move(t, s, newClient(ready), from, to)
				}
			})
		})
	}
}

// move lets a client take everything at one replica and go on at another one.
func move(t *testing.T, s *server, c *client, from, to *replica) {
	t.Helper()
	if err := errors.Join(c.connect(from), c.take()); err != nil {
		t.Fatal(err)
	}
	to.catchUp()
	if err := errors.Join(c.connect(to), c.take()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.views(c.selection.Ready), c.has); diff != "" {
		t.Errorf("-server +client\n%s", diff)
	}
}

// TestContract41ATokenOutlivesTheHistoryOfServicesThatItsReaderDoesNotSelect: of the Service
// busy this replica took a slice before the Service, and another one the other way round.
func TestContract41ATokenOutlivesTheHistoryOfServicesThatItsReaderDoesNotSelect(t *testing.T) {
	s, first := filled()
	s.service("busy", 80, true)
	first.catchUp()
	second := newReplica(s)
	s.service("busy", 81, true)
	s.slice("busy-1", "busy", 7)
	first.deliver(cache.Services)
	second.deliver(cache.Slices)
	second.deliver(cache.Services)
	for service, want := range map[string]error{"web": nil, "busy": cache.ErrExpired, "": cache.ErrExpired} {
		selection := cache.Selection{Namespace: func(string) bool { return true }, Service: service}
		_, token, err := first.List(selection)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := second.Read(selection, token); !errors.Is(err, want) {
			t.Errorf("a reader of %q: got %v, want %v", service, err, want)
		}
	}
}

// TestContract41WhatAReaderDoesNotSelectLeavesNothingBehind: a reader goes on from a token, an
// endpoint of another Service is gone and forgotten, and one of its own takes the place.
func TestContract41WhatAReaderDoesNotSelectLeavesNothingBehind(t *testing.T) {
	for ready, want := range map[bool]views.EventType{false: views.Added, true: ""} { // the new one is not ready
		t.Run(fmt.Sprint("ready=", ready), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s, r := filled()
				s.service("other", 80, true)
				s.slice("other-1", "other", 1)
				r.catchUp()
				c := newClient(ready)
				c.selection.Service = "web"
				if err := errors.Join(c.connect(r), c.take(), c.connect(r), c.take()); err != nil {
					t.Fatal(err)
				}
				s.gone(cache.Slices, "other-1")
				r.catchUp()
				if err := c.take(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(11 * time.Minute)
				s.service("third", 80, true) // something happens, and the cache looks at the time
				r.catchUp()
				s.slice("web-1", "web", 1, -2)
				r.catchUp()
				batch, err := c.reader.Next()
				if err != nil {
					t.Fatal(err)
				}
				var got views.EventType
				for _, e := range batch.Events {
					got = e.Type
				}
				if got != want {
					t.Errorf("got %q of a new endpoint, want %q", got, want)
				}
			})
		})
	}
}
