package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

const (
	// dialTimeout is short, so that a server which comes back after its host
	// was away is not waited for in a connection attempt of the time before.
	dialTimeout = 5 * time.Second
	keepAlive   = 15 * time.Second
	// requestTimeout bounds every request but a watch, within the caller's own
	// deadline.
	requestTimeout = 10 * time.Second
	// A read that runs into a connection which was just given up is repeated: the
	// transport notices a moment after us that it is closed.
	closedAttempts = 5
	closedPause    = 10 * time.Millisecond
)

// resource is one kind of object in one namespace: what to ask and for which.
type resource struct {
	rest      rest.Interface
	namespace string
	name      string
	selection metav1.ListOptions
	newList   func() runtime.Object
}

// client talks to the API server. It knows three types and no others: the whole
// clientset costs the program twelve megabytes.
type client struct {
	slices      resource
	services    resource
	codec       runtime.ParameterCodec
	http        *http.Client
	connections *lines
}

func newClient(config *rest.Config, userAgent string, target plan.Target) (*client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	// No throttle of our own: the syncer paces writes, and one that takes a dead
	// backend away must not queue behind a bucket. The server has its own
	// (priority and fairness).
	config.QPS, config.Burst, config.RateLimiter = -1, 0, nil
	config.Timeout = 0 // it would end the watches; requests have their context's
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	connections := newLines(dial)
	config.Dial = connections.DialContext
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, kubeapi.ErrUnusable
	}
	kubeapi.Impatient(config, httpClient)
	scheme := newScheme()
	c := &client{codec: runtime.NewParameterCodec(scheme), http: httpClient, connections: connections}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	slices, err := newREST(config, httpClient, "/apis", discoveryv1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	services, err := newREST(config, httpClient, "/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	c.slices = resource{slices, target.Namespace, "endpointslices", metav1.ListOptions{
		LabelSelector: labels.Set{discoveryv1.LabelServiceName: target.Service}.String(),
	}, func() runtime.Object { return &discoveryv1.EndpointSliceList{} }}
	c.services = resource{services, target.Namespace, "services", named(target.Service),
		func() runtime.Object { return &corev1.ServiceList{} }}
	return c, nil
}

// newScheme knows the types that are read and written, and what the API's
// machinery itself sends.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(discoveryv1.SchemeGroupVersion, &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSliceList{})
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Service{}, &corev1.ServiceList{})
	metav1.AddToGroupVersion(scheme, discoveryv1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return scheme
}

func newREST(config *rest.Config, httpClient *http.Client, path string, version schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = path, &version
	client, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, kubeapi.ErrUnusable
	}
	return client, nil
}

// named selects the one object of that name.
func named(name string) metav1.ListOptions {
	return metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
}

// send carries out one write by one request: client-go repeats none of them, so
// that a write is never sent again later than it was decided.
func (c *client) send(ctx context.Context, operation plan.Operation, object *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	request := c.slices.rest.Post()
	if operation == plan.Update {
		request = c.slices.rest.Put().Name(object.Name)
	}
	answer := &discoveryv1.EndpointSlice{}
	err := c.do(ctx, request.Namespace(object.Namespace).Resource(c.slices.name).Body(object), answer)
	if err != nil {
		return nil, err
	}
	answer.ManagedFields = nil
	return answer, nil
}

// look reads one slice from the server's storage, past every cache. It lists
// instead of getting, for the answer of a list also says at which revision the
// slice was absent.
func (c *client) look(ctx context.Context, name string) (sight, error) {
	object, err := c.list(ctx, c.slices, named(name))
	if err != nil {
		return sight{}, err
	}
	list, ok := object.(*discoveryv1.EndpointSliceList)
	if !ok {
		return sight{}, fmt.Errorf("the server answered a list of slices with a %T", object)
	}
	seen := sight{at: list.ResourceVersion}
	if len(list.Items) > 0 {
		seen.object = &list.Items[0]
		seen.object.ManagedFields = nil
	}
	return seen, nil
}

func (c *client) list(ctx context.Context, r resource, options metav1.ListOptions) (runtime.Object, error) {
	for attempt := 1; ; attempt++ {
		list := r.newList()
		err := c.do(ctx, r.rest.Get().Namespace(r.namespace).Resource(r.name).VersionedParams(&options, c.codec), list)
		if attempt == closedAttempts || !errors.Is(err, net.ErrClosed) {
			return list, err
		}
		select {
		case <-ctx.Done():
			return list, err
		case <-time.After(closedPause):
		}
	}
}

// do sends a request once. After one that nobody answered in time no connection
// that was silent meanwhile is trusted any more: a firewall or a load balancer may
// have forgotten it, and client-go would send the next write into the same hole
// for most of a minute. Where other answers came, it is this request that hangs.
func (c *client) do(ctx context.Context, request *rest.Request, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	way := reach{lines: c.connections}
	began := time.Now()
	var code int
	result := request.MaxRetries(0).Do(way.trace(ctx)).StatusCode(&code)
	err := way.judge(result.Into(into), code)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.connections.closeSilent(began, way.line.Load())
	}
	return err
}

// close ends every connection.
func (c *client) close() {
	c.http.CloseIdleConnections()
	c.connections.closeAll()
}
