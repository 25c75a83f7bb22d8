package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const manager = "ionos-endpointslice-controller"

func TestContract56ManyTargetsOnARealAPIServer(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true})
	for name, test := range map[string]func(*testing.T, *controlplane.ControlPlane){
		"100 Services cost one watch of each kind":                          hundredServices,
		"a namespace without rights is told for its targets only":           forbiddenNamespace,
		"a namespace that is deleted concerns its targets only":             deletedNamespace,
		"a Service that is deleted and made anew under its name":            recreatedService,
		"a namespace and a target may come and go while the hub is running": addedLater,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
	t.Run("an API server that comes back is followed again", func(t *testing.T) { hubOutage(t, server) })
}

// newHubFixture gives the suite the view of one of several targets, two of which fill
// the same Service.
func newHubFixture(t *testing.T, server *controlplane.ControlPlane) *storetest.Fixture {
	t.Helper()
	namespace := apiserver.New(t, server, leastRights()...)
	target := storetest.Target(namespace.Name)
	start := func() storetest.Store {
		h := startHub(t, server, namespace.User, namespace.Name)
		h.view("api", "api.blue", namespace.Name)
		h.view("web", "web.green", namespace.Name)
		return h.view(target.Service, target.SliceName, namespace.Name)
	}
	return &storetest.Fixture{Target: target, Store: start(), Hand: namespace, Restart: start, Requests: namespace.Requests}
}

// hubRun is a hub that runs until the test ends.
type hubRun struct {
	*cluster.Hub

	t     *testing.T
	admin *kubernetes.Clientset
}

// startHub runs a hub as that user, over the namespaces.
func startHub(t *testing.T, server *controlplane.ControlPlane, user string, namespaces ...string) *hubRun {
	t.Helper()
	hub, err := cluster.New(cluster.Options{Way: kube.Fixed(server.UserConfig(user)), ManagedBy: manager})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range namespaces {
		hub.Watch(namespace)
	}
	run(t, hub)
	admin, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &hubRun{Hub: hub, t: t, admin: admin}
}

// view returns the view of one target.
func (r *hubRun) view(service, sliceName, namespace string) *view {
	r.t.Helper()
	target := storetest.Target(namespace)
	target.Service, target.SliceName = service, sliceName
	store, err := r.Target(target)
	if err != nil {
		r.t.Fatal(err)
	}
	return &view{Store: store, target: target, t: r.t, admin: r.admin}
}

// views returns views of so many targets, each with its Service.
func (r *hubRun) views(namespace string, many int) []*view {
	r.t.Helper()
	var all []*view
	for i := range many {
		name := fmt.Sprintf("web-%d", i)
		v := r.view(name, name+".blue", namespace)
		v.createService()
		all = append(all, v)
	}
	return all
}

// view is what a hub keeps for one target.
type view struct {
	*cluster.Store

	target publish.Target
	t      *testing.T
	admin  *kubernetes.Clientset
}

func (v *view) createService() {
	v.t.Helper()
	object := service()
	object.Name = v.target.Service
	_, err := v.admin.CoreV1().Services(v.target.Namespace).Create(v.t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *view) deleteService() {
	v.t.Helper()
	if err := v.admin.CoreV1().Services(v.target.Namespace).Delete(v.t.Context(), v.target.Service, metav1.DeleteOptions{}); err != nil {
		v.t.Fatal(err)
	}
}

func (v *view) load() publish.State {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), waitLimit)
	defer cancel()
	state, err := v.Load(ctx)
	if err != nil {
		v.t.Fatalf("load %s/%s: %v", v.target.Namespace, v.target.Service, err)
	}
	return state
}

// await waits until the state is as wanted, and loads once before it waits for Changed.
func (v *view) await(what string, condition func(publish.State) bool) {
	v.t.Helper()
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	for !condition(v.load()) {
		select {
		case <-v.Changed():
		case <-deadline.C:
			v.t.Fatalf("%s/%s was not told of %[4]s within %[3]v", v.target.Namespace, v.target.Service, waitLimit, what)
		}
	}
}

