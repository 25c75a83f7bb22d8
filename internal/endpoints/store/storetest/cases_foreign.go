package storetest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// wantConflict checks that the write is refused as a conflict and that the next
// load, at once, says what the server holds.
func (f *Fixture) wantConflict(t *testing.T, store Store, write publish.Write) {
	t.Helper()
	if err := f.write(t, store, write); !errors.Is(err, publish.ErrConflict) {
		t.Fatalf("%s %s: got %v, want a conflict", write.Operation, write.Slice.Name, err)
	}
	versions := map[string]string{}
	for _, object := range f.Hand.Slices() {
		versions[object.Name] = object.ResourceVersion
	}
	got := map[string]string{}
	for _, slice := range f.loadFrom(t, store).Slices {
		got[slice.Name] = slice.Version
	}
	same(t, "versions after the conflict", versions, got)
}

func lostCreate(t *testing.T, f *Fixture) {
	f.withService(t)
	members := ready("10.0.0.1")
	write := f.plan(t, f.Store, members)[0]
	if err := f.write(t, f.Restart(), write); err != nil {
		t.Fatal(err)
	}
	before := f.stored(t, "web-remote")

	f.wantConflict(t, f.Store, write)
	same(t, "the slice", before, f.stored(t, "web-remote"))
	same(t, "slices", []string{"web-remote"}, f.storedNames())
	same(t, "writes after the conflict", 0, len(f.plan(t, f.Store, members)))
}

func staleUpdate(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	write := f.plan(t, f.Store, ready("10.0.0.1", "10.0.0.2"))[0]
	edited := f.edit(t, func(o *discoveryv1.EndpointSlice) { o.Labels["team"] = "edge" })

	f.wantConflict(t, f.Store, write)
	same(t, "the slice", edited, f.stored(t, "web-remote"))
	f.wantConflict(t, f.Store, write) // and again: nothing was learned that would let it through
	same(t, "the slice", edited, f.stored(t, "web-remote"))

	f.publish(t, ready("10.0.0.1", "10.0.0.2"))
	same(t, "foreign label", "edge", f.stored(t, "web-remote").Labels["team"])
	same(t, "members", ready("10.0.0.1", "10.0.0.2"), members(f.load(t)))
}

func goneUpdate(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	write := f.plan(t, f.Store, ready("10.0.0.1", "10.0.0.2"))[0]
	f.Hand.Delete("web-remote")

	f.wantConflict(t, f.Store, write)
	same(t, "slices", []string(nil), f.storedNames())
	f.publish(t, ready("10.0.0.1", "10.0.0.2"))
	same(t, "members", ready("10.0.0.1", "10.0.0.2"), members(f.load(t)))
}

func twoWriters(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	want := ready("10.0.0.1", "10.0.0.2")
	first, second := f.Store, f.Restart()
	one, two := f.plan(t, first, want)[0], f.plan(t, second, want)[0]
	if err := f.write(t, first, one); err != nil {
		t.Fatal(err)
	}
	f.wantConflict(t, second, two)
	same(t, "writes of the second", 0, len(f.plan(t, second, want)))
	same(t, "members", want, members(f.loadFrom(t, second)))
}

func noDifference(t *testing.T, f *Fixture) {
	f.withService(t)
	in := ready("10.0.0.1", "10.0.0.2", "fd00::1")
	f.publish(t, in)
	before := f.Hand.Slices()
	for range 3 {
		same(t, "writes", 0, len(f.publish(t, in)))
	}
	f.Store = f.Restart()
	same(t, "writes after a restart", 0, len(f.publish(t, in)))
	same(t, "slices", before, f.Hand.Slices())
	if f.Requests == nil {
		return
	}
	writes := 0
	for _, request := range f.Requests() {
		if request.Verb == "create" || request.Verb == "update" || request.Verb == "patch" {
			writes++
		}
	}
	same(t, "writes that reached the server", 2, writes)
}

func foreignMetadata(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	edited := f.edit(t, func(o *discoveryv1.EndpointSlice) {
		o.Labels["team"] = "edge"
		o.Annotations["note"] = "hands off"
		o.Finalizers = []string{"example.org/keep"}
		o.OwnerReferences = append(o.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "u"})
	})
	f.converge(t, "the change is published", ready("10.0.0.1", "10.0.0.2"), func() bool {
		return len(f.stored(t, "web-remote").Endpoints) == 2
	})
	got := f.stored(t, "web-remote")
	edited.Annotations[corev1.EndpointsLastChangeTriggerTime] = got.Annotations[corev1.EndpointsLastChangeTriggerTime]
	same(t, "metadata", edited.ObjectMeta, got.ObjectMeta,
		cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ResourceVersion", "Generation", "ManagedFields"))
	f.edit(t, func(o *discoveryv1.EndpointSlice) { o.Finalizers = nil })
}

