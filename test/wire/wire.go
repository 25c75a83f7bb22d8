// Package wire is a cable between two network namespaces that a test can make bad
// while traffic runs over it: slow, unsteady, lossy, cut in one direction or both, or
// silently dropping large packets. It reports nothing to either end: no ICMP, no
// reset, the link stays up, as with a bad cable, a full buffer or a firewall on the
// way.
//
// Each end is a TAP device, and the test process copies the frames. So the kernel
// needs no traffic shaper, and packets are no larger than on a real line, because a
// TAP device offloads nothing. It carries about ten thousand frames a second, enough
// for few hosts; for a host without faults use a veth.
//
// It needs root (or a user namespace in which the test is root) and
// /dev/net/tun. The package is for tests only.
package wire

import (
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// End is where one end of a wire is.
type End struct {
	// Namespace is the file of a network namespace, such as /run/netns/worker
	// or /proc/4711/ns/net; empty for the test's own.
	Namespace string
	// Device is the name that the end has there, at most 15 letters.
	Device string
}

// Condition is what one direction of a wire does to what it carries. The zero
// value carries everything at once.
type Condition struct {
	// Latency is how long each frame takes, Jitter how much longer it may take
	// at random. Frames do not overtake each other.
	Latency, Jitter time.Duration
	// Loss is the share of frames that vanish at random, 0 to 1.
	Loss float64
	// MaxPacket is the size in bytes, without the Ethernet header, above which
	// a packet vanishes; 0 for no bound.
	MaxPacket int
	// Cut lets every frame vanish.
	Cut bool
}

// Traffic is what one direction was given to carry.
type Traffic struct {
	// Carried and Lost are frames.
	Carried, Lost uint64
}

// Wire is a running wire.
type Wire struct {
	forth, back direction
	ends        [2]*os.File
	copying     sync.WaitGroup
}

// Join lays a wire between two ends until the test ends. Both devices are up;
// addresses, bridges and routes are the caller's. The seed decides which frames
// a lossy wire loses.
func Join(t testing.TB, a, b End, seed uint64) *Wire {
	t.Helper()
	w := &Wire{}
	for i, end := range []End{a, b} {
		file, err := plug(end)
		if err != nil {
			w.close()
			refuse(t, err)
		}
		w.ends[i] = file
	}
	w.forth.random = rand.New(rand.NewPCG(seed, 1))
	w.back.random = rand.New(rand.NewPCG(seed, 2))
	w.forth.set(Condition{})
	w.back.set(Condition{})
	w.carry(&w.forth, w.ends[0], w.ends[1])
	w.carry(&w.back, w.ends[1], w.ends[0])
	t.Cleanup(w.close)
	return w
}

// Forth sets what happens to frames from the first end to the second.
func (w *Wire) Forth(c Condition) { w.forth.set(c) }

// Back sets what happens to frames from the second end to the first.
func (w *Wire) Back(c Condition) { w.back.set(c) }

// Both sets what happens to all frames. Those on the line arrive as before; one
// that an end sent a moment ago and the wire has not taken yet does not.
func (w *Wire) Both(c Condition) {
	w.Forth(c)
	w.Back(c)
}

// Mend makes the wire carry everything at once again.
func (w *Wire) Mend() { w.Both(Condition{}) }

// Traffic returns what the wire was given so far, from the first end to the
// second and the other way.
func (w *Wire) Traffic() (forth, back Traffic) { return w.forth.traffic(), w.back.traffic() }

// close takes both devices away and waits for the copying to end.
func (w *Wire) close() {
	for _, file := range w.ends {
		if file != nil {
			_ = file.Close() // nothing was buffered
		}
	}
	w.copying.Wait()
}

// direction is one of the two ways through a wire.
type direction struct {
	condition     atomic.Pointer[Condition]
	random        *rand.Rand // only the reading goroutine uses it
	carried, lost atomic.Uint64
}

func (d *direction) set(c Condition) { d.condition.Store(&c) }

func (d *direction) traffic() Traffic {
	return Traffic{Carried: d.carried.Load(), Lost: d.lost.Load()}
}
