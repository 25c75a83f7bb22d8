package health_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// fleet is a loop over made-up addresses in a synctest bubble, with a record of
// what it did. Times count from its beginning.
type fleet struct {
	loop    *health.Loop
	size    int
	began   time.Time
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	duration  func(i int) time.Duration
	outcome   func(i int) inventory.Outcome
	overlaps  bool // an address may be checked twice at once
	consuming bool
	starts    map[netip.Addr][]time.Duration
	inFlight  map[netip.Addr]bool
	most      int
	delivered [][]inventory.Result
	mistakes  []string
}

// firstAddress is that of the first of a fleet.
var firstAddress = netip.MustParseAddr("10.0.0.1")

// newFleet runs a loop until the test ends. By default its checks take no time, and
// its results are taken as soon as they are ready.
func newFleet(t *testing.T, options health.LoopOptions, size int, slots ...int) *fleet {
	t.Helper()
	f := &fleet{
		size: size, began: time.Now(), consuming: true, overlaps: options.Overlap > 0,
		duration: func(int) time.Duration { return 0 },
		outcome:  func(int) inventory.Outcome { return inventory.Pass },
		starts:   map[netip.Addr][]time.Duration{}, inFlight: map[netip.Addr]bool{},
	}
	options.Check = f.check
	f.loop = health.NewLoop(options, slots...)
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.running.Go(func() { f.loop.Run(ctx) })
	f.running.Go(func() { f.takeAll(ctx) })
	t.Cleanup(func() {
		f.stop()
		for _, mistake := range f.mistakes {
			t.Error(mistake)
		}
	})
	return f
}

// stop ends the loop and waits for it.
func (f *fleet) stop() {
	f.cancel()
	f.running.Wait()
}

// check records that an address is checked, and takes its time.
func (f *fleet) check(ctx context.Context, address netip.Addr) inventory.Result {
	f.mu.Lock()
	if f.inFlight[address] && !f.overlaps {
		f.mistakes = append(f.mistakes, address.String()+" is checked twice at once")
	}
	f.inFlight[address] = true
	f.most = max(f.most, len(f.inFlight))
	f.starts[address] = append(f.starts[address], f.now())
	duration := f.duration(f.indexOf(address))
	f.mu.Unlock()
	result := inventory.Result{Address: address, At: time.Now()}
	select {
	// Timers of no duration that run at the same time crash the race detector in
	// a bubble (seen with Go 1.26.8), so there is none.
	case <-time.After(max(duration, time.Nanosecond)):
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inFlight, address)
	result.Outcome = f.outcome(f.indexOf(address))
	return result
}

// takeAll takes the results whenever there are some, while consuming is set.
func (f *fleet) takeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.loop.Ready():
		}
		f.mu.Lock()
		consuming := f.consuming
		f.mu.Unlock()
		if consuming {
			f.take()
		}
	}
}

func (f *fleet) take() {
	batch := f.loop.Take()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(batch) > 0 {
		f.delivered = append(f.delivered, batch)
	}
}

// consume sets whether results are taken when they are ready.
func (f *fleet) consume(consuming bool) {
	f.mu.Lock()
	f.consuming = consuming
	f.mu.Unlock()
	if consuming {
		f.take()
	}
}

// answers sets what checks find. It is looked up when they end.
func (f *fleet) answers(outcome func(i int) inventory.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcome = outcome
}

// took sets how long checks take.
func (f *fleet) took(duration func(i int) time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.duration = duration
}

func (f *fleet) now() time.Duration { return time.Since(f.began) }

// address returns the address with an index, indexOf is the inverse.
func (f *fleet) address(i int) netip.Addr {
	bytes := firstAddress.As4()
	bytes[2], bytes[3] = byte((i+1)>>8), byte(i+1)
	return netip.AddrFrom4(bytes)
}

func (f *fleet) indexOf(address netip.Addr) int {
	bytes := address.As4()
	return int(bytes[2])<<8 + int(bytes[3]) - 1
}

// watch watches the addresses with these indexes, watchAll the whole fleet.
func (f *fleet) watch(indexes ...int) {
	var targets []inventory.Watch
	for _, i := range indexes {
		targets = append(targets, inventory.Watch{Address: f.address(i)})
	}
	f.loop.Watch(targets)
}

func (f *fleet) watchAll() {
	var all []int
	for i := range f.size {
		all = append(all, i)
	}
	f.watch(all...)
}

// startsOf returns when the checks of an address began, allStarts those of all
// in order.
func (f *fleet) startsOf(i int) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.starts[f.address(i)])
}

func (f *fleet) allStarts() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []time.Duration
	for _, starts := range f.starts {
		all = append(all, starts...)
	}
	slices.Sort(all)
	return all
}

// startsBetween counts the checks that began after one time, up to another.
func (f *fleet) startsBetween(after, until time.Duration) int {
	count := 0
	for _, at := range f.allStarts() {
		if after < at && at <= until {
			count++
		}
	}
	return count
}

// batches returns what was taken so far, results the same in one.
func (f *fleet) batches() [][]inventory.Result {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.delivered)
}

func (f *fleet) results() []inventory.Result { return slices.Concat(f.batches()...) }

// taken takes what there is and returns the indexes of its addresses.
func (f *fleet) taken() []int {
	var indexes []int
	for _, result := range f.loop.Take() {
		indexes = append(indexes, f.indexOf(result.Address))
	}
	return indexes
}

func (f *fleet) mostInFlight() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// widest returns the widest gap between neighbours, and no less than an hour
// where there are none.
func widest(times []time.Duration) time.Duration {
	if len(times) < 2 {
		return time.Hour
	}
	return slices.Max(gaps(times))
}

// gaps returns the differences of neighbours.
func gaps(times []time.Duration) []time.Duration {
	var between []time.Duration
	for i := 1; i < len(times); i++ {
		between = append(between, times[i]-times[i-1])
	}
	return between
}
