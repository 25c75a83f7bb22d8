package assign_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// followable is a pool by which namespaces may follow Services of remote namespaces.
func followable(name string, namespaces []string, remote ...string) v1alpha1.EndpointPool {
	p := pool(name, namespaces, "30000-32767")
	p.Spec.Allow[0].RemoteNamespaces = remote
	return p
}

// following is a binding of the pool blue that follows a remote Service.
func following(name, remote string) v1alpha1.EndpointBinding {
	b := binding(name, "blue")
	namespace, service, _ := strings.Cut(remote, "/")
	b.Spec.Pools[0].RemoteService = &v1alpha1.RemoteServiceReference{Namespace: namespace, Name: service}
	return b
}

// at is the group of a pool that checks a port where a remote Service has Pods.
func at(pool string, port uint16, remote string) assign.Group {
	g := tcp(pool, port)
	g.Remote.Namespace, g.Remote.Name, _ = strings.Cut(remote, "/")
	return g
}

// followed is a world in which shop/web follows far/web by the pool blue.
func followed(t *testing.T) *world {
	w := newWorld(t, followable("blue", []string{"shop"}, "far"))
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{following("shop/web", "far/web")}, []assign.Service{service("shop/web", 30080)}
	return w.after(0)
}

// wantGroup requires that the only use is of a group.
func (w *world) wantGroup(want assign.Group) {
	w.t.Helper()
	if got := w.plan.Targets[0].Uses[0].Group; got != want {
		w.t.Errorf("got the group %+v, want %+v", got, want)
	}
}

func TestContract237OnlyARemoteNamespaceThatThePoolAllowsIsFollowed(t *testing.T) {
	t.Parallel()
	others := followable("blue", []string{"blog"}, "far")
	others.Spec.Allow = append(others.Spec.Allow, pool("blue", []string{"shop"}, "30080").Spec.Allow...)
	several := pool("blue", []string{"shop"}, "30080")
	several.Spec.Allow = append(several.Spec.Allow, followable("blue", []string{"shop"}, "near", "far").Spec.Allow...)
	for name, c := range map[string]struct {
		pool   v1alpha1.EndpointPool
		follow bool
	}{
		"nothing is said":               {followable("blue", []string{"shop"}), false},
		"another remote namespace":      {followable("blue", []string{"shop"}, "near"), false},
		"the entry of others":           {others, false},
		"the remote namespace":          {followable("blue", []string{"shop"}, "near", "far"), true},
		"another entry for the same":    {several, true},
		"the part of a name":            {followable("blue", []string{"shop"}, "fa", "far-away"), false},
		"the namespace may use nothing": {followable("blue", []string{"blog"}, "far"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.pool)
			w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{following("shop/web", "far/web")}, []assign.Service{service("shop/web", 30080)}
			switch w.after(0); {
			case c.follow:
				w.want("shop/web blue:30080 active").wantGroup(at("blue", 30080, "far/web"))
				w.refused()
			case name == "the namespace may use nothing":
				w.want().refused("shop/web blue PoolNotAllowed")
			default:
				w.want().refused("shop/web blue RemoteNamespaceNotAllowed")
			}
		})
	}
}

// Contract 237: nothing of the remote cluster is asked before a wish is granted, and the words
// are those of the namespace alone.
func TestContract237ARefusalSaysNothingOfTheRemoteService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, followable("blue", []string{"shop"}, "far"))
	w.in.Bindings = []v1alpha1.EndpointBinding{following("shop/a", "near/web"), following("shop/b", "near/other")}
	w.in.Services = []assign.Service{service("shop/a", 30080), service("shop/b", 30080)}
	w.in.Placed = func(g assign.Group) (int, bool) {
		t.Errorf("asked for the Pods of %s", g.Remote)
		return 0, false
	}
	w.after(0).want().refused("shop/a blue RemoteNamespaceNotAllowed", "shop/b blue RemoteNamespaceNotAllowed")
	a, b := w.plan.Refusals[0].Message, w.plan.Refusals[1].Message
	if strings.ReplaceAll(a, "shop/a", "shop/b") != b || !strings.Contains(a, "follow Services of the remote namespace near: no endpoint of it is published (EndpointBinding shop/a spec.pools[].remoteService)") {
		t.Errorf("got %q and %q", a, b)
	}
	if len(w.plan.Groups()) != 0 {
		t.Errorf("got the groups %v", w.plan.Groups())
	}
}

