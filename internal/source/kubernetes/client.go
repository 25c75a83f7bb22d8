package kubernetes

import (
	"context"
	"errors"
	"net"
	"net/http"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

const (
	// dialTimeout is short, so that an API server which comes back after its
	// network was away is not waited for in an attempt of the time before. It
	// leaves room for two lost packets.
	dialTimeout = 3500 * time.Millisecond
	// answerTimeout bounds the wait for the first byte of a watch, and one page
	// of a list.
	answerTimeout = 20 * time.Second
)

// keepAlive finds a connection whose other end is gone within seven seconds,
// without a request and without waking the API server. HTTP/2's own pings,
// which client-go sends after half a minute, find a server that hangs.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 4}
}

// client talks to the API server. It knows nodes and nothing else: the whole
// clientset costs the program twelve megabytes.
type client struct {
	rest        rest.Interface
	codec       runtime.ParameterCodec
	http        *http.Client
	connections *connrotation.Dialer
	witness     *witness
}

// newClient owns the configuration.
func newClient(config *rest.Config, userAgent string) (*client, error) {
	config.UserAgent = userAgent
	// No throttle of our own: there is one watch, and it backs off.
	config.QPS, config.Burst, config.RateLimiter = -1, 0, nil
	config.Timeout = 0 // it would end the watch; requests have bounds of their own
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	version := corev1.SchemeGroupVersion
	config.APIPath, config.GroupVersion = "/api", &version
	connections := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive()}).DialContext)
	config.Dial = connections.DialContext
	witness := &witness{}
	witness.secrets.Add(config.BearerToken, config.Password)
	config.Wrap(witness.wrap)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &corev1.Node{}, &corev1.NodeList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	made, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	httpClient := &http.Client{Transport: made.Transport, CheckRedirect: refuseRedirect}
	kubeapi.Impatient(config, httpClient)
	restClient, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return &client{
		rest: restClient, codec: runtime.NewParameterCodec(scheme),
		http: httpClient, connections: connections, witness: witness,
	}, nil
}

// refuseRedirect keeps credentials from being carried to somebody else.
func refuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("the API server redirects, which is not followed; correct the server in SECURED_KUBECONFIG")
}

func (c *client) list(ctx context.Context, options metav1.ListOptions) (*corev1.NodeList, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	list := &corev1.NodeList{}
	err := c.rest.Get().Resource("nodes").VersionedParams(&options, c.codec).MaxRetries(0).Do(ctx).Into(list)
	if err != nil {
		return nil, err
	}
	if list.ResourceVersion == "" {
		return nil, errors.New("the answer to the list of nodes is no list: it has no resourceVersion")
	}
	return list, nil
}

// watch returns when the server has begun to answer. client-go passes off a
// connection that timed out or ended as a watch that is over already; it is an
// error here, for a stream that was never open proves nothing.
func (c *client) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	events, err := c.rest.Get().Resource("nodes").VersionedParams(&options, c.codec).MaxRetries(0).Watch(ctx)
	if err == nil && reflect.TypeOf(events) == reflect.TypeOf(watch.NewEmptyWatch()) {
		return nil, c.witness.cause()
	}
	return events, err
}

// close ends every connection.
func (c *client) close() {
	c.http.CloseIdleConnections()
	c.connections.CloseAll()
}
