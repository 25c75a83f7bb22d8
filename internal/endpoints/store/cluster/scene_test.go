package cluster_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const waitLimit = 30 * time.Second

// scene is a store that runs on a network that can fail, with a Service.
type scene struct {
	*apiserver.Namespace

	t       *testing.T
	target  publish.Target
	store   *single
	network *failingNetwork
	stop    func()
}

func newScene(t *testing.T, server *controlplane.ControlPlane) *scene {
	t.Helper()
	namespace := apiserver.New(t, server, leastRights()...)
	s := &scene{Namespace: namespace, t: t, target: storetest.Target(namespace.Name), network: newFailingNetwork()}
	config := server.UserConfig(namespace.Name)
	config.Wrap(s.network.wrap)
	s.store = newStore(t, config, s.target)
	s.stop = run(t, s.store)
	s.PutService(service())
	s.await("the Service", func(state publish.State) bool { return state.Service.UID != "" })
	return s
}

func service() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}, {Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53},
	}}}
}

func (s *scene) load() publish.State {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitLimit)
	defer cancel()
	state, err := s.store.Load(ctx)
	if err != nil {
		s.t.Fatalf("load: %v", err)
	}
	return state
}

// plan returns the one write that publishes the addresses, ready.
func (s *scene) plan(addresses ...string) publish.Write {
	s.t.Helper()
	var members []inventory.Member
	for _, address := range addresses {
		members = append(members, inventory.Member{Address: netip.MustParseAddr(address), State: inventory.StateReady})
	}
	state := s.load()
	desired, _ := publish.Desired(members, state, s.target)
	writes := publish.Diff(state.Slices, desired)
	if len(writes) != 1 {
		s.t.Fatalf("got %d writes, want one", len(writes))
	}
	writes[0].Trigger = time.Now()
	return writes[0]
}

func (s *scene) write(write publish.Write) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), waitLimit)
	defer cancel()
	_, err := s.store.Write(ctx, write)
	return err
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

// await waits for Changed until the state is as wanted. It loads only after Changed.
func (s *scene) await(what string, condition func(publish.State) bool) {
	s.t.Helper()
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	for {
		select {
		case <-s.store.Changed():
			if condition(s.load()) {
				return
			}
		case <-deadline.C:
			s.t.Fatalf("waited %v in vain to be told of %s", waitLimit, what)
		}
	}
}
