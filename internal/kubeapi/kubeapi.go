package kubeapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

const (
	// dialTimeout is short, so that a server which comes back after its host
	// was away is not waited for in a connection attempt of the time before.
	dialTimeout = 5 * time.Second
	keepAlive   = 15 * time.Second
)

// Options are what New needs.
type Options struct {
	// UserAgent tells the server's logs who asks.
	UserAgent string
	// Version is the group and version of the API.
	Version schema.GroupVersion
	// Types are the objects and lists of that version which are sent and
	// received.
	Types []runtime.Object
	// Timeout bounds every request, watches too; 0 leaves that to the contexts.
	Timeout time.Duration
}

// Client sends requests for the resources of one version of one API group. It
// is a rest.Interface whose requests are never repeated.
type Client struct {
	rest.Interface
	// Codec encodes the parameters of requests (VersionedParams).
	Codec runtime.ParameterCodec

	http        *http.Client
	connections *connrotation.Dialer
}

// New makes a client. It does not connect.
func New(config *rest.Config, options Options) (*Client, error) {
	if config == nil {
		return nil, errors.New("client of the API server: a way to the server is needed (Config)")
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(options.Version, options.Types...)
	metav1.AddToGroupVersion(scheme, options.Version)
	config, connections := own(config, options)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", ErrUnusable)
	}
	Impatient(config, httpClient)
	client, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", ErrUnusable)
	}
	return &Client{Interface: once{client}, Codec: runtime.NewParameterCodec(scheme), http: httpClient, connections: connections}, nil
}

// own returns a copy of the configuration for this client alone. The dialer
// makes client-go's cache of transports, and with it the connections, ours.
func own(config *rest.Config, options Options) (*rest.Config, *connrotation.Dialer) {
	config = rest.CopyConfig(config)
	config.UserAgent = options.UserAgent
	config.APIPath = "/apis"
	if options.Version.Group == "" {
		config.APIPath = "/api"
	}
	config.GroupVersion = &options.Version
	// The server has its own throttle (priority and fairness).
	config.QPS, config.Burst, config.RateLimiter = -1, 0, nil
	config.Timeout = options.Timeout
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}).DialContext
	}
	connections := connrotation.NewDialer(dial)
	config.Dial = connections.DialContext
	return config, connections
}

// Reconnect ends every connection: the next request makes a new one. It is for
// who has reason to believe that nothing answers on the old ones any more.
func (c *Client) Reconnect() { c.connections.CloseAll() }

// Close ends every connection.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.connections.CloseAll()
}

// once is a REST client that sends each request one time. client-go's own would
// send it up to ten times more when the server says that it is busy.
type once struct{ rest.Interface }

func (o once) Verb(verb string) *rest.Request { return o.Interface.Verb(verb).MaxRetries(0) }

func (o once) Post() *rest.Request { return o.Interface.Post().MaxRetries(0) }

func (o once) Put() *rest.Request { return o.Interface.Put().MaxRetries(0) }

func (o once) Patch(kind types.PatchType) *rest.Request { return o.Interface.Patch(kind).MaxRetries(0) }

func (o once) Get() *rest.Request { return o.Interface.Get().MaxRetries(0) }

func (o once) Delete() *rest.Request { return o.Interface.Delete().MaxRetries(0) }
