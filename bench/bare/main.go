// Command bare is the smallest program that keeps EndpointSlices equal to the ready
// nodes of another cluster with client-go's informer. The daemon is compared with it.
//
// It trusts everything that the API server sends, checks no backend, keeps no
// endpoint and handles no conflict. It is as fast as such a program can be: protobuf,
// an informer without the parts of a node that it does not need, a handler that skips
// updates which change nothing, and up to 1,000 endpoints in a slice.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	w := writer{written: map[string]written{}}
	remote := flag.String("remote", "", "kubeconfig of the cluster with the nodes")
	local := flag.String("local", "", "kubeconfig of the cluster with the slices")
	flag.StringVar(&w.namespace, "namespace", "default", "namespace of the Service")
	flag.StringVar(&w.service, "service", "", "name of the Service")
	port := flag.Int("port", 0, "port of the backends")
	flag.Parse()
	w.port = int32(*port)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &w, *remote, *local)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w *writer, remote, local string) error {
	nodes, err := connect(remote)
	if err != nil {
		return err
	}
	if w.client, err = connect(local); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(nodes, 0, informers.WithTransform(strip))
	informer := factory.Core().V1().Nodes().Informer()
	news := make(chan struct{}, 1)
	tell := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() },
		UpdateFunc: func(before, after any) {
			if endpointOf(before) != endpointOf(after) {
				tell()
			}
		},
		DeleteFunc: func(any) { tell() },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	for {
		if err := w.write(ctx, informer.GetStore().List()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, "bare"
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}

// strip keeps what endpointOf reads.
func strip(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return object, nil
	}
	kept := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, ResourceVersion: node.ResourceVersion}}
	kept.Status.Addresses = node.Status.Addresses
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			kept.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return kept, nil
}