func TestContract237VariablesNeedNoPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t, pool("blue", nil))
	w.in.Variables = true
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{following("shop/web", "far/web")}, []assign.Service{service("shop/web", 30080)}
	w.after(0).want("shop/web blue:30080 active").wantGroup(at("blue", 30080, "far/web"))
	w.in.Services[0] = service("shop/web", 30081)
	w.unready[at("blue", 30081, "far/web")] = true
	w.restart().after(0).want("shop/web blue:30080 active then blue:30081").wantGroup(at("blue", 30080, "far/web"))
}

func TestContract237EachPoolOfABindingFollowsItsOwnRemoteService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, followable("blue", []string{"shop"}, "far"), followable("green", []string{"shop"}, "near"), pool("red", []string{"shop"}, "30080"))
	b := binding("shop/web", "blue", "green", "red")
	for i, namespace := range []string{"far", "near"} {
		b.Spec.Pools[i].RemoteService = &v1alpha1.RemoteServiceReference{Namespace: namespace, Name: "web"}
	}
	w.in.Bindings, w.in.Services = []v1alpha1.EndpointBinding{b}, []assign.Service{service("shop/web", 30080)}
	w.after(0).want("shop/web blue:30080 active", "shop/web green:30080 active", "shop/web red:30080 active").refused()
	want := []assign.Group{at("blue", 30080, "far/web"), at("green", 30080, "near/web"), tcp("red", 30080)}
	for i, u := range w.plan.Targets[0].Uses {
		if u.Group != want[i] {
			t.Errorf("got %+v, want %+v", u.Group, want[i])
		}
	}
}

// Contract 237: Services that follow different ones are checked apart, those that follow the same
// one together.
func TestContract237EachRemoteServiceIsAGroupOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, followable("blue", []string{"shop"}, "far"))
	for name, remote := range map[string]string{"shop/a": "far/b", "shop/b": "far/a", "shop/c": "far/b"} {
		w.in.Bindings, w.in.Services = append(w.in.Bindings, following(name, remote)), append(w.in.Services, service(name, 30080))
	}
	w.in.Bindings, w.in.Services = append(w.in.Bindings, binding("shop/d", "blue")), append(w.in.Services, service("shop/d", 30080))
	got := w.after(0).plan.Groups()
	if want := []assign.Group{tcp("blue", 30080), at("blue", 30080, "far/a"), at("blue", 30080, "far/b")}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestContract237AnotherRemoteServiceTakesOverWhenItIsReady(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]string{"another": "far/other", "none": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := followed(t)
			w.in.Bindings[0] = binding("shop/web", "blue")
			want := tcp("blue", 30080)
			if remote != "" {
				w.in.Bindings[0], want = following("shop/web", remote), at("blue", 30080, remote)
			}
			w.unready[want] = true
			w.after(releaseAfter).want("shop/web blue:30080 active then blue:30080").wantGroup(at("blue", 30080, "far/web"))
			if got := w.plan.Targets[0].Uses[0]; !strings.Contains(got.Message, "the documents name another port, health check or remote Service: the old endpoints stay") || got.Next.Group != want {
				t.Errorf("got %q and then %+v", got.Message, got.Next)
			}
			delete(w.unready, want)
			w.passing[want] = assign.Count{IPv4: 4}
			w.after(releaseAfter).want("shop/web blue:30080 active then blue:30080")
			if len(w.plan.Notices) != 1 || w.plan.Notices[0].Reason != assign.TakesOverWithLess {
				t.Errorf("got %v, want that too few pass", w.plan.Notices)
			}
			w.passing[want] = assign.Count{IPv4: 5}
			w.after(0).want("shop/web blue:30080 active").wantGroup(want)
		})
	}
}

