package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// line says what was seen as go test -bench does.
func line(c probing.Case, s measurement) string {
	seconds := float64(c.Rounds) * probing.Interval.Seconds()
	if c.Side == probing.Holder {
		return holderLine(c, s, seconds)
	}
	expected := 0
	for i := range c.Backends {
		if c.Answers(i) {
			expected += c.Rounds
		}
	}
	var quick, slow []probing.Arrival
	for _, a := range s.arrivals {
		if c.IsSlow(a.Backend) {
			slow = append(slow, a)
		} else {
			quick = append(quick, a)
		}
	}
	bins, variation := probing.Spread(s.arrivals, probing.Interval, c.Rounds)
	apart := probing.Deviations(quick, probing.Interval)

	var b strings.Builder
	fmt.Fprintf(&b, "Benchmark%s 1", c.Name())
	add := func(value float64, unit string) { fmt.Fprintf(&b, " %.6g %s", value, unit) }
	add(s.cpu.Seconds()/seconds, "cores")
	add(s.cpu.Seconds()*1e9*1000/float64(max(1, len(s.arrivals))), "ns/1000-probes")
	add(float64(len(s.arrivals))/float64(expected)*100, "percent-of-probes")
	add(s.resident, "resident-bytes")
	add(s.peak, "peak-bytes")
	add(float64(s.timeWait.checker)*1000/float64(max(1, s.connections)), "time-wait/1000-probes")
	add(float64(s.timeWait.backend)*1000/float64(max(1, s.connections)), "backend-time-wait/1000-probes")
	add(variation, "variation")
	add(float64(probing.Percentile(apart, 50)), "off-median-ns")
	add(float64(probing.Percentile(apart, 99)), "off-p99-ns")
	add(float64(probing.Percentile(apart, 100)), "off-max-ns")
	if c.IsDaemon() {
		add(s.descriptors, "descriptors")
		add(s.sockets, "socket-bytes")
		add(s.overruns, "overruns")
	}
	if len(slow) > 0 {
		add(float64(probing.Percentile(probing.Deviations(slow, probing.Interval), 99)), "slow-off-p99-ns")
	}
	for i, count := range bins {
		add(count, fmt.Sprintf("bin%02d", i))
	}
	return b.String() + "\n"
}

// holderLine is [line] of a case without checks.
func holderLine(c probing.Case, s measurement, seconds float64) string {
	text := fmt.Sprintf("Benchmark%s 1 %.6g cores %.6g keep-alives/s %.6g resident-bytes %.6g descriptors %.6g socket-bytes", c.Name(),
		s.cpu.Seconds()/seconds, s.keepAlives/seconds, s.resident, s.descriptors, s.sockets)
	if c.KeepAlive == 0 {
		text += fmt.Sprintf(" %.6g ns/keep-alive", s.keepAliveCost)
	}
	return text + "\n"
}

// timeWait counts the sockets in TIME_WAIT on the two sides of the connections to
// the backends.
type timeWait struct{ checker, backend int }

func readTimeWait() (timeWait, error) {
	file, err := os.Open("/proc/self/net/tcp")
	if err != nil {
		return timeWait{}, err
	}
	defer func() { _ = file.Close() }()
	var t timeWait
	port := fmt.Sprintf(":%04X", probing.Port)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[3] != "06" { // TCP_TIME_WAIT
			continue
		}
		switch {
		case strings.HasSuffix(fields[1], port):
			t.backend++
		case strings.HasSuffix(fields[2], port):
			t.checker++
		}
	}
	return t, nil
}
