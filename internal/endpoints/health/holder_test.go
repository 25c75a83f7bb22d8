package health_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// world is a holder over made-up peers in a synctest bubble. Times count from its
// beginning.
type world struct {
	holder *health.Holder
	began  time.Time

	mu       sync.Mutex
	refuses  bool
	peers    map[netip.Addr]net.Conn
	connects map[netip.Addr][]time.Duration
	alarms   []health.Alarm
	open     int
	most     int
}

// holder returns a holder with Connections of its own, which runs until ctx ends.
func holder(ctx context.Context, tb testing.TB, running *sync.WaitGroup, of health.ConnectionsOptions, options health.HolderOptions) *health.Holder {
	tb.Helper()
	hub := health.NewConnections(of)
	h := hub.Holder(options)
	running.Go(func() { hub.Run(ctx) })
	return h
}

// begin holds the first n addresses until the test ends, and waits until it does.
func begin(t *testing.T, n int, change func(*health.ConnectionsOptions, *health.HolderOptions)) *world {
	t.Helper()
	w := &world{began: time.Now(), peers: map[netip.Addr]net.Conn{}, connects: map[netip.Addr][]time.Duration{}}
	options := health.HolderOptions{
		Port: 80, Timeout: time.Second, Interval: 2 * time.Second, MaxAlarmPercent: 50,
		Alarm: func(a health.Alarm) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.alarms = append(w.alarms, a)
		},
	}
	hub := health.ConnectionsOptions{MaxConnections: 1000, Dial: w.dial}
	if change != nil {
		change(&hub, &options)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	w.holder = holder(ctx, t, &running, hub, options)
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if got := w.holder.Stats().Held; got != 0 {
			t.Errorf("got %d connections held after the end, want none", got)
		}
	})
	w.watch(n)
	time.Sleep(time.Second)
	return w
}

func (w *world) watch(n int) {
	var all []netip.Addr
	for i := range n {
		all = append(all, addr(i))
	}
	w.holder.Watch(all)
}

func addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

// countedConn is a connection that is counted while it is open.
type countedConn struct {
	net.Conn
	w    *world
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.w.open--
	})
	return c.Conn.Close()
}

func (w *world) dial(_ context.Context, target netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := target.Addr()
	w.connects[a] = append(w.connects[a], time.Since(w.began))
	if w.refuses {
		return nil, errors.New("refused")
	}
	here, there := net.Pipe()
	w.peers[a] = there
	w.open++
	w.most = max(w.most, w.open)
	return &countedConn{Conn: here, w: w}, nil
}

// peer returns the other end of the newest connection to an address.
func (w *world) peer(i int) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peers[addr(i)]
}

// hangUp has the peers of the first n addresses close their connections.
func (w *world) hangUp(n int) {
	for i := range n {
		_ = w.peer(i).Close()
	}
}

func (w *world) told() []health.Alarm {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.alarms)
}

func (w *world) connectsOf(i int) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.connects[addr(i)])
}

func TestALostConnectionIsAnAlarmWithinMilliseconds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 4, nil)
		if got := w.holder.Stats(); got.Held != 4 || got.Wanted != 4 {
			t.Fatalf("got %+v, want 4 of 4 held", got)
		}
		lost := time.Now()
		w.hangUp(1)
		time.Sleep(20 * time.Millisecond)
		alarms := w.told()
		if len(alarms) != 1 || alarms[0].Address != addr(0) || alarms[0].Kind != health.Closed || !alarms[0].At.Equal(lost) {
			t.Fatalf("got alarms %v, want one of %s at once", alarms, addr(0))
		}
		time.Sleep(2 * time.Second)
		if got := w.holder.Stats(); got.Held != 4 || got.Alarms[health.Closed] != 1 || got.Ignored != 0 {
			t.Errorf("got %+v, want the connection back and one alarm", got)
		}
	})
}

func TestAPeerThatKeepsClosingIsHeldEverMoreRarely(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 1, nil)
		for end := time.Now().Add(2 * time.Hour); time.Now().Before(end); {
			time.Sleep(5 * time.Second)
			_ = w.peer(0).Close()
		}
		connects := w.connectsOf(0)
		if got := len(connects); got > 34 {
			t.Errorf("got %d connects in two hours, want at most 34", got)
		}
		for i := 2; i < len(connects)-1; i++ {
			before, after := connects[i]-connects[i-1], connects[i+1]-connects[i]
			if after < before*3/5 {
				t.Errorf("got %s after connect %d and %s before it, want pauses that grow", after, i, before)
			}
		}
	})
}

func TestALastingConnectionMakesThePausesShortAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 1, nil)
		for range 200 {
			time.Sleep(5 * time.Second)
			_ = w.peer(0).Close()
		}
		time.Sleep(6 * time.Minute)  // it is open again
		time.Sleep(11 * time.Minute) // and lasts
		before := len(w.connectsOf(0))
		w.hangUp(1)
		time.Sleep(2 * time.Second)
		if got := len(w.connectsOf(0)) - before; got != 1 {
			t.Errorf("got %d connects in the two seconds after the loss, want 1", got)
		}
	})
}

