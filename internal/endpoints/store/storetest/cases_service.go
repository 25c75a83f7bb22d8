package storetest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// change changes the Service as another client would and waits until the store
// knows it.
func (f *Fixture) change(t *testing.T, what string, change func(*corev1.Service), seen func(publish.Service) bool) {
	t.Helper()
	service := newService()
	change(service)
	f.Hand.PutService(service)
	eventually(t, what, func() bool { return seen(f.load(t).Service) })
}

func appProtocol(t *testing.T, f *Fixture) {
	f.withService(t)
	in := ready("10.0.0.1", "fd00::1")
	f.publish(t, in)
	for _, want := range []*string{new("kubernetes.io/h2c"), new("http"), nil} {
		f.change(t, "the appProtocol is seen", func(o *corev1.Service) { o.Spec.Ports[0].AppProtocol = want },
			func(s publish.Service) bool {
				return len(s.Ports) == 2 && (want == nil) == (s.Ports[0].AppProtocol == "")
			})
		eventually(t, "its value too", func() bool { return want == nil || f.load(t).Service.Ports[0].AppProtocol == *want })
		same(t, "writes, one for each slice", 2, len(f.publish(t, in)))
		for _, object := range f.Hand.Slices() {
			// Ports are sorted by name: dns, which has none, before http.
			same(t, "appProtocols of "+object.Name, []*string{nil, want}, []*string{object.Ports[0].AppProtocol, object.Ports[1].AppProtocol})
		}
		for _, store := range []Store{f.Store, f.Restart()} {
			same(t, "writes after that", 0, len(f.plan(t, store, in)))
			same(t, "drift", "", f.loadFrom(t, store).Slices[0].Drift)
		}
	}
}

func publishNotReady(t *testing.T, f *Fixture) {
	f.withService(t)
	in := ready("10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1")
	in[1].State, in[2].State = inventory.StateDraining, inventory.StateDown
	f.publish(t, in)
	yes, no := new(true), new(false)
	for _, on := range []bool{true, false} {
		f.change(t, "the field is seen", func(o *corev1.Service) { o.Spec.PublishNotReadyAddresses = on },
			func(s publish.Service) bool { return s.PublishNotReady == on })
		// As after a restart in between, which reads what was written before.
		same(t, "members before the switch", in, members(f.loadFrom(t, f.Restart())))
		same(t, "writes, one for each slice", 2, len(f.publish(t, in)))
		var got []discoveryv1.EndpointConditions
		for _, endpoint := range f.stored(t, "web-remote").Endpoints {
			got = append(got, endpoint.Conditions)
		}
		notReady := no
		if on {
			notReady = yes
		}
		same(t, "conditions", []discoveryv1.EndpointConditions{
			{Ready: yes, Serving: yes, Terminating: no},
			{Ready: notReady, Serving: yes, Terminating: yes},
			{Ready: notReady, Serving: no, Terminating: no},
		}, got)
		for _, store := range []Store{f.Store, f.Restart()} {
			same(t, "members", in, members(f.loadFrom(t, store)))
			same(t, "drift", "", f.loadFrom(t, store).Slices[0].Drift)
			same(t, "writes after that", 0, len(f.plan(t, store, in)))
		}
	}
}

// otherService is a second installation that means the same slice name: what it
// finds of the first one is not taken over.
func otherService(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	write := f.plan(t, f.Store, ready("10.0.0.2"))[0]
	edited := f.edit(t, func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelServiceName] = "shop" })
	eventually(t, "the slice is refused", func() bool { return len(f.load(t).Refused) == 1 })
	refusal := f.load(t).Refused[0]
	if refusal.Name != "web-remote" || !strings.Contains(refusal.Message, `Service "shop"`) || !strings.Contains(refusal.Message, "TARGET_ENDPOINTSLICE_NAME") {
		t.Errorf("got refusal %v, want one of web-remote that names shop and the remedy", refusal)
	}
	write.Slice.Version = edited.ResourceVersion
	for _, w := range []publish.Write{write, {Operation: publish.Create, Slice: write.Slice}} {
		if err := f.write(t, f.Store, w); err == nil {
			t.Errorf("%s of another Service's slice: got no error", w.Operation)
		}
	}
	same(t, "the slice", edited, f.stored(t, "web-remote"))
	f.converge(t, "another slice holds the members", ready("10.0.0.1"), func() bool { return len(members(f.load(t))) == 1 })
	same(t, "slices", []string{"web-remote", "web-remote-2"}, f.storedNames())
	same(t, "the slice", edited, f.stored(t, "web-remote"))

	// The remedy where the other one is not in use any more.
	f.Hand.Delete("web-remote")
	eventually(t, "the refusal ends with the slice", func() bool { return len(f.load(t).Refused) == 0 })
	same(t, "members", ready("10.0.0.1"), members(f.load(t)))
}

// otherServiceStray is the same for a store that starts after it.
func otherServiceStray(t *testing.T, f *Fixture) {
	f.Hand.Put(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "web-remote", Labels: map[string]string{
			discoveryv1.LabelManagedBy: f.Target.ManagedBy, discoveryv1.LabelServiceName: "shop",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}},
	})
	before := f.stored(t, "web-remote")
	f.withService(t)
	f.converge(t, "the slice is refused", ready("10.0.0.1"), func() bool {
		return len(f.load(t).Refused) == 1 && len(members(f.load(t))) == 1
	})
	same(t, "the slice", before, f.stored(t, "web-remote"))
	same(t, "members", ready("10.0.0.1"), members(f.load(t)))
	same(t, "slices", []string{"web-remote", "web-remote-2"}, f.storedNames())

	// Without the label it has no owner, and is taken over.
	before.Labels = map[string]string{discoveryv1.LabelManagedBy: f.Target.ManagedBy}
	f.Hand.Put(before)
	f.converge(t, "the slice is taken over", ready("10.0.0.1"), func() bool {
		return f.stored(t, "web-remote").Labels[discoveryv1.LabelServiceName] == "web" && len(f.load(t).Refused) == 0
	})
	same(t, "members", ready("10.0.0.1"), members(f.load(t)))
}
