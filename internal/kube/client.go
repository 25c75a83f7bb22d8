package kube

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// dialTimeout is short, so that a server which comes back after its host was
	// away is not waited for in a connection attempt of the time before. It leaves
	// room for two lost packets.
	dialTimeout = 3500 * time.Millisecond
	// recheck is how long a client is used without a look at the files of its
	// access.
	recheck = 5 * time.Second
	// fileTimeout is how long a look at the files is waited for, and fileWait how long
	// by a request that has an access already: their file system may hang.
	fileTimeout = 3 * time.Second
	fileWait    = 200 * time.Millisecond
)

// Options are what New needs.
type Options struct {
	Way Way
	// UserAgent is what the server's audit log calls us; the name of the program by
	// default.
	UserAgent string
	// Timeout bounds every request, and the opening of a watch, within the caller's
	// own deadline; 10 s by default.
	Timeout time.Duration
	// Annotations, if set, returns how many bytes of the value of an annotation are read, 0 of
	// one that is not. Before is how many of the Service are read before it. Of a Service in a
	// list or a watch no more is decoded. The name changes after the call.
	Annotations func(name []byte, before int) int
}

// Client sends requests to one API server. Its methods may be called at the same
// time.
type Client struct {
	options     Options
	codec       runtime.ParameterCodec
	secrets     transport.Secrets
	connections *connections
	// held is how much memory the process had when it was last given back.
	held atomic.Uint64

	mu      sync.Mutex
	link    *link     // of generation 0 before the access was read
	look    *look     // at the files, nil while there is none
	checked time.Time // when the last one began
	paces   map[string]*pace
}

// link is a client-go client, made of the access as it was.
type link struct {
	changed    func() bool // whether the access is another one now
	generation int
	expiry     Expiry
	// Watches have connections of their own, so that they wait for no request: a
	// connection of HTTP/2 carries a bounded number of requests at a time.
	requests, watches lane
}

// lane is a set of connections, and a client for each version that uses them.
type lane struct {
	http     *http.Client
	versions map[schema.GroupVersion]rest.Interface
}

// closeIdle closes the connections that carry nothing.
func (l *link) closeIdle() {
	l.requests.http.CloseIdleConnections()
	l.watches.http.CloseIdleConnections()
}

// look is one look at the files of the access.
type look struct {
	done chan struct{} // closed when err is known
	err  error
}

// New makes a client. It reads no file and does not connect.
func New(options Options) (*Client, error) {
	if options.Way == nil {
		return nil, errors.New("client of the API server: a way to the server is needed")
	}
	options.UserAgent, options.Timeout = cmp.Or(options.UserAgent, "ionos-endpointslice-controller"), cmp.Or(options.Timeout, 10*time.Second)
	return &Client{
		options: options, codec: runtime.NewParameterCodec(scheme()), connections: newConnections(),
		link: &link{requests: lane{http: &http.Client{Transport: &http.Transport{}}}, watches: lane{http: &http.Client{Transport: &http.Transport{}}}},
	}, nil
}