func TestAlarmsOfMoreThanHalfOfTheAddressesChangeNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 10, nil)
		lost := time.Since(w.began)
		w.hangUp(6)
		time.Sleep(time.Minute)
		if got := w.told(); len(got) != 0 {
			t.Errorf("got %d alarms, want none: six of ten at once", len(got))
		}
		var again []time.Duration
		for i := range 6 {
			again = append(again, w.connectsOf(i)[1]-lost)
		}
		if first, last := slices.Min(again), slices.Max(again); last-first < 5*time.Second || last > 32*time.Second {
			t.Errorf("got connects from %s to %s after the loss, want them spread over 30 s", first, last)
		}
		if got := w.holder.Stats(); got.Ignored != 6 || got.Held != 10 {
			t.Errorf("got %+v, want 6 ignored and all held again", got)
		}
	})
}

func TestAlarmsOfHalfOfTheAddressesCount(t *testing.T) {
	for n, lose := range map[int]int{10: 5, 6: 3, 1: 1, 2: 1} {
		bubble.Test(t, func(t *testing.T) {
			w := begin(t, n, nil)
			w.hangUp(lose)
			time.Sleep(20 * time.Millisecond)
			if got := len(w.told()); got != lose {
				t.Errorf("got %d alarms, want %d of %d", got, lose, n)
			}
		})
	}
}

func TestAlarmsOfOneIntervalAreJudgedTogether(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 10, nil)
		w.hangUp(4)
		time.Sleep(500 * time.Millisecond)
		for i := 4; i < 8; i++ {
			_ = w.peer(i).Close()
		}
		time.Sleep(100 * time.Millisecond)
		if got := len(w.told()); got != 4 {
			t.Errorf("got %d alarms, want 4: the later ones make eight of ten", got)
		}
		time.Sleep(time.Minute)
		_ = w.peer(9).Close()
		time.Sleep(100 * time.Millisecond)
		if got := len(w.told()); got != 5 {
			t.Errorf("got %d alarms, want 5: the interval is over", got)
		}
	})
}

func TestAnEndpointThatAnAlarmTookDownIsStillOneOfItsInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 4, nil)
		_ = w.peer(3).Close()
		time.Sleep(500 * time.Millisecond)
		w.watch(3) // it is down
		time.Sleep(time.Second)
		w.hangUp(1)
		time.Sleep(20 * time.Millisecond)
		if got := len(w.told()); got != 2 {
			t.Errorf("got %d alarms, want 2: that is half of the four of this interval", got)
		}
		_ = w.peer(1).Close()
		time.Sleep(20 * time.Millisecond)
		if got := len(w.told()); got != 2 {
			t.Errorf("got %d alarms, want 2: the third makes three of four", got)
		}
	})
}

func TestWhatIsNoLongerWatchedIsClosedWithoutAnAlarm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 3, nil)
		w.watch(1)
		synctest.Wait()
		if got := w.holder.Stats(); got.Held != 1 || len(w.told()) != 0 {
			t.Errorf("got %+v and alarms %v, want one held and none", got, w.told())
		}
		w.watch(3)
		time.Sleep(time.Second)
		if got := w.holder.Stats().Held; got != 3 {
			t.Errorf("got %d held, want 3 again", got)
		}
	})
}

func TestAConnectThatFailsIsNoAlarmAndIsTriedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 1, func(_ *health.ConnectionsOptions, o *health.HolderOptions) { o.MaxAlarmPercent = 100 })
		w.mu.Lock()
		w.refuses = true
		w.mu.Unlock()
		w.hangUp(1)
		time.Sleep(10 * time.Minute)
		if got := len(w.told()); got != 1 {
			t.Errorf("got %d alarms, want that of the loss only", got)
		}
		if got := len(w.connectsOf(0)); got < 5 || got > 15 {
			t.Errorf("got %d connects in ten minutes, want some", got)
		}
		w.mu.Lock()
		w.refuses = false
		w.mu.Unlock()
		time.Sleep(7 * time.Minute)
		if got := w.holder.Stats().Held; got != 1 {
			t.Errorf("got %d held, want it back", got)
		}
	})
}

func TestAPeerThatSaysSomethingIsHeldAndOneThatTalksIsNot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 1, nil)
		if _, err := w.peer(0).Write([]byte("220 ready\r\n")); err != nil {
			t.Fatal(err)
		}
		if got := w.holder.Stats().Held; got != 1 {
			t.Errorf("got %d held after a greeting, want 1", got)
		}
		if _, err := w.peer(0).Write(make([]byte, 70<<10)); err == nil {
			t.Error("got all bytes read of a peer that does not end, want the connection closed")
		}
		synctest.Wait()
		if got := w.told(); len(got) != 0 {
			t.Errorf("got alarms %v, want none", got)
		}
	})
}

func TestContract33AtMostTheGivenNumberIsHeld(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 10, func(u *health.ConnectionsOptions, _ *health.HolderOptions) { u.MaxConnections = 4 })
		if got := w.holder.Stats(); got.Held != 4 || got.Wanted != 10 || w.most != 4 {
			t.Errorf("got %+v and %d open at most, want 4 of 10", got, w.most)
		}
	})
}

// An endpoint that goes down is let go of: that is no loss.
func TestAConnectionThatIsLetGoOfMakesNoAlarm(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := begin(t, 4, nil)
		w.watch(3)
		time.Sleep(time.Second)
		if got := w.holder.Stats(); got.Held != 3 || got.Alarms != (health.HolderStats{}).Alarms || len(w.told()) != 0 {
			t.Errorf("got %+v and alarms %v, want three held, and no alarm", got, w.told())
		}
	})
}
