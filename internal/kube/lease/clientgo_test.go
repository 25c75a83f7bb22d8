package lease_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// waitTimeout bounds every wait; none is expected to take so long.
const waitTimeout = time.Minute

// contest is one Lease of a real API server that elections of both kinds stand
// for.
type contest struct {
	t      *testing.T
	server *controlplane.ControlPlane
	name   string
	// leaders is how many lead now.
	leaders atomic.Int32
}

// contender is one of them.
type contender struct {
	name  string
	leads chan struct{}
	done  chan struct{}
	// stop asks it to stop in order; cut takes its API server away.
	stop, cut func()
	err       error
	// elector and noted are there for ours only: noted gets what Noted was called with.
	elector *lease.Elector
	noted   chan lease.State
}

// access is a way to the API server that is cut by a function.
func (c *contest) access() (config *rest.Config, cut func()) {
	config = c.server.Config()
	ctx, cancel := context.WithCancel(context.Background())
	config.Dial = func(dialCtx context.Context, network, address string) (net.Conn, error) {
		if ctx.Err() != nil {
			return nil, errors.New("cut")
		}
		conn, err := (&net.Dialer{}).DialContext(dialCtx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}
	c.t.Cleanup(cancel)
	return config, cancel
}

// enter counts a leader until the function it returns is called.
func (c *contest) enter(p *contender) (leave func()) {
	if n := c.leaders.Add(1); n != 1 {
		c.t.Errorf("%s leads as one of %d", p.name, n)
	}
	close(p.leads)
	return func() { c.leaders.Add(-1) }
}

func (c *contest) newContender(name string) *contender {
	return &contender{name: name, leads: make(chan struct{}), done: make(chan struct{})}
}

// ours starts one of our candidates.
func (c *contest) ours(name string) *contender {
	c.t.Helper()
	p := c.newContender(name)
	var config *rest.Config
	config, p.cut = c.access()
	var err error
	p.noted = make(chan lease.State, 100)
	p.elector, err = lease.New(lease.Options{
		Way: kube.Fixed(config), Namespace: "default", Name: c.name, Identity: name,
		Noted: func(s lease.State) { p.noted <- s },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.done)
		p.err = p.elector.Run(ctx, func(ctx context.Context) error {
			defer c.enter(p)()
			<-ctx.Done()
			return nil
		})
	}()
	c.t.Cleanup(func() { cancel(); <-p.done })
	return p
}

// theirs starts a candidate of client-go, as its documentation shows.
func (c *contest) theirs(name string) *contender {
	c.t.Helper()
	p := c.newContender(name)
	var config *rest.Config
	config, p.cut = c.access()
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, connection)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	quit, left := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: c.name}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(left)
				defer c.enter(p)()
				select {
				case <-leading.Done():
				case <-quit:
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	// client-go releases the Lease without waiting for its work, so the work is
	// stopped first.
	p.stop = func() {
		close(quit)
		<-left
		cancel()
	}
	go func() {
		defer close(p.done)
		elector.Run(klog.NewContext(ctx, klog.New(nil)))
	}()
	c.t.Cleanup(func() {
		cancel()
		<-p.done
		connection.CloseIdleConnections()
	})
	return p
}

// wait waits for something, at most until the time limit of the test.
func (c *contest) wait(what string, something <-chan struct{}) {
	c.t.Helper()
	select {
	case <-something:
	case <-time.After(waitTimeout):
		c.t.Fatalf("%s: not within %s", what, waitTimeout)
	}
}

// keeps demands that only p leads for longer than a lease lasts.
func (c *contest) keeps(p *contender, other *contender) {
	c.t.Helper()
	select {
	case <-other.leads:
		c.t.Fatalf("%s leads beside %s", other.name, p.name)
	case <-p.done:
		c.t.Fatalf("%s has ended: %v", p.name, p.err)
	case <-time.After(lease.LeaseDuration + lease.RetryPeriod):
	}
}