// Open makes a client and reads its access, so that one that cannot be used is told at
// once.
func Open(options Options) (*Client, error) {
	c, err := New(options)
	if err == nil {
		err = c.Refresh()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Refresh reads the access if its files have changed, or were not read yet. Where
// that fails the client goes on with the access that it has, and so it does, without
// an error, while their file system hangs.
func (c *Client) Refresh() error {
	err := c.refresh(fileTimeout)
	if errors.Is(err, errHangs) && c.Generation() > 0 {
		return nil
	}
	return err
}

var errHangs = errors.New("the file, or one that it names, was not read in time; its file system may hang")

// refresh waits so long for the look at the files that is under way, or for a new one.
// Nothing ends a look while the file system hangs, so it holds no lock.
func (c *Client) refresh(wait time.Duration) error {
	c.mu.Lock()
	l, used := c.look, c.link
	if l == nil {
		l = &look{done: make(chan struct{})}
		c.look, c.checked = l, time.Now()
		go func() {
			defer close(l.done)
			link, err := c.newest(used)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.link, c.look, l.err = link, nil, err
		}()
	}
	c.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	case <-time.After(wait):
		return c.options.Way.Describe(errHangs)
	}
}

// newest returns the link that was used, or one of what the files hold now.
func (c *Client) newest(used *link) (*link, error) {
	if used.generation > 0 && !used.changed() {
		return used, nil
	}
	config, changed, err := c.options.Way.Snapshot()
	if err != nil {
		return used, err
	}
	expiry := ExpiryOf(config)
	link, err := c.connect(config)
	if err != nil {
		return used, c.options.Way.Describe(ErrUnusable)
	}
	link.changed, link.expiry, link.generation = changed, expiry, used.generation+1
	used.closeIdle()
	return link, nil
}

// Expiry returns when the credential in use ends. It is not known before the access
// was read.
func (c *Client) Expiry() Expiry { return c.inUse().expiry }

// Generation is another number with each access that was read, 0 before the first.
func (c *Client) Generation() int { return c.inUse().generation }

func (c *Client) inUse() *link {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link
}

// current returns the link to use for a request. Only the request that begins a look
// waits for it, unless there is no link yet.
func (c *Client) current() (*link, error) {
	c.mu.Lock()
	link, due := c.link, c.look == nil && time.Since(c.checked) >= recheck
	c.mu.Unlock()
	wait := fileWait
	switch {
	case link.generation == 0:
		wait = fileTimeout
	case !due:
		return link, nil
	}
	err := c.refresh(wait)
	if link = c.inUse(); link.generation == 0 {
		return nil, err
	}
	return link, nil
}

// Reconnect ends every connection: the next request makes a new one. It is for
// callers that know that the old ones no longer work.
func (c *Client) Reconnect() {
	c.inUse().closeIdle()
	c.connections.closeIf(func(*connection) bool { return true })
}

// LocalAddr returns the address from which this machine reaches the server: that of
// the Pod inside of one. It is the zero value while there is no connection.
func (c *Client) LocalAddr() netip.Addr { return c.connections.localAddr() }

// Close ends every connection.
func (c *Client) Close() { c.Reconnect() }

// connect makes the lanes; it owns the configuration. The dialer makes client-go's
// cache of transports, and with it the connections, ours.
func (c *Client) connect(config *rest.Config) (*link, error) {
	config.UserAgent = c.options.UserAgent
	// No throttle of our own: a write that removes a dead endpoint must not queue
	// behind a bucket. The server has its own (priority and fairness).
	config.QPS, config.Burst, config.RateLimiter = -1, 0, nil
	config.Timeout = 0 // it would end the watches; each request is bounded
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.ContentType = runtime.ContentTypeProtobuf
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme()).WithoutConversion()
	dial := config.Dial
	if dial == nil {
		// The kernel finds a connection whose other end is gone within seven seconds, without a
		// request and without waking the API server. HTTP/2's own pings, which client-go sends
		// after half a minute, find a server that hangs.
		alive := net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 4}
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: alive}).DialContext
	}
	config.Dial = c.connections.through(dial)
	if config.Proxy == nil {
		// Otherwise client-go asks the environment itself, and shows what it finds. With
		// it set, client-go keeps no client of an old token for ever.
		config.Proxy = transport.ProxyFromEnvironment
	}
	observe(config, &c.secrets)
	l := &link{}
	var err error
	if l.requests, err = newLane(config); err == nil {
		l.watches, err = newLane(config)
	}
	return l, err
}

// newLane makes the clients of all versions on connections of their own.
func newLane(config *rest.Config) (lane, error) {
	made, err := rest.HTTPClientFor(config)
	if err != nil {
		return lane{}, err
	}
	receiveLess(made.Transport)
	l := lane{http: &http.Client{Transport: made.Transport}, versions: map[schema.GroupVersion]rest.Interface{}}
	bound(config, l.http)
	for version := range types() {
		one := rest.CopyConfig(config)
		one.APIPath, one.GroupVersion = "/apis", &version
		if version.Group == "" {
			one.APIPath = "/api"
		}
		if l.versions[version], err = rest.RESTClientForConfigAndClient(one, l.http); err != nil {
			return lane{}, err
		}
	}
	return l, nil
}
