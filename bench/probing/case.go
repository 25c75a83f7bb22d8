package probing

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Side is the program that checks the backends.
type Side string

// The sides.
const (
	// Daemon is the built program with a file source and the store in memory.
	Daemon Side = "daemon"
	// Holding is the daemon with a connection held to each backend.
	Holding Side = "holding"
	// Holder is health.Connections alone: a connection to each backend, and no checks.
	Holder Side = "holder"
	// Prober is internal/endpoints/health with a consumer that only counts streaks.
	Prober Side = "prober"
	// Blackbox is blackbox_exporter, asked by a client for each probe.
	Blackbox Side = "blackbox"
	// Plain is a goroutine for each backend with net/http or net.Dial.
	Plain Side = "plain"
)

// Mode is how a backend is asked.
type Mode string

// The modes.
const (
	TCP  Mode = "tcp"
	HTTP Mode = "http"
)

// Slow is what is wrong with every tenth backend.
type Slow string

// What is wrong.
const (
	// Nothing is.
	Nothing Slow = "none"
	// Late answers a request after LateAnswer. The kernel accepts connections,
	// so it means nothing to TCP.
	Late Slow = "late"
	// Silent drops every packet.
	Silent Slow = "silent"
)

// What all sides are asked to do.
const (
	// Interval is the time between two checks of a backend, Timeout the bound
	// of one: the defaults of the daemon.
	Interval = 2 * time.Second
	Timeout  = time.Second
	// LateAnswer is within the time-out.
	LateAnswer = 900 * time.Millisecond
	// Port is where the backends listen.
	Port = 8000
)

// Case is one measurement.
type Case struct {
	Side     Side
	Mode     Mode
	Backends int
	Slow     Slow
	// Rounds is how many intervals are measured.
	Rounds int
	// KeepAlive is the time between two keep-alives of Holder, 0 for none.
	KeepAlive time.Duration
	// Daemon and Blackbox are the paths of the programs.
	Daemon, Blackbox string
	// Profile is where a profile of the CPU goes, for Prober; none if empty.
	Profile string
}

// Name names the case as a benchmark.
func (c Case) Name() string {
	if c.Side == Holder {
		return HolderName(c.Backends, c.KeepAlive)
	}
	return Name(c.Side, c.Mode, c.Backends, c.Slow)
}

// Name names a case as a benchmark, without the word Benchmark.
func Name(side Side, mode Mode, backends int, slow Slow) string {
	return fmt.Sprintf("Probing/side=%s/mode=%s/backends=%d/tenth=%s", side, mode, backends, slow)
}

// HolderName is [Name] of a case that only holds connections.
func HolderName(backends int, keepAlive time.Duration) string {
	return fmt.Sprintf("%s/keepalive=%s", Name(Holder, TCP, backends, Nothing), keepAlive)
}

// IsDaemon reports whether the built program checks.
func (c Case) IsDaemon() bool { return c.Side == Daemon || c.Side == Holding }

// IsSlow reports whether the backend of that number is one of the tenth.
func (c Case) IsSlow(backend int) bool { return c.Slow != Nothing && backend%10 == 9 }

// Answers reports whether the responder sees the checks of a backend.
func (c Case) Answers(backend int) bool { return c.Slow != Silent || !c.IsSlow(backend) }

// Address returns the address of a backend.
func (c Case) Address(backend int) netip.Addr {
	second := 64
	if !c.Answers(backend) {
		second = 80
	}
	at := backend + 1
	return netip.AddrFrom4([4]byte{10, byte(second + at>>16), byte(at >> 8), byte(at)})
}

// Backend returns the number of the backend with that address.
func Backend(address netip.Addr) int {
	a := address.As4()
	return int(a[1]&15)<<16 + int(a[2])<<8 + int(a[3]) - 1
}

// KeepAlives are the times between two keep-alives that are compared.
func KeepAlives() []time.Duration {
	return []time.Duration{0, time.Minute, 15 * time.Second, 5 * time.Second, time.Second}
}

// holders are the cases that only hold connections. Each is measured for as long as
// every connection sends the same number of keep-alives.
func holders() []Case {
	var cases []Case
	for _, every := range KeepAlives() {
		cases = append(cases, Case{Side: Holder, Mode: TCP, Backends: 10_000, Slow: Nothing, Rounds: int(max(every, 30*time.Second) / Interval), KeepAlive: every})
	}
	return cases
}

// Short are the cases that are measured by default, six minutes in all: others than the
// daemon at one size, and what the tables can do without left out.
func Short() []Case {
	return slices.DeleteFunc(Default(), func(c Case) bool {
		switch c.Side {
		case Prober:
			return true
		case Blackbox, Plain:
			return c.Backends != 1_000
		case Holder:
			return c.KeepAlive > 0 && c.KeepAlive != 15*time.Second
		case Daemon, Holding:
		}
		return c.Mode == TCP && c.Backends < 1_000 || c.Slow != Nothing && c.Backends > 1_000
	})
}

// Default are all cases of the report, a quarter of an hour in all.
func Default() []Case {
	var cases []Case
	add := func(side Side, mode Mode, slow Slow, sizes ...int) {
		for _, n := range sizes {
			cases = append(cases, Case{Side: side, Mode: mode, Backends: n, Slow: slow, Rounds: 3})
		}
	}
	for _, mode := range []Mode{HTTP, TCP} {
		add(Daemon, mode, Nothing, 100, 1_000, 10_000)
		add(Blackbox, mode, Nothing, 100, 1_000)
		add(Plain, mode, Nothing, 1_000, 10_000)
	}
	add(Holding, TCP, Nothing, 1_000, 10_000)
	add(Blackbox, HTTP, Nothing, 10_000)
	add(Prober, HTTP, Nothing, 10_000)
	add(Daemon, HTTP, Late, 1_000)
	add(Daemon, HTTP, Silent, 1_000, 10_000)
	add(Blackbox, HTTP, Silent, 1_000)
	return append(cases, holders()...)
}
