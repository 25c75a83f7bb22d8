package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

const probingIntro = `## Probing

Every backend is checked every 2 s with a time-out of 1 s, by one process on one machine, and a process that is not counted answers for all of them. What is counted is the CPU that the kernel has charged to the checking process, its own calls included; on a loopback device that contains much of the work of the other side's kernel, for every side alike.

- *daemon*: the program as it is, with a file source, the store in memory and default settings of the checks. *prober*: its package ` + "`internal/endpoints/health`" + ` alone.
- *blackbox*: blackbox_exporter %s, one HTTP request to ` + "`/probe`" + ` for each check, as Prometheus makes it. Its client's CPU is not counted, its connections are kept and its answers not compressed. It makes a page of metrics of each check and keeps no state; we keep the state and make no page.
- *plain*: a goroutine for each backend with ` + "`net/http`" + ` (or ` + "`net.Dial`" + `) and a ticker, that throws the answer away: what Go needs without a thought.
- All of them make a new connection for each check, over IPv4. The backends answer and then close, as servers do that are told ` + "`Connection: close`" + `. Each case has a network namespace of its own.

%s` + "```" + `
cd bench && go run ./probing/rig -only 'side=daemon/mode=http'   # some cases alone
` + "```" + `

| backends | check | side | cores | CPU of a check | made | resident | TIME_WAIT | uneven | off, median | off, 99 %% |
|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
`

const probingLegend = `
*made*: checks that reached their backends, of those that should. *TIME_WAIT*: sockets left on the checking side for each 1,000 checks, each for a minute. *uneven*: the coefficient of variation of the checks' starts over 20 parts of each round; chance alone would give %.2f at 100 backends, %.2f at 1,000, %.2f at 10,000. *off*: by how much the time between two checks of a backend differs from 2 s. All starts are as the backends see them, so the machine's own load is part of it.

We start checks at 128 moments of an interval, as many at each, so that the process wakes up for several at once; 20 parts do not divide 128, which alone is an unevenness of 0.08.

### One slow tenth

Every tenth backend answers after 0.9 s (*late*), or drops every packet (*silent*). The table is of the other nine tenths, but for the CPU. *overruns*: intervals at whose end a check was late by a whole interval, of those measured.

| backends | check | side | tenth | cores | made | off, median | off, 99 %% | overruns |
|---:|---|---|---|---:|---:|---:|---:|---:|
`

const probingSlow = `
Addresses that were slow last time never get all slots of ` + "`HEALTH_CHECK_CONCURRENCY`" + ` (256), so the others keep their time. With 10,000 backends a silent tenth would need 500 slots all the time; the silent ones are asked less often then, which the overruns say.
`

const probingHeld = `
### Connections held

*holding* is the daemon with ` + "`HEALTH_CHECK_HOLD_CONNECTION=true`" + `: between the checks a connection to each backend is open, as far as the limit of descriptors allows it. *kernel*: what the kernel keeps for the daemon's sockets, beside the resident memory.

| backends | side | cores | descriptors | resident | kernel |
|---:|---|---:|---:|---:|---:|
`

const probingKeepAlive = `
### How often a connection is kept alive

*holder* is ` + "`Connections` of `internal/endpoints/health`" + ` alone: it holds a connection to each of %s backends and checks nothing. The kernel sends the keep-alives; they cost the process nothing. *sent*: counted by the kernel. *cores of the kernel*: that times %s, the CPU of a keep-alive and its answer on both sides of the loopback device together, measured with the same packet sent from a call.

| keep-alive | sent each second | cores of the kernel | cores of the process | descriptors | resident | kernel |
|---|---:|---:|---:|---:|---:|---:|
`

const probingKeepAliveLegend = `
The daemon sends one every 15 s. No period finds a dead endpoint earlier than the health checks do: the kernel gives a connection up after three that are not answered, 5 s apart. A keep-alive is for what no check sees: a firewall that has forgotten the connection. Firewalls forget idle connections after minutes, some after one; 15 s is well below, and a shorter period would send more packets for nothing. With a minute the kernel sends many at the same moment; the loopback device drops some, and they are sent again.
`

// probed are the sizes and checks of the table.
var probed = struct {
	modes []probing.Mode
	sizes []int
	sides []probing.Side
}{
	[]probing.Mode{probing.HTTP, probing.TCP},
	[]int{100, 1_000, 10_000},
	[]probing.Side{probing.Daemon, probing.Prober, probing.Blackbox, probing.Plain},
}

