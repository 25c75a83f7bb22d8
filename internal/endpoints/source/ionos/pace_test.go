package ionos_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// watched is a source whose nodes are watched, with an hour between its polls.
func (c *cloud) watched(t testing.TB, reader *givenNodes) *ionos.Source {
	t.Helper()
	return c.source(t, reader, func(o *ionos.Options) { o.PollInterval = time.Hour })
}

func TestAChangeThatNeedsNoAddressCostsNoRequest(t *testing.T) {
	c := newCloud(t)
	c.Populate(3)
	reader := tell(worker(serverID(0), "w0"), worker(serverID(1), "w1"))
	source := c.watched(t, reader)
	read(t, source)
	if got := c.Counts().Requests; got != 2 {
		t.Errorf("got %d requests for the first read, want 2: the LAN and its network cards", got)
	}
	c.Forget()
	leaving, other := worker(serverID(0), "w0"), worker(serverID(9), "other")
	leaving.Leaving, leaving.Ready, other.Worker = true, false, false
	for _, nodes := range [][]inventory.Node{
		{worker(serverID(0), "w0"), worker(serverID(1), "w1")}, // nothing
		{leaving, worker(serverID(1), "w1")},                   // a condition
		{worker(serverID(1), "w1")},                            // one gone
		{worker(serverID(0), "w0"), worker(serverID(1), "w1")}, // and back
		{worker(serverID(1), "w1"), other},                     // one that is no backend
	} {
		reader.set(nodes...)
		for i, got := range read(t, source) {
			if got.Worker && len(got.Addresses) != 1 || got.Leaving != nodes[i].Leaving || got.Ready != nodes[i].Ready {
				t.Errorf("got %+v, want %+v with its address", got, nodes[i])
			}
		}
	}
	if got := c.Counts().Requests; got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
}

func TestWithNothingChangedThereIsOneRequestForEachPoll(t *testing.T) {
	c := newCloud(t)
	c.Populate(1000)
	var nodes []inventory.Node
	for i := range 1000 {
		nodes = append(nodes, worker(serverID(i), "w"))
	}
	source := c.source(t, tell(nodes...), func(o *ionos.Options) { o.PollInterval = 100 * time.Millisecond })
	read(t, source)
	c.Forget()
	const polls = 3
	for range polls {
		<-time.After(100 * time.Millisecond)
		read(t, source)
	}
	if got := c.Counts().Requests; got != polls {
		t.Errorf("got %d requests for %d polls of 1000 servers, want one each", got, polls)
	}
}

// A new node is looked for at once, but not faster than the rate limit allows;
// until then the others keep what they have, and the source says when to ask.
func TestNewNodesAreLookedForAtOnceAndAtTheRateLimitsPace(t *testing.T) {
	c := newCloud(t)
	c.Populate(100)
	reader := tell(worker(serverID(0), "w0"))
	source := c.watched(t, reader)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	read(t, source)
	nodes := []inventory.Node{worker(serverID(0), "w0")}
	start := time.Now()
	c.Forget()
	for i := 1; i < 50; i++ {
		nodes = append(nodes, worker(serverID(i), "w"))
		reader.set(nodes...)
		got := read(t, source)
		if brief(got[0]) != "w0 10.0.0.0" {
			t.Fatalf("got %q for a node of before, want its address", brief(got[0]))
		}
		if len(got[i].Addresses) == 0 && got[i].Detail != "its network card was not looked for yet, to spare the API's rate limit" {
			t.Fatalf("got detail %q of a node that was not looked for", got[i].Detail)
		}
	}
	select {
	case <-source.Changed():
	case <-time.After(time.Minute):
		t.Fatal("no signal that the new nodes may be looked for")
	}
	for _, got := range read(t, source) {
		if len(got.Addresses) != 1 {
			t.Errorf("got %+v after the pause, want an address", got)
		}
	}
	took := time.Since(start)
	if got, most := c.Counts().Requests, 1+int(took/time.Second); got < 1 || got > most {
		t.Errorf("got %d requests in %v, want 1 to %d", got, took, most)
	}
}

func TestAFailedReadIsNotRepeatedFasterThanThePace(t *testing.T) {
	c := newCloud(t)
	c.Populate(2)
	source := c.watched(t, tell(worker(serverID(0), "w0")))
	c.Break(ionostest.Fault{Kind: ionostest.Failed})
	first := readError(t, source)
	asked := c.Counts().Requests
	again := readError(t, source)
	pause := transport.RetryAfterOf(again)
	if pause <= 0 || pause > 2*time.Second {
		t.Errorf("got error %v, want one that says when to ask again", again)
	}
	if !strings.Contains(again.Error(), "the IONOS API answers 500") || !strings.Contains(first.Error(), "the IONOS API answers 500") {
		t.Errorf("got errors %v and %v, want the cause in both", first, again)
	}
	if got := c.Counts().Requests; got != asked {
		t.Errorf("got %d requests, want %d", got, asked)
	}
	c.Heal()
	<-time.After(pause)
	read(t, source)
}

func TestASignalOfTheNodesIsPassedOn(t *testing.T) {
	c := newCloud(t)
	reader := tell()
	source := c.watched(t, reader)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- source.Run(ctx) }()
	reader.changed <- struct{}{}
	select {
	case <-source.Changed():
	case <-time.After(time.Minute):
		t.Error("the signal did not arrive")
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRunRunsWhatTheNodesComeFrom(t *testing.T) {
	c := newCloud(t)
	want := errors.New("no kubeconfig")
	runs := func(run func(context.Context) error) func(*ionos.Options) {
		return func(o *ionos.Options) { o.RunNodes = run }
	}
	fails := runs(func(context.Context) error { return want })
	if err := c.source(t, tell(), fails).Run(t.Context()); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	lasts := runs(func(ctx context.Context) error { <-ctx.Done(); return nil })
	if err := c.source(t, tell(), lasts).Run(ctx); err != nil {
		t.Errorf("got error %v, want none", err)
	}
}

func TestWarningsNameAPublicLANAndForeignSubnets(t *testing.T) {
	c := newCloud(t)
	c.SetPublic(true)
	source := c.source(t, nil, func(o *ionos.Options) {
		o.Subnets = []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("fd00::/8")}
	})
	if got := source.Warnings(); len(got) != 0 {
		t.Errorf("got %q before any read", got)
	}
	read(t, source)
	want := []string{
		"LAN 2 is public; check IONOS_PRIVATE_LAN_ID",
		"LAN 2 has the addresses 10.0.0.0/8, none of which is inside SECURED_SUBNET_CIDR",
	}
	if d := cmp.Diff(want, source.Warnings()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
