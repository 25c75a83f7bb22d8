package xds_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// said is a log that can be read while it is written.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

func (s *said) logged(o *xds.Options) { o.Logger = slog.New(slog.NewTextHandler(s, nil)) }

// object says that a fleet leads a port to the Service web.
func object(port uint16) xds.Object {
	l := envoyconfig.Listener{Address: netip.IPv4Unspecified(), Port: port, Protocol: v1alpha1.ListenerHTTP}
	l.Service.Namespace, l.Service.Name = "shop", "web"
	return xds.Object{Traffic: envoyconfig.Traffic{Listeners: []envoyconfig.Listener{l}}}
}

// objects makes the server use these.
func objects(all map[string]xds.Object) (*xds.Fleets, func(*xds.Options)) {
	f := xds.NewFleets()
	f.Replace(all)
	return f, func(o *xds.Options) { o.Fleets = f }
}

func TestContract93AFleetThatIsMissingKeepsItsListeners(t *testing.T) {
	f, with := objects(map[string]xds.Object{"shop/edge": object(8080)})
	log := &said{}
	s := start(t, twoServices(t), func(o *xds.Options) { with(o); log.logged(o) })
	p := listening(t, s, "a")
	f.Replace(nil)
	until(t, "it is told", func() bool { return log.has("a fleet is missing") && log.has("shop/edge") })
	p.quiet("the definition of the kind was deleted, or a list was empty")
	if got := s.Streams()[0].Fleet; got == nil || !got.Kept {
		t.Errorf("got %+v, want that the fleet is kept", got)
	}
	fresh := listening(t, s, "b")
	if got := fresh.names(listeners); !slices.Equal(got, []string{"port-8080"}) {
		t.Errorf("a new proxy of the fleet gets %v", got)
	}
	f.Replace(map[string]xds.Object{"shop/edge": {}})
	p.next()
	if got := p.names(listeners); len(got) > 0 {
		t.Errorf("a fleet with an empty list has %v", got)
	}
	until(t, "it is told", func() bool { return log.has("is back") })
}

func TestContract93AFleetThatIsMissingInTheFileKeepsItsListeners(t *testing.T) {
	path, withFleets := fleets(t, webListener)
	log := &said{}
	p := listening(t, start(t, twoServices(t), func(o *xds.Options) { withFleets(o); log.logged(o) }), "a")
	write(t, path, "fleets: []")
	until(t, "it is told", func() bool { return log.has("a fleet is missing") })
	p.quiet("the file was emptied")
	write(t, path, "fleets: [{name: shop/edge, listeners: []}]")
	p.next()
	if got := p.names(listeners); len(got) > 0 {
		t.Errorf("a fleet with an empty list has %v", got)
	}
}

func TestContract93AReplicaThatDoesNotKnowAFleetTakesNoListenerAway(t *testing.T) {
	f, with := objects(map[string]xds.Object{"blog/edge": object(8081)})
	s := start(t, twoServices(t), with)
	p := connect(t, s, "a", "shop/edge", nil)
	p.has[listeners]["port-8080"], p.raw[listeners]["port-8080"] = "of another replica", nil
	p.ask(clusters)
	p.next()
	p.ask(listeners)
	if answer := p.next(); len(answer.GetRemovedResources()) > 0 {
		t.Fatalf("the listeners %v are gone", answer.GetRemovedResources())
	}
	f.Replace(map[string]xds.Object{"shop/edge": object(8082)})
	until(t, "the fleet says which listeners it has", func() bool {
		p.next()
		return slices.Equal(p.names(listeners), []string{"port-8082"})
	})
}

func TestContract93AMistakeInAnObjectKeepsItsLastGoodVersion(t *testing.T) {
	f, with := objects(map[string]xds.Object{"shop/edge": object(8080)})
	s := start(t, twoServices(t), with)
	p := listening(t, s, "a")
	f.Replace(map[string]xds.Object{"shop/edge": {Problem: errors.New("listener has no port")}})
	p.quiet("the object has a mistake")
	if got := s.Streams()[0].Fleet; got == nil || got.Carrier != xds.InObject || got.Problem != "listener has no port" {
		t.Errorf("got %+v, want the mistake", got)
	}
}

