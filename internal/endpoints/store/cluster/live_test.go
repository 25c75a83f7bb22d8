package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func ownWritesWhileTheWatchStalls(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.network.stall()
	s.publish("10.0.0.1")
	s.fresh()
	s.publish("10.0.0.2")
	s.fresh()
	s.publish("10.0.0.1", "10.0.0.2")
	s.fresh()
	s.Delete("web-remote")
	s.network.flow()
	s.await("the deletion", func(state publish.State) bool { return len(state.Slices) == 0 })
}

func conflictWhileTheWatchStalls(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	s.network.stall()
	change := func(what string, act func()) {
		t.Helper()
		stale := s.plan("10.0.0.1", "10.0.0.2")
		act()
		if err := s.write(stale); !errors.Is(err, publish.ErrConflict) {
			t.Fatalf("%s: got %v, want a conflict", what, err)
		}
		s.fresh()
	}
	change("an edit", func() { s.edit("a") })
	change("a label lost", func() {
		object := s.Slices()[0]
		delete(object.Labels, discoveryv1.LabelServiceName)
		s.Put(object)
	})
	change("a deletion", func() { s.Delete("web-remote") })
	change("a create by another", func() {
		store := start(t, server, s.Name, s.target)
		if _, err := store.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Write(t.Context(), s.plan("10.0.0.3")); err != nil {
			t.Fatal(err)
		}
	})
	s.network.flow()
	s.publish("10.0.0.1", "10.0.0.2")
	s.fresh()
}

func lostAnswer(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.network.stall()
	for _, addresses := range [][]string{{"10.0.0.1"}, {"10.0.0.1", "10.0.0.2"}} {
		write := s.plan(addresses...)
		s.network.loseNextAnswer()
		if err := s.write(write); err == nil || errors.Is(err, publish.ErrConflict) {
			t.Fatalf("%s: got %v, want an error that is no conflict", write.Operation, err)
		}
		s.fresh()
		if got := len(s.load().Slices[0].Endpoints); got != len(addresses) {
			t.Errorf("%s: got %d endpoints, want %d", write.Operation, got, len(addresses))
		}
	}
	s.network.flow()
}

func steadyState(t *testing.T, server *controlplane.ControlPlane) {
	began := time.Now()
	s := newScene(t, server)
	s.publish("10.0.0.1")
	for range 500 {
		s.load()
	}
	s.edit("a")
	s.await("the edit", func(publish.State) bool { return true })
	verbs := map[string]int{}
	for _, request := range s.Requests() {
		verbs[request.Verb+" "+request.Resource]++
	}
	wantRequests(t, verbs, began, 1)
}

// wantRequests demands so many creates, and beside them one watch of each kind at a
// time, each of which lasts at least three quarters of longestWatch.
func wantRequests(t *testing.T, verbs map[string]int, began time.Time, creates int) {
	t.Helper()
	most := 1 + int(time.Since(began)/(longestWatch*3/4))
	if n, m := verbs["watch endpointslices"], verbs["watch services"]; min(n, m) < 1 || max(n, m) > most || verbs["create endpointslices"] != creates || len(verbs) != 3 {
		t.Errorf("got requests %v, want 1 to %d watches of each kind, %d creates of slices and nothing else", verbs, most, creates)
	}
}

func foreignEditIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	for i := range 5 {
		s.edit(fmt.Sprint(i))
		want := s.Slices()[0].ResourceVersion
		s.await("the edit", func(state publish.State) bool { return state.Slices[0].Version == want })
	}
	s.Delete("web-remote")
	s.await("the deletion", func(state publish.State) bool { return len(state.Slices) == 0 })
}

func lostLabelIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	object := s.Slices()[0]
	delete(object.Labels, discoveryv1.LabelServiceName)
	s.Put(object)
	s.await("the loss", func(state publish.State) bool {
		if len(state.Slices) != 1 {
			t.Errorf("got %d slices, want one all the time", len(state.Slices))
		}
		return state.Slices[0].Drift != ""
	})
}

func straysEndIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	object := s.Slices()[0]
	object.Labels[discoveryv1.LabelServiceName], object.Labels[discoveryv1.LabelManagedBy] = "shop", "somebody"
	s.Put(object)
	s.await("the refusal", func(state publish.State) bool { return len(state.Refused) == 1 })
	s.Delete("web-remote")
	s.await("the end of the refusal", func(state publish.State) bool { return len(state.Refused) == 0 })
}

func laterServiceIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.DeleteService()
	s.await("the deletion", func(state publish.State) bool { return state.Service.UID == "" })
	s.PutService(service())
	s.await("the new Service", func(state publish.State) bool { return state.Service.UID != "" })
	s.publish("10.0.0.1")
	mended := service()
	mended.Spec.Selector = map[string]string{"app": "web"}
	s.PutService(mended)
	s.await("the selector", func(state publish.State) bool { return state.Service.HasSelector })
	mended.Spec.Selector = nil
	s.PutService(mended)
	s.await("the selector's end", func(state publish.State) bool { return !state.Service.HasSelector })
}

func missingRight(t *testing.T, server *controlplane.ControlPlane) {
	namespace := apiserver.New(t, server, leastRights()[0])
	store := start(t, server, namespace.Name, storetest.Target(namespace.Name))
	told := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := store.Load(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want a deadline", err)
		}
		return strings.Contains(err.Error(), `cannot watch resource "services"`)
	}
	for deadline := time.Now().Add(waitLimit); !told(); {
		if time.Now().After(deadline) {
			t.Fatal("the missing right is not named")
		}
	}
}

func nothingIsLeft(t *testing.T, server *controlplane.ControlPlane) {
	namespace := apiserver.New(t, server, leastRights()...)
	before := goleak.IgnoreCurrent()
	store := newStore(t, server.UserConfig(namespace.Name), storetest.Target(namespace.Name))
	stop := run(t, store)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	goleak.VerifyNone(t, before)
}

// awaitSilence returns when the frozen server no longer answers: the signal takes
// effect a moment after it was sent.
func awaitSilence(t *testing.T, server *controlplane.ControlPlane) {
	t.Helper()
	client, err := rest.HTTPClientFor(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	client.Timeout = 200 * time.Millisecond
	for {
		response, err := client.Get("https://" + server.Address().String() + "/readyz")
		if err != nil {
			return
		}
		response.Body.Close()
	}
}

func outage(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	for _, kind := range []string{"crash", "freeze"} {
		stale := s.plan("10.0.0.1", "10.0.0.2")
		if kind == "crash" {
			server.Stop()
		} else {
			server.Pause()
			awaitSilence(t, server)
		}
		s.load() // what is known is told all the same
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if _, err := s.store.Write(ctx, stale); err == nil || errors.Is(err, publish.ErrConflict) {
			t.Errorf("%s: got %v, want an error that is no conflict", kind, err)
		}
		cancel()
		if kind == "crash" {
			server.Start()
		} else {
			server.Resume()
		}
		s.edit(kind)
		want := s.Slices()[0].ResourceVersion
		s.await("the edit after a "+kind, func(state publish.State) bool { return state.Slices[0].Version == want })
		s.fresh()
		s.publish("10.0.0.1", "10.0.0.3")
		s.publish("10.0.0.1")
	}
}

// muchOfOthers: what others wrote into a slice survives a write, however much that is.
func muchOfOthers(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	object := s.Slices()[0]
	note := strings.Repeat("n", 200_000)
	object.Annotations["note"] = note
	s.Put(object)
	s.await("the note", func(state publish.State) bool { return state.Slices[0].Version == s.Slices()[0].ResourceVersion })
	s.publish("10.0.0.1", "10.0.0.2")
	if got := s.Slices()[0]; got.Annotations["note"] != note || len(got.Endpoints) != 2 || got.Labels[discoveryv1.LabelManagedBy] != manager {
		t.Errorf("got %d bytes of the note and %d endpoints, want all", len(got.Annotations["note"]), len(got.Endpoints))
	}
}