// Contract 237: what the pool no longer lets a namespace follow ends as a port does (61).
func TestContract237ARevokedRemoteNamespaceLeaves(t *testing.T) {
	t.Parallel()
	w := followed(t)
	w.in.Pools[0] = followable("blue", []string{"shop"}, "near")
	w.after(0).want("shop/web blue:30080 leaving").refused("shop/web blue RemoteNamespaceNotAllowed")
	w.after(releaseAfter - 1).want("shop/web blue:30080 leaving")
	w.after(1).want("shop/web blue:30080 emptied")
	w = followed(t)
	w.in.Pools[0] = followable("blue", []string{"shop"}, "near")
	w.after(0)
	w.in.Bindings[0] = following("shop/web", "near/web")
	w.after(0).want("shop/web blue:30080 active").wantGroup(at("blue", 30080, "near/web"))
}

// Contract 237: a restart goes on with the remote Service that the documents name, on the ports
// that the slices have (203), and follows none that the pool does not allow.
func TestContract237ARestartGoesOnFollowing(t *testing.T) {
	t.Parallel()
	w := followed(t)
	w.restart().after(0).want("shop/web blue:30080 active").wantGroup(at("blue", 30080, "far/web"))

	w.in.Services[0] = service("shop/web", 30081)
	w.unready[at("blue", 30081, "far/web")] = true
	w.restart().after(0).want("shop/web blue:30080 active then blue:30081").wantGroup(at("blue", 30080, "far/web"))

	w = followed(t)
	w.in.Pools[0] = followable("blue", []string{"shop"}, "near")
	w.restart().after(0).want("shop/web blue:30080 active").wantGroup(tcp("blue", 30080))
	w.refused("shop/web blue RemoteNamespaceNotAllowed")
}

// Contract 237: of a group that follows, only the nodes with a Pod count; all, while it is not
// known which these are.
func TestContract237TheLimitOfChecksCountsNodesWithAPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t, followable("blue", []string{"shop"}, "far"))
	w.in.Pools[0].Spec.Allow[0].MaxChecks = new(int32(25)) // of 10 nodes
	for i, name := range []string{"shop/a", "shop/b", "shop/c", "shop/d"} {
		w.in.Bindings, w.in.Services = append(w.in.Bindings, following(name, "far/"+name[5:])), append(w.in.Services, service(name, uint16(30000+i)))
	}
	for _, known := range []bool{false, true} { // more nodes with a Pod than the pool has are not checked
		w.in.Placed = func(assign.Group) (int, bool) { return 1000, known }
		w.restart().after(0).want("shop/a blue:30000 active", "shop/b blue:30001 active").refused("shop/c blue LimitReached", "shop/d blue LimitReached")
	}
	if got, message := w.in.Checks(w.plan.Targets[0].Uses[0].Group), w.plan.Refusals[0].Message; got != 10 || !strings.Contains(message, "would be more than the 25 that the pool allows it") {
		t.Errorf("got %d checks of a group, %q", got, message)
	}
	w.in.Placed = func(g assign.Group) (int, bool) { return 3, g.Remote.Name != "d" }
	w.after(0).want("shop/a blue:30000 active", "shop/b blue:30001 active", "shop/c blue:30002 active", "shop/d blue:30003 active").refused()
	w.in.Placed = func(assign.Group) (int, bool) { return 1000, true } // takes nothing away
	w.after(0).want("shop/a blue:30000 active", "shop/b blue:30001 active", "shop/c blue:30002 active", "shop/d blue:30003 active").refused()
}

// Contract 237: a slice of another installation, and one that only a removed binding asked for,
// follow nothing.
func TestContract237WhatNoDocumentAsksForFollowsNothing(t *testing.T) {
	t.Parallel()
	w := followed(t)
	w.in.Bindings = nil
	w.in.Published = append(w.in.Published, assign.PublishedSlice{
		Key: key("shop/web"), Pool: "", Slice: "web-other", Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 30080}}, Endpoints: 1,
	})
	w.restart().after(0).want("shop/web blue:30080 leaving")
	if got := w.plan.Targets[0].Uses[0].Remote; got != (inventory.RemoteService{}) {
		t.Errorf("got %s, want that it follows nothing", got)
	}
}
