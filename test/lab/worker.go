//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Port is where every backend listens.
const Port = 8080

// Worker is a machine of the remote cluster with a backend on it.
type Worker struct {
	// Name is what the backend answers, and the node's name.
	Name    string
	Address netip.Addr
	// ID is the id of the machine, a UUID.
	ID string

	t         testing.TB
	world     *World
	leaving   bool
	backend   *process
	handshake time.Duration
}

// newWorker starts a machine with a backend that no inventory lists yet.
func (w *World) newWorker(t testing.TB, address netip.Addr, handshake time.Duration) *Worker {
	t.Helper()
	worker := w.machine(t, address)
	worker.handshake = handshake
	worker.Boot()
	return worker
}

// machine is a worker without a backend.
func (w *World) machine(t testing.TB, address netip.Addr) *Worker {
	t.Helper()
	n := numbers.Add(1)
	if !address.IsValid() {
		address = netip.AddrFrom4([4]byte{10, 77, byte(n >> 8), byte(n)})
	}
	worker := &Worker{
		Name: fmt.Sprintf("worker-%d", n), Address: address, ID: fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", n),
		t: t, world: w,
	}
	netns.Add(t, worker.Name)
	leg(t, worker.Name, data, address)
	w.answer(t, worker.Name)
	return worker
}

// Boot starts the backend and returns when it listens.
func (w *Worker) Boot() {
	w.t.Helper()
	args := netns.Inside(w.Name, w.world.backend, "-name", w.Name, "-listen", fmt.Sprintf(":%d", Port), "-handshake", w.handshake.String())
	w.backend = start(w.t, w.Name, nil, args, true)
	w.confirmed("start")
}

// Say puts the backend in a mode and returns when it holds: "ok", "refuse",
// "hang", "status 503", "slow 300ms", "idle 5s", "reset 2s" or "single".
func (w *Worker) Say(mode string) {
	w.t.Helper()
	if _, err := fmt.Fprintln(w.backend.in, mode); err != nil {
		w.t.Fatalf("%s: %s: %v", w.Name, mode, err)
	}
	w.confirmed(mode)
}

func (w *Worker) confirmed(what string) {
	w.t.Helper()
	if !w.backend.out.Scan() || w.backend.out.Text() != "ok" {
		w.t.Fatalf("%s: %s: %s\n%s", w.Name, what, w.backend.out.Text(), w.backend.Tail())
	}
}

// Kill ends the backend as a crash does: its port refuses connections.
func (w *Worker) Kill() time.Time {
	at := time.Now()
	w.backend.Kill()
	return at
}

// Ended reports whether the backend has ended.
func (w *Worker) Ended() bool { return w.backend.Ended() }

// Stop ends the backend gracefully.
func (w *Worker) Stop() {
	w.t.Helper()
	w.backend.stop()
}

// Pause makes the backend hang: the kernel accepts connections, the backend does not
// answer.
func (w *Worker) Pause() { w.backend.signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (w *Worker) Resume() { w.backend.signal(syscall.SIGCONT) }

// Silence drops all packets that come "in", go "out", or "both", from the
// returned time on.
func (w *Worker) Silence(directions string) time.Time {
	w.t.Helper()
	at := time.Now()
	nft(w.t, w.Name, silence(directions))
	return at
}

// Hear ends Silence.
func (w *Worker) Hear() {
	w.t.Helper()
	nft(w.t, w.Name, hear)
}

// Unplug takes the interface down, like a machine that is switched off: no machine
// answers for its address.
func (w *Worker) Unplug() time.Time {
	w.t.Helper()
	at := time.Now()
	netns.Run(w.t, w.Name, "ip", "link", "set", data, "down")
	return at
}

// Plug ends Unplug.
func (w *Worker) Plug() {
	w.t.Helper()
	netns.Run(w.t, w.Name, "ip", "link", "set", data, "up")
	w.world.answer(w.t, w.Name) // the way went with the link
}

// Remove takes the machine away for good.
func (w *Worker) Remove() {
	w.t.Helper()
	w.backend.Kill()
	netns.Delete(w.t, w.Name)
}
