//go:build lab

package proxies_test

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// waitLimit bounds every wait; a machine that tests much else is slow.
const waitLimit = time.Minute

// mostConnections is how many connections the proxy accepts at a time.
const mostConnections = 50

// world is a proxy of the fleet shop/edge, what it is told, and where it sends to.
type world struct {
	t        *testing.T
	cache    *cache.Cache
	revision cache.Revision
	// folder has the files of the proxy.
	folder string
	server *xds.Server
	// stop ends the server.
	stop  func()
	envoy *envoy.Envoy
	// bootstrap is what the proxy was started from.
	bootstrap string
}

// newWorld serves a file of fleets, in which FOLDER is the folder.
func newWorld(t *testing.T) *world {
	t.Helper()
	netns.Require(t)
	w := &world{t: t, cache: cache.New(1), folder: t.TempDir(), revision: 1}
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if err := w.cache.Replace(0, kind, nil, w.revision); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// serve sends what the text says, in which FOLDER is the folder of the proxy, and starts
// the proxy.
func (w *world) serve(text string) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "fleets.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "FOLDER", w.folder)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	fleets, err := xds.ReadFleets(path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.start(w.listen(fleets, "127.0.0.1:0"))
}

// listen serves fleets until the test ends, or stop is called.
func (w *world) listen(fleets *xds.Fleets, at string, more ...func(*xds.Options)) netip.AddrPort {
	w.t.Helper()
	listening := make(chan net.Addr, 1)
	options := xds.Options{
		Address: netip.MustParseAddrPort(at), Cache: w.cache, Settings: envoyconfigtest.Defaults(), Fleets: fleets, MostClients: 10, MostOfOne: 10,
		Logger: slog.New(slog.DiscardHandler), Listening: func(at net.Addr) { listening <- at },
	}
	for _, change := range more {
		change(&options)
	}
	var err error
	if w.server, err = xds.New(options); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.server.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	w.stop = func() { cancel(); <-done }
	w.t.Cleanup(w.stop)
	return netip.MustParseAddrPort((<-listening).String())
}

// start runs the proxy until the test ends.
func (w *world) start(server netip.AddrPort, more ...func(*envoyconfig.Bootstrap)) {
	w.t.Helper()
	bootstrap := envoyconfig.Bootstrap{
		Fleet: "shop/edge", Node: "edge-1", Host: server.Addr().String(), Port: server.Port(), Admin: netip.MustParseAddrPort("127.0.0.1:9901"),
		Health: netip.MustParseAddrPort("127.0.0.1:9902"), MaxConnections: mostConnections, MaxHeapBytes: 1 << 30,
	}
	for _, change := range more {
		change(&bootstrap)
	}
	files, err := bootstrap.Files()
	must(w.t, err)
	for name, text := range files {
		must(w.t, os.WriteFile(filepath.Join(w.folder, name), text, 0o600))
	}
	w.run(string(files[envoyconfig.BootstrapFile]))
}

// run runs the proxy with a bootstrap.
func (w *world) run(text string) {
	w.t.Helper()
	if err := envoy.Validate(w.t, text); err != nil {
		w.t.Fatal(err)
	}
	w.bootstrap = text
	w.envoy = envoy.Start(w.t, envoy.Options{Bootstrap: text})
}

// service writes a Service with one port and one endpoint.
func (w *world) service(namespace, name, appProtocol string, annotations map[string]string, endpoint netip.AddrPort) {
	w.revision++
	port := corev1.ServicePort{Name: "port", Port: 80}
	if appProtocol != "" {
		port.AppProtocol = &appProtocol
	}
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{port}}}
	w.cache.Set(0, cache.Services, cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Revision: w.revision, Service: join.ToService(object)})
	w.revision++
	number := int32(endpoint.Port())
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &port.Name, Port: &number}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{endpoint.Addr().String()}}},
	}
	if endpoint.Addr().Is6() {
		slice.AddressType = discoveryv1.AddressTypeIPv6
	}
	w.cache.Set(0, cache.Slices, cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Revision: w.revision, Slice: join.ToSlice(slice)})
}

// wantAllAcknowledged fails where the proxy rejected something or did not answer.
func (w *world) wantAllAcknowledged() {
	w.t.Helper()
	w.until("the proxy acknowledges everything", func() bool {
		streams := w.server.Streams()
		if len(streams) != 1 {
			return false
		}
		for _, sent := range streams[0].Sent {
			if sent.Rejected != nil {
				w.t.Fatalf("%s is rejected: %s", sent.Type, sent.Rejected.Text)
			}
			for _, one := range sent.Resources {
				if one.AcknowledgedAt == nil {
					return false
				}
			}
		}
		return len(streams[0].Sent) == int(envoyconfig.Kinds)
	})
}

// until waits for a condition.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	poll.Until(w.t, waitLimit, holds, func() string { return what + "\n" + w.envoy.Log() })
}