func TestContract93OfAFileAndAnObjectTheFileCounts(t *testing.T) {
	_, withFile := fleets(t, webListener)
	s := start(t, twoServices(t), func(o *xds.Options) {
		withFile(o)
		o.Fleets.Replace(map[string]xds.Object{"shop/edge": object(8090)})
	})
	p := listening(t, s, "a")
	if got := p.names(listeners); !slices.Equal(got, []string{"port-8080"}) {
		t.Errorf("got %v", got)
	}
	if got := s.Streams()[0].Fleet; got == nil || got.Carrier != xds.InFile {
		t.Errorf("got %+v", got)
	}
}

func TestContract93TheServerDoesNotListenBeforeObjectsAreKnown(t *testing.T) {
	f := xds.NewFleets()
	f.Await()
	told := make(chan struct{})
	begin(t, twoServices(t), func(o *xds.Options) { o.Fleets, o.Listening = f, func(net.Addr) { close(told) } })
	select {
	case <-told:
		t.Fatal("the server listens, and a proxy would get no listeners")
	case <-time.After(200 * time.Millisecond):
	}
	f.Replace(nil)
	select {
	case <-told:
	case <-time.After(waitLimit):
		t.Fatal("the server does not listen")
	}
}

func TestContract94AFleetLeadsToServicesOfOthersOnlyWhereTheseNameIt(t *testing.T) {
	stolen := object(8080)
	stolen.Traffic.Listeners[0].Service.Namespace = "blog"
	stolen.Traffic.Listeners[0].Routes = []envoyconfig.Route{{Prefix: "/x", Service: stolen.Traffic.Listeners[0].Service}}
	_, with := objects(map[string]xds.Object{"shop/edge": stolen})
	c := twoServices(t)
	c.service("blog", "web", port("http", 80))
	p := connect(t, start(t, c, with), "a", "shop/edge", nil)
	p.ask(clusters)
	p.next()
	if got := p.names(clusters); len(got) > 0 {
		t.Errorf("a fleet of shop gets %v", got)
	}
	c.serviceOf(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "web", Annotations: map[string]string{join.FleetsAnnotation: "shop/edge"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{port("http", 80)}},
	})
	p.next()
	if got := p.names(clusters); !slices.Equal(got, []string{"web.blog:80"}) {
		t.Errorf("got %v of a Service that names the fleet", got)
	}
}

// TestContract144FleetsThatAreGoneAreForgotten: 100 of them are remembered, for ten minutes.
func TestContract144FleetsThatAreGoneAreForgotten(t *testing.T) {
	kept := func(f *xds.Fleets) (count int) {
		for i := range 300 {
			if f.Definition(fmt.Sprint("shop/edge-", i)).Kept {
				count++
			}
		}
		return count
	}
	bubble.Test(t, func(t *testing.T) {
		f := xds.NewFleets()
		for i := range 300 {
			time.Sleep(time.Millisecond)
			f.Replace(map[string]xds.Object{fmt.Sprint("shop/edge-", i): object(8080)})
		}
		f.Replace(nil)
		if got := kept(f); got != 100 {
			t.Errorf("%d fleets that are gone are remembered, want 100", got)
		}
		time.Sleep(11 * time.Minute)
		f.Replace(nil)
		if got := kept(f); got != 0 {
			t.Errorf("%d fleets are remembered after 11 min", got)
		}
	})
}

// TestContract144FleetsThatAreGoneTakeBoundedRoom: 20 that say 1.3 MB each.
func TestContract144FleetsThatAreGoneTakeBoundedRoom(t *testing.T) {
	long := object(8080)
	long.Traffic.Listeners[0].Routes = make([]envoyconfig.Route, 5000)
	all := make(map[string]xds.Object)
	for i := range 20 {
		all[fmt.Sprint("shop/edge-", i)] = long
	}
	f := xds.NewFleets()
	f.Replace(all)
	f.Replace(nil)
	kept := 0
	for name := range all {
		if f.Definition(name).Kept {
			kept++
		}
	}
	if kept != 13 {
		t.Errorf("%d fleets that are gone are remembered, want 13 with 16 MiB", kept)
	}
}

// TestContract144AnotherFleetOfAnOldNameHasNoneOfItsListeners: it begins with a mistake.
func TestContract144AnotherFleetOfAnOldNameHasNoneOfItsListeners(t *testing.T) {
	f, with := objects(map[string]xds.Object{"shop/edge": object(8080)})
	f.Replace(nil)
	f.Replace(map[string]xds.Object{"shop/edge": {Problem: errors.New("no port")}})
	s := start(t, twoServices(t), with)
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(listeners)
	p.next()
	if got := p.names(listeners); len(got) > 0 {
		t.Errorf("got %v of the fleet that was deleted", got)
	}
}
