package ionos_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// newCloudTLS is newCloud over HTTP/2, with options that trust its certificate.
func newCloudTLS(t testing.TB) (*cloud, func(*ionos.Options)) {
	t.Helper()
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	server := ionostest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("got a request by %s, want HTTP/2", r.Proto)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		api.Heal()
		server.CloseClientConnections()
		server.Close()
	})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &cloud{API: api, url: server.URL, server: server}, func(o *ionos.Options) {
		counting := o.Wrap
		o.Wrap = func(inner http.RoundTripper) http.RoundTripper {
			inner.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12} //nolint:forcetypeassert // the innermost transport
			return counting(inner)
		}
	}
}

// proxy passes connections on to a server. Those that are open can go silent, as
// behind a firewall that lost its state: nothing arrives and nothing ends.
type proxy struct {
	listener net.Listener
	target   string
	opened   atomic.Int64
	running  sync.WaitGroup

	mu    sync.Mutex
	ends  []net.Conn
	mutes []*atomic.Bool
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	p.running.Go(p.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		p.mu.Lock()
		for _, end := range p.ends {
			_ = end.Close()
		}
		p.mu.Unlock()
		p.running.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.opened.Add(1)
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		mute := new(atomic.Bool)
		p.mu.Lock()
		p.ends, p.mutes = append(p.ends, client, server), append(p.mutes, mute)
		p.mu.Unlock()
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			p.running.Go(func() {
				_, _ = io.Copy(mutedConn{way[1], mute}, way[0]) // it ends with the connection
				if !mute.Load() {
					_ = way[1].Close()
				}
			})
		}
	}
}

// silence makes every connection that is open now swallow what is sent.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, mute := range p.mutes {
		mute.Store(true)
	}
}

// mutedConn drops what is written once the test sets it.
type mutedConn struct {
	net.Conn
	mute *atomic.Bool
}

func (m mutedConn) Write(data []byte) (int, error) {
	if m.mute.Load() {
		return len(data), nil
	}
	return m.Conn.Write(data)
}

// A connection goes silent. The source must reach the API again as soon as the pings
// of HTTP/2 notice it, also with short reads.
func TestReadsRecoverWhenOpenConnectionsGoSilent(t *testing.T) {
	t.Parallel()
	c, trust := newCloudTLS(t)
	c.Populate(3)
	between := newProxy(t, c.server.Listener.Addr().String())
	source := c.source(t, nil, func(o *ionos.Options) { o.APIURL = "https://" + between.listener.Addr().String() }, trust)
	want := briefs(read(t, source))
	between.silence()
	const bound = time.Minute
	for start, failed := time.Now(), 0; ; failed++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		nodes, err := source.Read(ctx)
		cancel()
		took := time.Since(start)
		if err == nil {
			if d := cmp.Diff(want, briefs(nodes)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			t.Logf("recovered after %v and %d failed reads", took.Round(time.Millisecond), failed)
			break
		}
		if took > bound {
			t.Fatalf("%d reads failed within %v, and %d connections were opened: %v", failed+1, took, between.opened.Load(), err)
		}
	}
	if got := between.opened.Load(); got != 2 {
		t.Errorf("got %d connections, want 2", got)
	}
}

// The faults of the API look different by HTTP/2; what comes of them does not.
func TestContract02EveryMisbehaviourByHTTP2IsAnErrorOrTheWholeList(t *testing.T) {
	c, trust := newCloudTLS(t)
	c.Populate(12)
	source := c.source(t, nil, trust)
	whole := briefs(read(t, source))
	for _, kind := range ionostest.Kinds() {
		if slices.Contains([]ionostest.Kind{ionostest.SecondPage, ionostest.IPsNull, ionostest.IPsEmpty}, kind) {
			continue // no fault of this answer, or one that leaves no address
		}
		c.Break(ionostest.Fault{Kind: kind, On: "/lans/2/nics"})
		if faults()[kind] != "" {
			_ = readFault(t, source, kind)
		} else if d := cmp.Diff(whole, briefs(read(t, source))); d != "" {
			t.Errorf("%s (-want +got):\n%s", kind, d)
		}
		c.Heal()
		if d := cmp.Diff(whole, briefs(read(t, source))); d != "" {
			t.Errorf("after %s (-want +got):\n%s", kind, d)
		}
	}
}
