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
	elector, err := lease.New(lease.Options{Way: kube.Fixed(config), Namespace: "default", Name: c.name, Identity: name})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	go func() {
		defer close(p.done)
		p.err = elector.Run(ctx, func(ctx context.Context) error {
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
