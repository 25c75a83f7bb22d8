package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/storetest/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const patience = 30 * time.Second

// scene is a store that runs on a network that can fail, with a Service.
type scene struct {
	*cluster.Namespace

	t       *testing.T
	target  plan.Target
	store   *kube.Store
	network *transport
	stop    func()
}

func newScene(t *testing.T, server *controlplane.ControlPlane) *scene {
	t.Helper()
	namespace := cluster.New(t, server, leastRights()...)
	s := &scene{Namespace: namespace, t: t, target: storetest.Target(namespace.Name), network: newTransport()}
	config := server.UserConfig(namespace.Name)
	config.Wrap(s.network.wrap)
	s.store = newStore(t, config, s.target)
	s.stop = run(t, s.store)
	s.PutService(service())
	s.await("the Service", func(state plan.State) bool { return state.Service.UID != "" })
	return s
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}, {Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53},
	}}}
}

func (s *scene) load() plan.State {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	state, err := s.store.Load(ctx)
	if err != nil {
		s.t.Fatalf("load: %v", err)
	}
	return state
}

// plan returns the one write that publishes the addresses, ready.
func (s *scene) plan(addresses ...string) plan.Write {
	s.t.Helper()
	var members []inventory.Member
	for _, address := range addresses {
		members = append(members, inventory.Member{Address: netip.MustParseAddr(address), State: inventory.StateReady})
	}
	state := s.load()
	desired, _ := plan.Desired(members, state, s.target)
	writes := plan.Diff(state.Slices, desired)
	if len(writes) != 1 {
		s.t.Fatalf("got %d writes, want one", len(writes))
	}
	writes[0].Trigger = time.Now()
	return writes[0]
}

func (s *scene) write(write plan.Write) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	return s.store.Write(ctx, write)
}

func (s *scene) publish(addresses ...string) {
	s.t.Helper()
	if err := s.write(s.plan(addresses...)); err != nil {
		s.t.Fatal(err)
	}
}

// edit adds a label to a stored slice as another client would.
func (s *scene) edit(value string) {
	s.t.Helper()
	object := s.Slices()[0]
	object.Labels["team"] = value
	s.Put(object)
}

// fresh checks that Load says what the server holds.
func (s *scene) fresh() {
	s.t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, object := range s.Slices() {
		want[object.Name] = object.ResourceVersion
	}
	for _, slice := range s.load().Slices {
		got[slice.Name] = slice.Version
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("got slices at versions %v, want %v", got, want)
	}
}

// await waits for Changed until the state is as wanted. It never asks without
// having been told.
func (s *scene) await(what string, condition func(plan.State) bool) {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case <-s.store.Changed():
			if condition(s.load()) {
				return
			}
		case <-deadline.C:
			s.t.Fatalf("waited %v in vain to be told of %s", patience, what)
		}
	}
}

// quiet checks that there is no news.
func (s *scene) quiet(after string) {
	s.t.Helper()
	select {
	case <-s.store.Changed():
		s.t.Errorf("news after %s", after)
	default:
	}
}

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
	s.await("the deletion", func(state plan.State) bool { return len(state.Slices) == 0 })
}

func conflictWhileTheWatchStalls(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	s.network.stall()
	change := func(what string, act func()) {
		t.Helper()
		stale := s.plan("10.0.0.1", "10.0.0.2")
		act()
		if err := s.write(stale); !errors.Is(err, plan.ErrConflict) {
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
		if err := store.Write(t.Context(), s.plan("10.0.0.3")); err != nil {
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
		if err := s.write(write); err == nil || errors.Is(err, plan.ErrConflict) {
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
	s := newScene(t, server)
	s.publish("10.0.0.1")
	for range 500 {
		s.load()
	}
	s.edit("a")
	s.await("the edit", func(plan.State) bool { return true })
	verbs := map[string]int{}
	for _, request := range s.Requests() {
		verbs[request.Verb+" "+request.Resource]++
	}
	want := map[string]int{"watch endpointslices": 1, "watch services": 1, "create endpointslices": 1}
	if fmt.Sprint(verbs) != fmt.Sprint(want) {
		t.Errorf("got requests %v, want %v", verbs, want)
	}
}

func foreignEditIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	for i := range 5 {
		s.edit(fmt.Sprint(i))
		want := s.Slices()[0].ResourceVersion
		s.await("the edit", func(state plan.State) bool { return state.Slices[0].Version == want })
	}
	s.Delete("web-remote")
	s.await("the deletion", func(state plan.State) bool { return len(state.Slices) == 0 })
}

func laterServiceIsTold(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.DeleteService()
	s.await("the deletion", func(state plan.State) bool { return state.Service.UID == "" })
	s.PutService(service())
	s.await("the new Service", func(state plan.State) bool { return state.Service.UID != "" })
	s.publish("10.0.0.1")
	mended := service()
	mended.Spec.Selector = map[string]string{"app": "web"}
	s.PutService(mended)
	s.await("the selector", func(state plan.State) bool { return state.Service.HasSelector })
	mended.Spec.Selector = nil
	s.PutService(mended)
	s.await("the selector's end", func(state plan.State) bool { return !state.Service.HasSelector })
}

func noNews(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	for i := range 10 {
		s.publish(fmt.Sprintf("10.0.0.%d", i+1))
	}
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	status := s.Service()
	status.Status.Conditions = []metav1.Condition{{
		Type: "Test", Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
	}}
	if _, err := client.CoreV1().Services(s.Name).UpdateStatus(t.Context(), status, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.edit("a") // the watch tells in order, so this is told after the echoes
	want := s.Slices()[0].ResourceVersion
	<-s.store.Changed()
	if got := s.load().Slices[0].Version; got != want {
		t.Errorf("told at version %s, want only at %s", got, want)
	}
	s.quiet("the edit")
}

func missingRight(t *testing.T, server *controlplane.ControlPlane) {
	namespace := cluster.New(t, server, leastRights()[0])
	store := start(t, server, namespace.Name, storetest.Target(namespace.Name))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := store.Load(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `cannot list resource "services"`) {
		t.Errorf("got %v, want a deadline and what is forbidden", err)
	}
}

func nothingIsLeft(t *testing.T, server *controlplane.ControlPlane) {
	namespace := cluster.New(t, server, leastRights()...)
	before := goleak.IgnoreCurrent()
	store := newStore(t, server.UserConfig(namespace.Name), storetest.Target(namespace.Name))
	stop := run(t, store)
	if _, err := store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	goleak.VerifyNone(t, before)
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
		}
		s.load() // what is known is told all the same
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if err := s.store.Write(ctx, stale); err == nil || errors.Is(err, plan.ErrConflict) {
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
		s.await("the edit after a "+kind, func(state plan.State) bool { return state.Slices[0].Version == want })
		s.fresh()
		s.publish("10.0.0.1", "10.0.0.3")
		s.publish("10.0.0.1")
	}
}
