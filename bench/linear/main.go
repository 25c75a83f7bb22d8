// Command linear is the smallest program that tells Envoys by xDS which endpoints a Service
// has: the xDS of endpoint-views is compared with it. An informer of client-go feeds a
// linear cache of go-control-plane, which serves the delta protocol.
//
// It trusts every event and knows one Service. It joins nothing: an address in two slices is
// sent twice. Everybody may connect and ask for everything.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	namespace := flag.String("namespace", "default", "namespace of the Service")
	service := flag.String("service", "", "name of the Service")
	name := flag.String("cluster", "", "name of the cluster in xDS")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *namespace, *service, *name)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, service, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + service }))
	a := &assignment{name: name, slices: make(map[string][]*endpointv3.LbEndpoint), cache: cache.NewLinearCache(resource.EndpointType)}
	informer := factory.Discovery().V1().EndpointSlices().Informer()
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(now any) { a.put(now) }, UpdateFunc: func(_, now any) { a.put(now) }, DeleteFunc: a.drop,
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	toolscache.WaitForCacheSync(ctx.Done(), handler.HasSynced)
	return serve(ctx, a.cache)
}

// serve serves the cache until ctx ends, and prints where.
func serve(ctx context.Context, from cache.Cache) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(s, server.NewServer(ctx, from, nil))
	context.AfterFunc(ctx, s.Stop)
	fmt.Printf("{\"xds_address\":%q}\n", listener.Addr())
	return s.Serve(listener)
}

// strip keeps what is sent.
func strip(object any) (any, error) {
	if slice, is := object.(*discoveryv1.EndpointSlice); is {
		slice.ManagedFields = nil
	}
	return object, nil
}

// assignment are the endpoints of the Service.
type assignment struct {
	name  string
	cache *cache.LinearCache

	mu     sync.Mutex
	slices map[string][]*endpointv3.LbEndpoint
}

func (a *assignment) put(object any) {
	slice, is := object.(*discoveryv1.EndpointSlice)
	if !is {
		return
	}
	var all []*endpointv3.LbEndpoint
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			all = append(all, endpoint(e.Addresses[0], uint32(*slice.Ports[0].Port)))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.slices[slice.Name] = all
	a.send()
}

func (a *assignment) drop(object any) {
	slice, is := object.(*discoveryv1.EndpointSlice)
	if !is {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.slices, slice.Name)
	a.send()
}

// send replaces the assignment.
func (a *assignment) send() {
	names := make([]string, 0, len(a.slices))
	for name := range a.slices {
		names = append(names, name)
	}
	slices.Sort(names)
	zone := &endpointv3.LocalityLbEndpoints{}
	for _, name := range names {
		zone.LbEndpoints = append(zone.LbEndpoints, a.slices[name]...)
	}
	made := &endpointv3.ClusterLoadAssignment{ClusterName: a.name, Endpoints: []*endpointv3.LocalityLbEndpoints{zone}}
	if err := a.cache.UpdateResource(a.name, made); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func endpoint(address string, port uint32) *endpointv3.LbEndpoint {
	socket := &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}
	return &endpointv3.LbEndpoint{
		HealthStatus: corev3.HealthStatus_HEALTHY,
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: socket}},
		}},
	}
}