// publish makes the slices publish the addresses, ready, and returns the first error
// of a write.
func (v *view) publish(addresses ...string) error {
	v.t.Helper()
	v.await("the Service", func(state publish.State) bool { return state.Service.UID != "" })
	var members []inventory.Member
	for _, address := range addresses {
		members = append(members, inventory.Member{Address: netip.MustParseAddr(address), State: inventory.StateReady})
	}
	state := v.load()
	desired, _ := publish.Desired(members, state, v.target)
	for _, write := range publish.Diff(state.Slices, desired) {
		ctx, cancel := context.WithTimeout(v.t.Context(), waitLimit)
		_, err := v.Write(ctx, write)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) mustPublish(addresses ...string) {
	v.t.Helper()
	if err := v.publish(addresses...); err != nil {
		v.t.Fatal(err)
	}
}

// edit adds a label to the target's first slice as another client would, and waits
// until that is told.
func (v *view) edit(value string) {
	v.t.Helper()
	api := v.admin.DiscoveryV1().EndpointSlices(v.target.Namespace)
	object, err := api.Get(v.t.Context(), v.target.SliceName, metav1.GetOptions{})
	if err == nil {
		object.Labels["team"] = value
		object, err = api.Update(v.t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		v.t.Fatal(err)
	}
	v.await("the edit", func(state publish.State) bool {
		return len(state.Slices) == 1 && state.Slices[0].Version == object.ResourceVersion
	})
}

func hundredServices(t *testing.T, server *controlplane.ControlPlane) {
	began := time.Now()
	first := apiserver.New(t, server, leastRights()...)
	second := apiserver.NewFor(t, server, first.User, leastRights()...)
	h := startHub(t, server, first.User, first.Name, second.Name)
	all := append(h.views(first.Name, 50), h.views(second.Name, 50)...)
	var publishing sync.WaitGroup
	for _, v := range all {
		publishing.Go(func() {
			if err := v.publish("10.0.0.1", "10.0.0.2"); err != nil {
				t.Error(err)
			}
		})
	}
	publishing.Wait()
	for range 20 {
		for _, v := range all {
			v.load()
		}
	}
	all[0].edit("a")
	all[99].edit("a")
	object := second.Slices()[0] // the one of all[50]
	delete(object.Labels, discoveryv1.LabelServiceName)
	second.Put(object)
	all[50].await("the lost label", func(state publish.State) bool {
		return len(state.Slices) == 1 && strings.Contains(state.Slices[0].Drift, discoveryv1.LabelServiceName)
	})
	for _, namespace := range []*apiserver.Namespace{first, second} {
		verbs := map[string]int{}
		for _, request := range namespace.Requests() {
			verbs[request.Verb+" "+request.Resource]++
		}
		wantRequests(t, verbs, began, 50)
	}
}

func forbiddenNamespace(t *testing.T, server *controlplane.ControlPlane) {
	good := apiserver.New(t, server, leastRights()...)
	bad := apiserver.NewFor(t, server, good.User)
	h := startHub(t, server, good.User, good.Name, bad.Name)
	ours, theirs := h.views(good.Name, 1)[0], h.views(bad.Name, 1)[0]
	ours.mustPublish("10.0.0.1")
	told := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := theirs.Load(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want a deadline", err)
		}
		return strings.Contains(err.Error(), "of namespace "+bad.Name) && strings.Contains(err.Error(), "cannot watch resource")
	}
	for deadline := time.Now().Add(waitLimit); !told(); {
		if time.Now().After(deadline) {
			t.Fatal("the missing right is not named")
		}
	}
	for _, sight := range h.Local().Sights {
		if good := sight.Namespace == good.Name; sight.Complete != good || (sight.Err == nil) != good {
			t.Errorf("got %+v, want that only namespace %s is not seen", sight, bad.Name)
		}
	}
	ours.edit("meanwhile")
	bad.Grant(leastRights()...)
	theirs.mustPublish("10.0.0.1")

	bad.Revoke(authorizationv1.ResourceAttributes{Group: "discovery.k8s.io", Resource: "endpointslices"}, "create", "update")
	if err := theirs.publish("10.0.0.2"); !apierrors.IsForbidden(err) || errors.Is(err, publish.ErrUnavailable) || errors.Is(err, publish.ErrConflict) {
		t.Errorf("got %v, want that the write of this slice alone is forbidden", err)
	}
	ours.mustPublish("10.0.0.2")
	ours.edit("later")
}

func deletedNamespace(t *testing.T, server *controlplane.ControlPlane) {
	good := apiserver.New(t, server, leastRights()...)
	bad := apiserver.NewFor(t, server, good.User, leastRights()...)
	h := startHub(t, server, good.User, good.Name, bad.Name)
	ours, theirs := h.views(good.Name, 1)[0], h.views(bad.Name, 3)
	ours.mustPublish("10.0.0.1")
	for _, v := range theirs {
		v.mustPublish("10.0.0.1")
	}
	if err := h.admin.CoreV1().Namespaces().Delete(t.Context(), bad.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, v := range theirs {
		v.awaitRefused()
	}
	ours.mustPublish("10.0.0.1", "10.0.0.2")
	ours.edit("later")
}

// awaitRefused waits until the Service is gone from the view, while the right to read
// a slice again may be gone too.
func (v *view) awaitRefused() {
	v.t.Helper()
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	for state := v.load(); state.Service.UID != "" || len(state.Slices) > len(state.Unread); state = v.load() {
		select {
		case <-v.Changed():
		case <-deadline.C:
			v.t.Fatalf("got %+v, want to be told of the end", state)
		}
	}
}

func recreatedService(t *testing.T, server *controlplane.ControlPlane) {
	namespace := apiserver.New(t, server, leastRights()...)
	h := startHub(t, server, namespace.User, namespace.Name)
	all := h.views(namespace.Name, 2)
	all[0].mustPublish("10.0.0.1")
	all[1].mustPublish("10.0.0.1")
	before := all[0].load().Service.UID
	all[0].deleteService()
	all[0].await("the deletion", func(state publish.State) bool { return state.Service.UID == "" })
	all[0].createService()
	all[0].await("the new Service", func(state publish.State) bool { return state.Service.UID != "" && state.Service.UID != before })
	all[0].await("the collected slice", func(state publish.State) bool { return len(state.Slices) == 0 })
	all[0].mustPublish("10.0.0.1", "10.0.0.2")
	if state := all[0].load(); len(state.Slices) != 1 || state.Slices[0].Owner != state.Service.UID {
		t.Errorf("got %+v, want one slice of the new Service", state)
	}
	all[1].edit("later")
}

func addedLater(t *testing.T, server *controlplane.ControlPlane) {
	first := apiserver.New(t, server, leastRights()...)
	second := apiserver.NewFor(t, server, first.User, leastRights()...)
	h := startHub(t, server, first.User, first.Name)
	h.views(first.Name, 1)[0].mustPublish("10.0.0.1")
	h.Watch(second.Name)
	later := h.views(second.Name, 1)[0]
	later.mustPublish("10.0.0.1")
	version := later.load().Slices[0].Version
	later.Release()
	again := h.view("web-0", "web-0.blue", second.Name)
	if got := again.load(); len(got.Slices) != 1 || got.Slices[0].Version != version || got.Service.UID == "" {
		t.Errorf("got %+v, want what the released view said", got)
	}
	again.edit("later")
}

func hubOutage(t *testing.T, server *controlplane.ControlPlane) {
	first := apiserver.New(t, server, leastRights()...)
	second := apiserver.NewFor(t, server, first.User, leastRights()...)
	h := startHub(t, server, first.User, first.Name, second.Name)
	all := append(h.views(first.Name, 5), h.views(second.Name, 5)...)
	for _, v := range all {
		v.mustPublish("10.0.0.1")
	}
	server.Stop()
	for _, v := range all {
		if state := v.load(); len(state.Slices) != 1 || state.Service.UID == "" {
			t.Errorf("got %+v, want what was known", state)
		}
	}
	server.Start()
	for _, v := range all {
		v.edit("later")
		v.mustPublish("10.0.0.1", "10.0.0.2")
	}
}
