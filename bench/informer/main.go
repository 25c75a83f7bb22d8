// Command informer is the smallest program that reports endpoints with client-go:
// endpoint-views is compared with it. It prints a line for each endpoint of a Service
// that a slice adds, changes or removes.
//
// It trusts every event. It joins nothing, resumes nothing and serves one reader. An
// endpoint that moves between two slices is reported as removed and added. It is as
// fast as such a program can be: protobuf, and an informer that keeps the endpoints
// alone.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	namespace := flag.String("namespace", "default", "namespace of the Service")
	service := flag.String("service", "", "name of the Service")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *kubeconfig, *namespace, *service)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, service string) error {
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
	p := &printer{out: bufio.NewWriter(os.Stdout)}
	if _, err := factory.Discovery().V1().EndpointSlices().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { p.print(nil, now) },
		UpdateFunc: p.print,
		DeleteFunc: func(before any) { p.print(before, nil) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

// strip keeps what is printed.
func strip(object any) (any, error) {
	if slice, is := object.(*discoveryv1.EndpointSlice); is {
		slice.ManagedFields = nil
	}
	return object, nil
}

type printer struct {
	mu  sync.Mutex
	out *bufio.Writer
}

// line is what is printed of an endpoint.
type line struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	State   string `json:"state"`
}

// print prints what differs between two states of a slice.
func (p *printer) print(before, now any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had, has := endpoints(before), endpoints(now)
	encoder := json.NewEncoder(p.out)
	for address, state := range has {
		kind := "MODIFIED"
		if last, known := had[address]; !known {
			kind = "ADDED"
		} else if last == state {
			continue
		}
		_ = encoder.Encode(line{kind, address, state}) // Flush says so
	}
	for address, state := range had {
		if _, there := has[address]; !there {
			_ = encoder.Encode(line{"DELETED", address, state}) // Flush says so
		}
	}
	if err := p.out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func endpoints(object any) map[string]string {
	slice, is := object.(*discoveryv1.EndpointSlice)
	if !is {
		return nil
	}
	states := make(map[string]string, len(slice.Endpoints))
	for _, e := range slice.Endpoints {
		state := "down"
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			state = "ready"
		}
		states[e.Addresses[0]] = state
	}
	return states
}
