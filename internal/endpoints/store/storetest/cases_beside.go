package storetest

import (
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// foreign is a slice of the Service that another manager writes.
func foreign(name, manager string, addresses ...string) *discoveryv1.EndpointSlice {
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{},
	}
	if manager != "" {
		object.Labels[discoveryv1.LabelManagedBy] = manager
	}
	for _, address := range addresses {
		object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return object
}

func besides(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	other := foreign("shop-1", "somebody", "10.9.0.9")
	other.Labels[discoveryv1.LabelServiceName] = "shop"
	for _, object := range []*discoveryv1.EndpointSlice{
		other, foreign("web-empty", "somebody"), foreign("web-zz", "somebody", "10.9.0.3"),
		foreign("web-abcde", "endpointslicemirroring-controller.k8s.io", "10.9.0.1", "10.9.0.2"),
	} {
		f.Hand.Put(object)
	}
	eventually(t, "both that publish are seen", func() bool { return len(f.load(t).Beside) == 2 })
	mirrored, second := f.load(t).Beside[0], f.load(t).Beside[1]
	if mirrored.Name != "web-abcde" || mirrored.Endpoints != 2 || !strings.Contains(mirrored.Message, "endpointslice.kubernetes.io/skip-mirror=true") {
		t.Errorf("got %+v, want web-abcde with 2 endpoints and the way to stop the mirroring", mirrored)
	}
	if second.Name != "web-zz" || second.Manager != "somebody" || second.Endpoints != 1 || !strings.Contains(second.Message, `"somebody"`) {
		t.Errorf("got %+v, want web-zz of somebody with 1 endpoint", second)
	}
	same(t, "what a store that starts now sees", f.load(t).Beside, f.loadFrom(t, f.Restart()).Beside)
	same(t, "writes", 0, len(f.plan(t, f.Store, ready("10.0.0.1"))))

	service := newService()
	service.Spec.Selector = map[string]string{"app": "web"}
	f.Hand.PutService(service)
	eventually(t, "a Service with a selector has slices of its own", func() bool { return len(f.load(t).Beside) == 0 })
	f.Hand.PutService(newService())
	eventually(t, "without it they are counted again", func() bool { return len(f.load(t).Beside) == 2 })

	f.Hand.Put(foreign("web-zz", "somebody"))
	f.Hand.Delete("web-abcde")
	eventually(t, "none publishes any more", func() bool { return len(f.load(t).Beside) == 0 })
	f.onlyWrites(t, "create", "update")
	names := f.storedNames()
	slices.Sort(names)
	same(t, "slices", []string{"shop-1", "web-empty", "web-remote", "web-zz"}, names)
}