func foreignEdit(t *testing.T, f *Fixture) {
	f.withService(t)
	in := ready("10.0.0.1", "10.0.0.2")
	f.publish(t, in)
	want := render(t, f.stored(t, "web-remote"))
	edits := []struct {
		name string
		edit func(*discoveryv1.EndpointSlice)
	}{
		{"an endpoint taken away", func(o *discoveryv1.EndpointSlice) { o.Endpoints = o.Endpoints[:1] }},
		{"a condition removed", func(o *discoveryv1.EndpointSlice) { o.Endpoints[0].Conditions.Serving = nil }},
		{"a hostname", func(o *discoveryv1.EndpointSlice) { o.Endpoints[0].Hostname = new("w1") }},
		{"another port", func(o *discoveryv1.EndpointSlice) { o.Ports[0].Port = new(int32(1)) }},
		{"no owner", func(o *discoveryv1.EndpointSlice) { o.OwnerReferences = nil }},
	}
	for _, e := range edits {
		f.edit(t, e.edit)
		f.converge(t, e.name+" is repaired", in, func() bool {
			got := f.stored(t, "web-remote")
			got.Annotations[corev1.EndpointsLastChangeTriggerTime] = "2026-01-01T00:00:01Z"
			return render(t, got) == want
		})
	}
}

func lostLabel(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	f.edit(t, func(o *discoveryv1.EndpointSlice) { delete(o.Labels, discoveryv1.LabelServiceName) })
	eventually(t, "the loss is seen", func() bool {
		slices := f.load(t).Slices
		if len(slices) != 1 {
			t.Fatalf("got %d slices, want one all the time: the slice is not gone", len(slices))
		}
		return slices[0].Drift != ""
	})
	f.converge(t, "the label is back", ready("10.0.0.1"), func() bool {
		return f.stored(t, "web-remote").Labels[discoveryv1.LabelServiceName] == "web"
	})
	same(t, "slices", []string{"web-remote"}, f.storedNames())
	eventually(t, "the slice has no drift", func() bool { return f.load(t).Slices[0].Drift == "" })
	same(t, "writes", 0, len(f.plan(t, f.Store, ready("10.0.0.1"))))
}

func refused(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	write := f.plan(t, f.Store, ready("10.0.0.2"))[0]
	edited := f.edit(t, func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelManagedBy] = "somebody" })
	eventually(t, "the slice is refused", func() bool { return len(f.load(t).Refused) == 1 })
	refusal := f.load(t).Refused[0]
	if refusal.Name != "web-remote" || !strings.Contains(refusal.Message, `"somebody"`) {
		t.Errorf("got refusal %v, want one of web-remote that names somebody", refusal)
	}
	write.Slice.Version = edited.ResourceVersion
	for _, w := range []publish.Write{write, {Operation: publish.Create, Slice: write.Slice}} {
		if err := f.write(t, f.Store, w); err == nil {
			t.Errorf("%s of somebody else's slice: got no error", w.Operation)
		}
	}
	same(t, "the slice", edited, f.stored(t, "web-remote"))
}

func refusedStray(t *testing.T, f *Fixture) {
	f.withService(t)
	f.Hand.Put(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "web-remote", Labels: map[string]string{
			discoveryv1.LabelManagedBy: "somebody", discoveryv1.LabelServiceName: "shop",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
	})
	before := f.stored(t, "web-remote")
	f.converge(t, "the slice is refused", ready("10.0.0.1"), func() bool { return len(f.load(t).Refused) == 1 })
	same(t, "the slice", before, f.stored(t, "web-remote"))
	f.Hand.Delete("web-remote")
	eventually(t, "the refusal ends with the slice", func() bool { return len(f.load(t).Refused) == 0 })
}

func serviceStates(t *testing.T, f *Fixture) {
	if got := f.load(t).Service; got.UID != "" {
		t.Errorf("without a Service: got %v", got)
	}
	states := []struct {
		name   string
		change func(*corev1.Service)
		seen   func(publish.Service) bool
	}{
		{"it has a selector", func(o *corev1.Service) { o.Spec.Selector = map[string]string{"app": "web"} },
			func(s publish.Service) bool { return s.HasSelector }},
		{"it is of type ExternalName", func(o *corev1.Service) {
			o.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "web.example.org"}
		}, func(s publish.Service) bool { return s.ExternalName }},
		{"its port has another name", func(o *corev1.Service) { o.Spec.Ports[0].Name = "other" },
			func(s publish.Service) bool { return len(s.Ports) == 2 && s.Ports[0].Name == "other" }},
		{"its clients use endpoints of their own node only", func(o *corev1.Service) {
			local := corev1.ServiceInternalTrafficPolicyLocal
			o.Spec.InternalTrafficPolicy = &local
		}, func(s publish.Service) bool { return s.Local == "spec.internalTrafficPolicy" }},
		{"it is being deleted", func(o *corev1.Service) { o.Finalizers = []string{"example.org/keep"} },
			func(s publish.Service) bool { return s.Deleting }},
	}
	for _, state := range states {
		service := newService()
		state.change(service)
		f.Hand.PutService(service)
		if service.Finalizers != nil {
			f.Hand.DeleteService()
		}
		eventually(t, state.name, func() bool { return state.seen(f.load(t).Service) })
	}
	gone := f.Hand.Service().UID
	f.Hand.PutService(newService()) // without the finalizer, so that it goes
	eventually(t, "it is gone", func() bool { return f.load(t).Service.UID == "" })
	f.withService(t)
	if uid := f.Hand.Service().UID; uid == gone {
		t.Errorf("the new Service has the UID of the old one: %s", uid)
	}
	same(t, "the Service", publish.Service{UID: string(f.Hand.Service().UID), Ports: []publish.ServicePort{
		{Name: "http", Protocol: publish.TCP, Port: 80, TargetPort: 8080},
		{Name: "dns", Protocol: publish.UDP, Port: 53},
	}, Traits: publish.Traits{IPv4: true}}, f.load(t).Service)
	f.publish(t, ready("10.0.0.1"))
}
