package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
)

// TestContract56AfterAnyHistoryEachViewSaysWhatTheServerHolds: slices and Services are
// put and deleted, views come and go, and watches break off, in any order. News was
// told whenever what a view says changed.
func TestContract56AfterAnyHistoryEachViewSaysWhatTheServerHolds(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			inWorld(t, []string{"blog", "shop"}, func(t *testing.T, w *world, hub *cluster.Hub) {
				synctest.Wait() // the watches are open
				h := &history{t: t, world: w, hub: hub, random: rand.New(rand.NewPCG(seed, 0)), views: map[string]*sliceView{}}
				for range 60 {
					h.step()
					h.check()
				}
			})
		})
	}
}

type history struct {
	t      *testing.T
	world  *world
	hub    *cluster.Hub
	random *rand.Rand
	views  map[string]*sliceView // by namespace and slice name
}

// sliceView is a view, and what it said last.
type sliceView struct {
	*cluster.Store

	target publish.Target
	said   publish.State
}

func (h *history) one(of ...string) string { return of[h.random.IntN(len(of))] }

func (h *history) step() {
	namespace, service := h.one("blog", "shop"), h.one("web", "api")
	kind := h.one("MODIFIED", "MODIFIED", "DELETED")
	switch h.random.IntN(6) {
	case 0:
		object := serviceOf(namespace, service)
		object.Spec.PublishNotReadyAddresses = h.random.IntN(2) == 0
		h.world.put(kind, object)
	case 1, 2, 3:
		name := h.one("web.blue", "web.blue-2", "web.green", "api.blue", "web-x7f2k")
		h.world.put(kind, sliceOf(namespace, name, service, h.one(manager, manager, "somebody"), h.random.IntN(4)))
	case 4:
		target := targetOf(namespace, "web", h.one("web.blue", "web.green"))
		if h.random.IntN(3) == 0 {
			target = targetOf(namespace, "api", "api.blue")
		}
		key := namespace + "/" + target.SliceName
		if view := h.views[key]; view != nil {
			view.Release()
			delete(h.views, key)
			return
		}
		h.views[key] = &sliceView{Store: viewOf(h.t, h.hub, namespace, target.Service, target.SliceName), target: target}
		h.views[key].said = loaded(h.t, h.views[key].Store)
	default:
		for _, namespace := range []string{"blog", "shop"} {
			h.world.refuse(namespace, true)
		}
		if h.random.IntN(2) == 0 { // the next list leaves something out
			h.world.put("DELETED", sliceOf(namespace, h.one("web.blue", "web.green", "api.blue", "web-x7f2k"), service, manager, 0))
			h.world.put("DELETED", serviceOf(namespace, service))
		}
		for _, namespace := range []string{"blog", "shop"} {
			h.world.refuse(namespace, false)
		}
		time.Sleep(40 * time.Second) // for as long as lists may be apart
	}
}

// check compares each view with the server. Each is loaded before, as its target does
// when it is told: a slice that a list leaves out is read by its own target.
func (h *history) check() {
	h.t.Helper()
	told := map[string]bool{}
	for key, view := range h.views {
		told[key] = news(view.Changed()) > 0
	}
	for _, view := range h.views {
		loaded(h.t, view.Store)
	}
	for key, view := range h.views {
		told := news(view.Changed()) > 0 || told[key]
		got, want := loaded(h.t, view.Store), h.holds(view.target)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			h.t.Fatalf("%s says something else than the server holds (-want +got):\n%s", key, diff)
		}
		if diff := cmp.Diff(view.said, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{})); diff != "" && !told {
			h.t.Fatalf("%s was not told of this (-before +now):\n%s", key, diff)
		}
		view.said = got
	}
}

// holds is what the server holds for a target.
func (h *history) holds(target publish.Target) publish.State {
	h.world.mu.Lock()
	defer h.world.mu.Unlock()
	var service publish.Service
	for _, o := range h.world.services {
		if o.Namespace == target.Namespace && o.Name == target.Service {
			service = publish.ServiceOf(&o)
		}
	}
	var objects []*discoveryv1.EndpointSlice
	for _, o := range h.world.slices {
		if o.Namespace == target.Namespace && !h.ofAnother(target, o.Name) {
			objects = append(objects, &o)
		}
	}
	return publish.StateOf(service, objects, target)
}

// ofAnother reports whether the slice is one of another target of the same Service.
func (h *history) ofAnother(target publish.Target, name string) bool {
	for _, view := range h.views {
		_, _, its := view.target.ParseName(name)
		if its && view.target.Namespace == target.Namespace && view.target.Service == target.Service && view.target.SliceName != target.SliceName {
			return true
		}
	}
	return false
}
