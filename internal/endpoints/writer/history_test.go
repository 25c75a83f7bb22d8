package writer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// moment is one thing of a random history; it concerns one Service, or all.
type moment struct {
	after   time.Duration
	service string
	happen  func(h *history)
}

// history is a crowd while things happen, and what was seen of the requests.
type history struct {
	*crowd
	down map[string][]int

	mu sync.Mutex
	// slices and services are how many requests are in flight.
	slices, services map[string]int
	flying           int
	wrong            []string
}

// draw draws a history of so many moments.
func draw(random *rand.Rand, names []string, n int) []moment {
	var drawn []moment
	for range n {
		m := moment{after: time.Duration(random.IntN(3000)) * time.Millisecond, service: names[random.IntN(len(names))]}
		name, kind, octet := m.service, random.IntN(10), 1+random.IntN(8)
		takes := time.Duration(random.IntN(6000)) * time.Millisecond
		switch kind {
		case 0, 1, 2:
			m.service, m.happen = "", func(h *history) {
				h.down["blue"] = append(h.down["blue"], octet)
				h.set.Publish("blue", verdict(8, h.down["blue"]...))
			}
		case 3:
			m.service, m.happen = "", func(h *history) {
				h.down["blue"] = nil
				h.set.Publish("blue", verdict(8))
			}
		case 4:
			m.happen = func(h *history) {
				h.remove(h.all[name])
				h.add(h.all[name])
			}
		case 5:
			m.happen = func(h *history) { h.edit(h.all[name]) }
		case 6:
			m.happen = func(h *history) {
				s := h.all[name]
				s.set(func() { s.load = failing(wait, takes, errors.New("no watch")) })
				s.added.Changed()
			}
		case 7:
			m.happen = func(h *history) {
				panics := true
				s := h.all[name]
				s.set(func() {
					s.observe = func(writer.Outcome) {
						if panics {
							panics = false
							panic("once")
						}
					}
				})
			}
		default:
			err := []error{nil, errRefused, publish.ErrConflict, errors.New("exceeded quota")}[random.IntN(4)]
			m.happen = func(h *history) {
				s := h.all[name]
				s.set(func() { s.write = h.watched(s, takes, err) })
			}
		}
		drawn = append(drawn, m)
	}
	return drawn
}

// failing takes that long, and fails.
func failing(wait func(context.Context, time.Duration) error, takes time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error { return errors.Join(wait(ctx, takes), err) }
}

// edit is another client that empties a slice.
func (h *history) edit(s *crowdService) {
	objects := s.Slices()
	if len(objects) == 0 {
		return
	}
	objects[0].Endpoints = nil
	s.Put(objects[0])
	s.added.Changed()
}

// watched is a write that takes that long, and perhaps fails; it counts requests.
func (h *history) watched(s *crowdService, takes time.Duration, err error) func(context.Context, publish.Write) error {
	return func(ctx context.Context, w publish.Write) error {
		slice := s.name + "/" + w.Slice.Name
		count := func(n int) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.slices[slice] += n
			h.services[s.name] += n
			h.flying += n
			if h.slices[slice] > 1 || h.services[s.name] > 2 && len(h.all) > 1 || h.flying > 4 {
				h.wrong = append(h.wrong, fmt.Sprintf("%s: %d requests of the slice, %d of the Service, %d of all", slice, h.slices[slice], h.services[s.name], h.flying))
			}
		}
		count(1)
		defer count(-1)
		return errors.Join(wait(ctx, takes), err)
	}
}

// live lets a history happen to some of its Services, and returns what these publish
// at its end.
func live(t *testing.T, moments []moment, names ...string) map[string]string {
	t.Helper()
	published := make(map[string]string)
	bubble.Test(t, func(t *testing.T) {
		h := &history{
			crowd: newCrowd(t, writer.SetOptions{Lanes: 4, Rate: 20}),
			down:  make(map[string][]int), slices: make(map[string]int), services: make(map[string]int),
		}
		for _, name := range names {
			h.all[name] = newServed(t, name, 3)
		}
		h.start()
		h.set.Publish("blue", verdict(8))
		for _, m := range moments {
			during(m.after)
			if m.service == "" || h.all[m.service] != nil {
				m.happen(h)
			}
		}
		for _, s := range h.all {
			s.set(func() { s.write, s.load, s.observe = h.watched(s, time.Millisecond, nil), nil, nil })
		}
		during(30 * time.Minute)
		for _, wrong := range h.wrong {
			t.Error(wrong)
		}
		for _, name := range names {
			s := h.all[name]
			published[name] = s.published()
			if last := s.last(); last.Pending > 0 || last.WriteErr != nil || last.LoadErr != nil || last.Defect != nil {
				t.Errorf("%s: got %+v at the end", name, last)
			}
		}
		h.stop()
	})
	return published
}

// TestContract54EachTargetEndsWhereItWouldHaveEndedAlone, whatever happens to it and
// to others.
func TestContract54EachTargetEndsWhereItWouldHaveEndedAlone(t *testing.T) {
	names := []string{"a/1", "a/2", "a/3", "b/1", "c/1", "shop/web"}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			moments := draw(rand.New(rand.NewPCG(seed, 17)), names, 60)
			together := live(t, moments, names...)
			for _, name := range names {
				if alone := live(t, moments, name)[name]; together[name] != alone {
					t.Errorf("%s: got %q among others, and %q alone", name, together[name], alone)
				}
			}
		})
	}
}
