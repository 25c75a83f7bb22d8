package kubeapi

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

const (
	// dialTimeout is short, so that a server which comes back after its host was
	// away is not waited for in a connection attempt of the time before. It leaves
	// room for two lost packets.
	dialTimeout = 3500 * time.Millisecond
	// recheck is how long a client is used without a look at the files of its
	// access.
	recheck = 5 * time.Second
)

// keepAlive finds a connection whose other end is gone within seven seconds,
// without a request and without waking the API server. HTTP/2's own pings, which
// client-go sends after half a minute, find a server that hangs.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 4}
}

// Options are what New needs.
type Options struct {
	Way Way
	// UserAgent is what the server's audit log calls us; the name of the program by
	// default.
	UserAgent string
	// Timeout bounds every request, and the opening of a watch, within the caller's
	// own deadline; 10 s by default.
	Timeout time.Duration
}

// Client sends requests to one API server. Its methods may be called at the same
// time.
type Client struct {
	options     Options
	scheme      *runtime.Scheme
	codec       runtime.ParameterCodec
	secrets     redact.Secrets
	connections *connections

	mu      sync.Mutex
	link    *link
	checked time.Time // when the files were last compared
}

// link is a client-go client, made of the access as it was.
type link struct {
	files    Files
	expiry   Expiry
	http     *http.Client
	versions map[schema.GroupVersion]rest.Interface
}

// New makes a client. It reads no file and does not connect.
func New(options Options) (*Client, error) {
	if options.Way == nil {
		return nil, errors.New("client of the API server: a way to the server is needed")
	}
	if options.UserAgent == "" {
		options.UserAgent = "ionos-endpointslice-controller"
	}
	if options.Timeout <= 0 {
		options.Timeout = 10 * time.Second
	}
	scheme := newScheme()
	return &Client{
		options: options, scheme: scheme, codec: runtime.NewParameterCodec(scheme), connections: newConnections(),
	}, nil
}

// Refresh reads the access if its files have changed, or were not read yet. Where
// that fails the client goes on with the access that it has.
func (c *Client) Refresh() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refresh()
}

func (c *Client) refresh() error {
	c.checked = time.Now()
	if c.link != nil && !c.link.files.Changed() {
		return nil
	}
	config, files, err := c.options.Way.Snapshot()
	if err != nil {
		return err
	}
	expiry := ExpiryOf(config)
	link, err := c.connect(config)
	if err != nil {
		return c.options.Way.Unusable()
	}
	if c.link != nil {
		c.link.http.CloseIdleConnections()
	}
	link.files, link.expiry, c.link = files, expiry, link
	return nil
}

// Expiry returns when the credential in use ends. It is not known before the access
// was read.
func (c *Client) Expiry() Expiry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil {
		return Expiry{}
	}
	return c.link.expiry
}

// Rotated reports whether the files hold another access than the one in use, and a
// usable one: a file that is just being written is none.
func (c *Client) Rotated() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link == nil || !c.link.files.Changed() {
		return false
	}
	_, _, err := c.options.Way.Snapshot()
	return err == nil
}

// current returns the link to use for a request.
func (c *Client) current() (*link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil && time.Since(c.checked) < recheck {
		return c.link, nil
	}
	if err := c.refresh(); err != nil && c.link == nil {
		return nil, err
	}
	return c.link, nil
}

// Reconnect ends every connection: the next request makes a new one. It is for who
// has reason to believe that nothing answers on the old ones any more.
func (c *Client) Reconnect() {
	c.mu.Lock()
	link := c.link
	c.mu.Unlock()
	if link != nil {
		link.http.CloseIdleConnections()
	}
	c.connections.closeAll()
}

// LocalAddr returns the address from which this machine reaches the server: that of
// the Pod inside of one. It is the zero value while there is no connection.
func (c *Client) LocalAddr() netip.Addr { return c.connections.localAddr() }

// Close ends every connection.
func (c *Client) Close() { c.Reconnect() }

// connect makes the clients of all versions; it owns the configuration. The dialer
// makes client-go's cache of transports, and with it the connections, ours.
func (c *Client) connect(config *rest.Config) (*link, error) {
	config.UserAgent = c.options.UserAgent
	// No throttle of our own: a write that takes a dead backend away must not queue
	// behind a bucket. The server has its own (priority and fairness).
	config.QPS, config.Burst, config.RateLimiter = -1, 0, nil
	config.Timeout = 0 // it would end the watches; each request is bounded
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	config.NegotiatedSerializer = serializer.NewCodecFactory(c.scheme).WithoutConversion()
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: keepAlive()}).DialContext
	}
	config.Dial = c.connections.through(dial)
	c.secrets.Add(config.BearerToken, config.Password)
	config.Wrap(c.observe)
	made, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	l := &link{http: &http.Client{Transport: made.Transport, CheckRedirect: refuseRedirect}, versions: map[schema.GroupVersion]rest.Interface{}}
	bound(config, l.http)
	for version := range types() {
		one := rest.CopyConfig(config)
		one.APIPath, one.GroupVersion = "/apis", &version
		if version.Group == "" {
			one.APIPath = "/api"
		}
		if l.versions[version], err = rest.RESTClientForConfigAndClient(one, l.http); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// refuseRedirect keeps credentials from being carried to somebody else.
func refuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("the API server redirects, which is not followed; correct the server in the kubeconfig")
}