func presentProbing(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, probingIntro, r.says["blackbox"], r.measuredOn())
	for _, mode := range probed.modes {
		for _, n := range probed.sizes {
			for _, side := range probed.sides {
				b.WriteString(probingRow(r, side, mode, n))
			}
		}
	}
	fmt.Fprintf(&b, probingLegend, chance(100), chance(1_000), chance(10_000))
	for _, c := range probing.Default() {
		if c.Slow != probing.Nothing || c.Mode == probing.HTTP && c.Backends >= 1_000 && c.Side == probing.Daemon {
			b.WriteString(slowRow(r, c))
		}
	}
	b.WriteString(probingSlow + probingHeld + heldRows(r) + keepAliveRows(r))
	var t rows
	thousand := probing.Name(probing.Daemon, probing.HTTP, 1_000, probing.Nothing)
	cores := r.least(thousand, "cores")
	t.add("probing 1,000 HTTP backends every 2 s", "at most 0.25 of a core", fmt.Sprintf("%.2f", cores),
		cores > 0 && cores <= 0.25 && r.least(thousand, "percent-of-probes") > 95, "")
	return part{prose: b.String(), targets: t.all}
}

// chance is the coefficient of variation over the parts of a round when each of n
// starts falls anywhere.
func chance(n int) float64 { return math.Sqrt(probing.Bins / float64(n)) }

func probingRow(r results, side probing.Side, mode probing.Mode, n int) string {
	name := probing.Name(side, mode, n, probing.Nothing)
	if !r.has(name) {
		return ""
	}
	v := func(unit string) float64 { return r.least(name, unit) }
	return fmt.Sprintf("| %s | %s | %s | %.3f | %s | %.0f %% | %s | %s | %.2f | %s | %s |\n", number(float64(n)), mode, side,
		v("cores"), duration(v("ns/1000-probes")/1000), v("percent-of-probes"), size(v("resident-bytes")), number(v("time-wait/1000-probes")),
		v("variation"), duration(v("off-median-ns")), duration(v("off-p99-ns")))
}

// heldRows compares the daemon with itself.
func heldRows(r results) string {
	var b strings.Builder
	for _, n := range probed.sizes {
		for _, side := range []probing.Side{probing.Daemon, probing.Holding} {
			name := probing.Name(side, probing.TCP, n, probing.Nothing)
			if !r.has(probing.Name(probing.Holding, probing.TCP, n, probing.Nothing)) || !r.has(name) {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %.3f | %s | %s | %s |\n", number(float64(n)), side, r.least(name, "cores"),
				number(r.least(name, "descriptors")), size(r.least(name, "resident-bytes")), size(r.least(name, "socket-bytes")))
		}
	}
	return b.String()
}

// keepAliveRows compares the times between two keep-alives, the longest first.
func keepAliveRows(r results) string {
	const backends = 10_000
	var b strings.Builder
	one := r.least(probing.HolderName(backends, 0), "ns/keep-alive")
	for _, every := range probing.KeepAlives() {
		name := probing.HolderName(backends, every)
		if !r.has(name) {
			continue
		}
		said := "every " + every.String()
		if every == 0 {
			said = "none"
		}
		sent := r.least(name, "keep-alives/s")
		fmt.Fprintf(&b, "| %s | %s | %.4f | %.4f | %s | %s | %s |\n", said, number(math.Round(sent)), sent*one/1e9,
			r.least(name, "cores"), number(r.least(name, "descriptors")), size(r.least(name, "resident-bytes")), size(r.least(name, "socket-bytes")))
	}
	if b.Len() == 0 {
		return ""
	}
	return fmt.Sprintf(probingKeepAlive, number(backends), duration(one)) + b.String() + probingKeepAliveLegend
}

func slowRow(r results, c probing.Case) string {
	name := c.Name()
	if !r.has(name) {
		return ""
	}
	overruns := "–"
	if c.Side == probing.Daemon {
		overruns = number(r.least(name, "overruns"))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %.3f | %.0f %% | %s | %s | %s |\n", number(float64(c.Backends)), c.Mode, c.Side, c.Slow,
		r.least(name, "cores"), r.least(name, "percent-of-probes"), duration(r.least(name, "off-median-ns")), duration(r.least(name, "off-p99-ns")), overruns)
}
