package xds_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// cluster is a cache that the test fills.
type cluster struct {
	*cache.Cache

	revision cache.Revision
}

// newCluster has had a list of both kinds, without objects.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{Cache: cache.New(1)}
	c.sync(t)
	return c
}

func (c *cluster) sync(t testing.TB) {
	t.Helper()
	c.revision++
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if err := c.Replace(0, kind, nil, c.revision); err != nil {
			t.Fatal(err)
		}
	}
}

func port(name string, number int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: number}
}

// service writes a Service with these ports.
func (c *cluster) service(namespace, name string, ports ...corev1.ServicePort) {
	c.serviceOf(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: ports}})
}

func (c *cluster) serviceOf(object *corev1.Service) {
	c.revision++
	c.Set(0, cache.Services, cache.Input{
		Key: join.Key{Namespace: object.Namespace, Name: object.Name}, Revision: c.revision, Service: join.ToService(object),
	})
}

// noService takes a Service of shop away.
func (c *cluster) noService(name string) {
	c.revision++
	c.Delete(0, cache.Services, cache.Input{Key: join.Key{Namespace: "shop", Name: name}, Revision: c.revision})
}

// endpoint is one of a slice; ready where it says nothing else.
type endpoint struct {
	address, zone string
	conditions    discoveryv1.EndpointConditions
}

func ready(addresses ...string) []endpoint {
	var all []endpoint
	for _, address := range addresses {
		all = append(all, endpoint{address: address})
	}
	return all
}

func draining(address string) endpoint {
	return endpoint{address: address, conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}}
}

func down(address string) endpoint {
	return endpoint{address: address, conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false)}}
}

func in(zone string, e endpoint) endpoint {
	e.zone = zone
	return e
}

// slice writes a slice of a Service, whose port of that name has this number.
func (c *cluster) slice(namespace, name, service, portName string, number int32, all ...endpoint) {
	c.revision++
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &number}},
	}
	for _, e := range all {
		if netip.MustParseAddr(e.address).Is6() {
			object.AddressType = discoveryv1.AddressTypeIPv6
		}
		one := discoveryv1.Endpoint{Addresses: []string{e.address}, Conditions: e.conditions}
		if e.zone != "" {
			one.Zone = &e.zone
		}
		object.Endpoints = append(object.Endpoints, one)
	}
	c.Set(0, cache.Slices, cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Revision: c.revision, Slice: join.ToSlice(object)})
}

// server is a running server.
type server struct {
	*xds.Server

	address string
	stop    func()
}

// start serves the cluster on a free port until the test ends, or until stop.
func start(t *testing.T, c *cluster, change func(*xds.Options)) *server {
	t.Helper()
	listening := make(chan net.Addr, 1)
	s := begin(t, c, func(o *xds.Options) {
		o.Listening = func(at net.Addr) { listening <- at }
		if change != nil {
			change(o)
		}
	})
	select {
	case at := <-listening:
		s.address = at.String()
	case <-time.After(waitLimit):
		t.Fatal("the server does not listen")
	}
	return s
}

// begin runs a server that does not have to listen.
func begin(t *testing.T, c *cluster, change func(*xds.Options)) *server {
	t.Helper()
	options := xds.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: c.Cache, Settings: envoyconfigtest.Defaults(), MostClients: 100, MostOfOne: 50,
		Logger: slog.New(slog.DiscardHandler), Listening: func(net.Addr) {},
	}
	change(&options)
	made, err := xds.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := made.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	s := &server{Server: made, stop: func() { cancel(); running.Wait() }}
	t.Cleanup(s.stop)
	return s
}

// waitLimit bounds every wait; a machine that tests much else is slow.
const waitLimit = time.Minute

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll.Until(t, waitLimit, holds, func() string { return what })
}

// sorted is a sorted copy.
func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