// Each of the two respects the other's Lease, and takes it over when it was released
// or has expired.
func TestOursAndClientGosExcludeEachOther(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{})
	for name, leave := range map[string]func(*contender){
		"released": func(p *contender) { p.stop() },
		"expired":  func(p *contender) { p.cut() },
	} {
		for _, oursFirst := range []bool{true, false} {
			c := &contest{server: server, name: name + "-by-theirs"}
			if oursFirst {
				c.name = name + "-by-ours"
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.t = t
				first, second := c.theirs, c.ours
				if oursFirst {
					first, second = c.ours, c.theirs
				}
				holder := first("holder")
				c.wait("the holder leads", holder.leads)
				heir := second("heir")
				c.keeps(holder, heir)
				leave(holder)
				c.wait("the heir leads", heir.leads)
				c.wait("the holder ends", holder.done)
				if lost := errors.Is(holder.err, lease.ErrLost); name == "expired" && oursFirst && !lost {
					t.Errorf("got %v, want that ours has lost the lease", holder.err)
				}
				heir.stop()
				c.wait("the heir ends", heir.done)
			})
		}
	}
}

// awaitNote waits until a standby of ours hears of the holder and its note.
func (c *contest) awaitNote(p *contender, holder, note string) lease.State {
	c.t.Helper()
	for limit := time.After(waitTimeout); ; {
		select {
		case s := <-p.noted:
			if s.Holder == holder && s.Note == note {
				return s
			}
		case <-limit:
			c.t.Fatalf("%s does not hear the note %q of %q", p.name, note, holder)
		}
	}
}

// TestContract241NotesAndHandOversBesideAnOldVersion: client-go stands for a version that
// knows neither, and keeps the annotations of others.
func TestContract241NotesAndHandOversBesideAnOldVersion(t *testing.T) {
	c := &contest{t: t, server: controlplane.Start(t, controlplane.Options{}), name: "notes"}
	leases := newReplies(t, c.server, c.name).admin.CoordinationV1().Leases("default")
	annotations := func() map[string]string {
		got, err := leases.Get(t.Context(), c.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Annotations
	}
	one := c.ours("one")
	c.wait("one leads", one.leads)
	two, third := c.ours("two"), c.ours("third")
	c.awaitNote(two, "one", "")
	c.awaitNote(third, "one", "")
	began := time.Now()
	one.elector.Note("question")
	c.awaitNote(two, "one", "question")
	t.Logf("a note is read after %s", time.Since(began))
	began = time.Now()
	one.elector.HandOver("two")
	c.wait("one ends", one.done)
	c.wait("two leads", two.leads)
	t.Logf("the successor leads after %s", time.Since(began))
	if !errors.Is(one.err, lease.ErrHandedOver) {
		t.Errorf("got %v, want that it is handed over", one.err)
	}
	at := two.elector.State().HandedOver
	if at.IsZero() || time.Since(at) > waitTimeout {
		t.Errorf("got handed over at %s, want just now", at)
	}
	c.awaitNote(third, "two", "")
	third.stop()
	c.wait("the third ends", third.done)

	old := c.theirs("old")
	two.elector.Note("left")
	for annotations()[noteAnnotation] == "" {
		time.Sleep(10 * time.Millisecond)
	}
	two.cut()
	c.wait("the old version leads", old.leads)
	heir := c.ours("heir")
	if s := c.awaitNote(heir, "old", ""); annotations()[noteAnnotation] == "" || !s.HandedOver.Equal(at) {
		t.Errorf("got %+v and %v, want that the note of another holder is kept and not heard", s, annotations())
	}
	old.stop()
	c.wait("the heir leads", heir.leads)
	if got := annotations(); got[noteAnnotation] != "" || !heir.elector.State().HandedOver.Equal(at) {
		t.Errorf("got %v and %+v, want no note, and when it was handed over", got, heir.elector.State())
	}
}
