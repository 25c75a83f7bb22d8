// Command writers writes EndpointSlices as fast as its client and the API server allow,
// and does nothing else: it watches, checks and decides nothing. The daemon is compared
// with it.
//
// It makes the slices of many Services and prints that it is ready. Each line of standard
// input is the number of an endpoint and its new state, such as "17 false". Then one
// slice of each Service is written.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// perSlice is the daemon's default.
const perSlice = 100

// writers writes the slices of so many Services in namespaces that exist.
type writers struct {
	client *kube.Client
	// count is how many write at the same time.
	count, targets, endpoints, perNamespace int
	group                                   string
	// slices are those of each Service, as they were answered last.
	slices [][]*discoveryv1.EndpointSlice
}

func main() {
	var w writers
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	flag.StringVar(&w.group, "group", "", "what the names of the namespaces begin with")
	flag.IntVar(&w.count, "writers", 8, "how many write at the same time")
	flag.IntVar(&w.targets, "targets", 1, "number of Services")
	flag.IntVar(&w.endpoints, "endpoints", 1, "number of endpoints of each")
	flag.IntVar(&w.perNamespace, "per-namespace", 50, "number of Services in a namespace")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := w.run(ctx, *kubeconfig)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (w *writers) run(ctx context.Context, kubeconfig string) error {
	var err error
	if w.client, err = kube.New(kube.Options{Way: kube.Access{Kubeconfig: kubeconfig}, UserAgent: "writers"}); err != nil {
		return err
	}
	defer w.client.Close()
	w.slices = make([][]*discoveryv1.EndpointSlice, w.targets)
	if err := w.each(func(i int) error { return w.create(ctx, i) }); err != nil {
		return err
	}
	fmt.Println("ready")
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	for {
		var line string
		select {
		case <-ctx.Done():
			return nil
		case line = <-lines:
		}
		var endpoint int
		var ready bool
		if _, err := fmt.Sscan(line, &endpoint, &ready); err != nil {
			return fmt.Errorf("read %q: %w", line, err)
		}
		if err := w.each(func(i int) error { return w.update(ctx, i, endpoint, ready) }); err != nil {
			return err
		}
	}
}

// each does something for each Service, by all writers.
func (w *writers) each(do func(target int) error) error {
	var next atomic.Int64
	errs := make([]error, w.count)
	var writing sync.WaitGroup
	for n := range errs {
		writing.Go(func() {
			for i := int(next.Add(1)) - 1; i < w.targets && errs[n] == nil; i = int(next.Add(1)) - 1 {
				errs[n] = do(i)
			}
		})
	}
	writing.Wait()
	return errors.Join(errs...)
}

func (w *writers) resource(target int) kube.Resource {
	return kube.EndpointSlices(fmt.Sprintf("%s-%d", w.group, target/w.perNamespace))
}

// create makes the slices of a Service, which need not exist.
func (w *writers) create(ctx context.Context, target int) error {
	for first := 0; first < w.endpoints; first += perSlice {
		slice := newSlice(target, first, min(perSlice, w.endpoints-first))
		if err := w.client.Create(ctx, w.resource(target), slice, slice); err != nil {
			return err
		}
		w.slices[target] = append(w.slices[target], slice)
	}
	return nil
}

func newSlice(target, first, endpoints int) *discoveryv1.EndpointSlice {
	service := fmt.Sprintf("web-%d", target)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", service, first/perSlice), Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "writers",
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for i := range endpoints {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.64.%d.%d", (first+i)/250, 1+(first+i)%250)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		})
	}
	return slice
}

// update writes the slice of a Service that has the endpoint.
func (w *writers) update(ctx context.Context, target, endpoint int, ready bool) error {
	slice := w.slices[target][endpoint/perSlice]
	c := &slice.Endpoints[endpoint%perSlice].Conditions
	*c.Ready, *c.Serving = ready, ready
	return w.client.Update(ctx, w.resource(target), slice.Name, slice, slice)
}
