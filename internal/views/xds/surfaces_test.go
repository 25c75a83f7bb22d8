package xds_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// sent finds what a stream was sent of one type.
func sent(s *server, node, kind string) xds.SentResources {
	for _, stream := range s.Streams() {
		for _, one := range stream.Sent {
			if stream.Node == node && one.Type == kind {
				return one
			}
		}
	}
	return xds.SentResources{}
}

func TestContract70ARejectionIsToldInTheClientsOwnWordsAndAnAcknowledgementWithItsTime(t *testing.T) {
	log := &lines{}
	s := start(t, twoServices(t), func(o *xds.Options) { o.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(clusters)
	p.next()
	until(t, "the acknowledgement is known", func() bool {
		all := sent(s, "a", "CDS").Resources
		return len(all) == 2 && all[0].AcknowledgedAt != nil && all[1].AcknowledgedAt != nil
	})
	p.ask(endpoints, "web.shop:80")
	p.reject(p.take(), "malformed:\nno such zone")
	until(t, "the rejection is counted", func() bool { return s.Stats().Rejecting == 1 })
	one := sent(s, "a", "EDS")
	if one.Rejected == nil || one.Rejected.Text != "malformed: no such zone" || !slices.Equal(one.Rejected.Resources, []string{"web.shop:80"}) || one.Resources[0].AcknowledgedAt != nil {
		t.Errorf("got %+v", one)
	}
	until(t, "the log has a line of the rejection", func() bool {
		text := log.String()
		return strings.Contains(text, `"client":"shop/edge"`) && strings.Contains(text, "no such zone")
	})
}

func TestContract70ARejectionEndsWhenWhatWasRejectedIsAcknowledged(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(endpoints, "web.shop:80")
	p.reject(p.take(), "no")
	until(t, "the rejection is counted", func() bool { return s.Stats().Rejecting == 1 })
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.9")...)
	p.next()
	until(t, "nothing is rejected any more", func() bool { return s.Stats().Rejecting == 0 })
	if err := p.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	until(t, "the stream is forgotten", func() bool { return s.Stats().Streams[xds.Envoy] == 0 && len(s.Streams()) == 0 })
}

func TestContract68AProxyThatSaysNothingDelaysNoOther(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	silent, p := connect(t, s, "a", "shop/edge", nil), connect(t, s, "b", "shop/edge", nil)
	silent.ask(endpoints, "web.shop:80")
	silent.take()
	p.ask(endpoints, "web.shop:80")
	p.next()
	for _, address := range []string{"10.0.0.5", "10.0.0.6", "10.0.0.7"} {
		c.slice("shop", "web-1", "web", "http", 8080, ready(address)...)
		p.next()
		if got := p.addresses(); !slices.Equal(got, []string{address + "/HEALTHY"}) {
			t.Fatalf("got %v", got)
		}
	}
}

func TestContract68StreamsAndNamesAreBounded(t *testing.T) {
	s := start(t, twoServices(t), func(o *xds.Options) { o.MostClients = 2 })
	for range 2 {
		p := connect(t, s, "a", "shop/edge", nil)
		p.ask(clusters)
		p.next()
	}
	third := connect(t, s, "a", "shop/edge", nil)
	third.ask(clusters)
	if err := third.ends(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "XDS_MAX_CLIENTS") {
		t.Errorf("got %v", err)
	}
}

func TestContract68AStreamCannotAskForAnyNumberOfResources(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	names := make([]string, 60_000)
	for i := range names {
		names[i] = strings.Repeat("n", 1+i%50)
	}
	p.ask(endpoints, names...)
	if err := p.ends(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("got %v", err)
	}
}

// TestContract68AProxyThatReadsNothingDelaysNoOther: what waits for a client that takes
// nothing is bounded, and holds up nobody.
func TestContract68AProxyThatReadsNothingDelaysNoOther(t *testing.T) {
	c := twoServices(t)
	var many []endpoint
	for i := range 4000 {
		many = append(many, ready(fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))...)
	}
	c.slice("shop", "web-1", "web", "http", 8080, many...)
	s := start(t, c, nil)
	connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	mute, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Each pair of requests asks for 100 kB once more.
	for range 100 {
		for _, request := range []*discoveryv3.DeltaDiscoveryRequest{{ResourceNamesSubscribe: []string{"web.shop:80"}}, {ResourceNamesUnsubscribe: []string{"web.shop:80"}}} {
			request.Node, request.TypeUrl = &corev3.Node{Id: "mute", Cluster: "shop/edge"}, endpoints.TypeURL()
			if err := mute.Send(request); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(endpoints, "web.shop:80")
	p.next()
	for _, address := range []string{"10.0.0.5", "10.0.0.6", "10.0.0.7"} {
		c.slice("shop", "web-1", "web", "http", 8080, ready(address)...)
		p.next()
		if got := p.addresses(); !slices.Equal(got, []string{address + "/HEALTHY"}) {
			t.Fatalf("got %v", got)
		}
	}
}
