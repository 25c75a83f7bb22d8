package main

import (
	"fmt"
	"strings"
)

const xdsIntro = `## xDS

The built ` + "`endpoint-views serve`" + ` on a real API server, slices of 100 endpoints of one Service, and proxies that follow its endpoints in the delta protocol. The proxies are streams of the measuring process; they acknowledge at once and decode no resource. All of them share this machine.

%s- *Time* is from the moment in which the write was sent to the API server to the moment in which the last proxy has sent its acknowledgement.
- *bare* (bench/linear) is the least that can be written with client-go and go-control-plane: an informer feeds a linear cache that is served as it is. It joins nothing, knows one Service, and lets everybody see everything. Both programs run all the time, and the proxies are of one of them at a time, in turns.
- Every change of an endpoint sends the whole assignment: so do all servers of EDS. *Bytes* are those that one proxy reads for one change.
- Others publish no figure of the same kind. Published are: Envoy Gateway, 30 to 120 s in production until a change of endpoints was in Envoy (its issue 7366), and 132 to 186 MB of memory at 10 to 1,000 routes (its benchmark of 1.8.3); Istio waits at least 100 ms for further changes, 10 s at most, by design (` + "`PILOT_DEBOUNCE_AFTER`" + `).

| endpoints | proxies | median | p90 | p99 | bare: median | p90 | p99 | times, median |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

const xdsCostIntro = `
| endpoints | proxies | bytes for each proxy | bare | CPU of a change | bare | memory | bare |
|---:|---:|---:|---:|---:|---:|---:|---:|
`

const xdsReconnectIntro = `
A proxy disconnects and goes to another replica, a process of its own with a history of its own, with what it has. A change then is sent alone.

| endpoints | resources sent again | bytes | resources of the change |
|---:|---:|---:|---:|
`

func presentXDS(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, xdsIntro, r.measuredOn())
	for _, c := range viewsCases(r, "XDSChange") {
		at := func(side string, q float64) string {
			return duration(r.quantile(viewsAt("XDSChange", c.endpoints, c.readers, side), "ns/op", q))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %.2f |\n", number(float64(c.endpoints)), c.readers, at("views", 0.5), at("views", 0.9), at("views", 0.99),
			at("bare", 0.5), at("bare", 0.9), at("bare", 0.99), c.ratio(r, "XDSChange", "ns/op"))
	}
	b.WriteString(xdsCostIntro)
	for _, c := range viewsCases(r, "XDSCost") {
		least := func(side, unit string) float64 {
			return r.least(viewsAt("XDSCost", c.endpoints, c.readers, side), unit)
		}
		most := func(side string) string {
			return size(r.most(viewsAt("XDSCost", c.endpoints, c.readers, side), "resident-B"))
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s |\n", number(float64(c.endpoints)), c.readers, number(least("views", "wire-B/op")), number(least("bare", "wire-B/op")),
			duration(least("views", "cpu-ns/op")), duration(least("bare", "cpu-ns/op")), most("views"), most("bare"))
	}
	b.WriteString(xdsReconnectIntro)
	for _, c := range viewsCases(r, "XDSReconnect") {
		v := func(unit string) string {
			return number(r.most(viewsAt("XDSReconnect", c.endpoints, c.readers, "views"), unit))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", number(float64(c.endpoints)), v("resources"), v("wire-B"), v("resources-of-a-change"))
	}
	return part{prose: b.String(), targets: xdsTargets(r)}
}
