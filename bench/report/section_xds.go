package main

import "fmt"

func xdsTargets(r results) []target {
	var t rows
	for _, c := range viewsCases(r, "XDSChange") {
		most, known := map[int]float64{1_000: 25e6, 10_000: 60e6}[c.endpoints]
		if !known {
			continue
		}
		p99 := r.quantile(viewsAt("XDSChange", c.endpoints, c.readers, "views"), "ns/op", 0.99)
		t.add(fmt.Sprintf("xDS: write to the acknowledgement of %s, %s endpoints: p99", proxies(c.readers), number(float64(c.endpoints))), "at most "+duration(most),
			fmt.Sprintf("%s; the median is %.2f times the bare server's", duration(p99), c.ratio(r, "XDSChange", "ns/op")), p99 <= most, r.unrest())
	}
	if name := viewsAt("XDSCost", 10_000, 50, "views"); r.has(name) {
		t.add("xDS: memory at 10,000 endpoints with 50 proxies", "at most 100 MB", size(r.most(name, "resident-B")), r.most(name, "resident-B") <= 100e6, "")
	}
	if name := "XDSBinary/side=views"; r.has(name) {
		t.add("endpoint-views: binary, stripped", "at most 70 MB", size(r.most(name, "B")), r.most(name, "B") <= 70e6, "")
	}
	again, cases := 0.0, viewsCases(r, "XDSReconnect")
	for _, c := range cases {
		again += r.most(viewsAt("XDSReconnect", c.endpoints, c.readers, "views"), "resources")
	}
	if len(cases) > 0 {
		t.add("xDS: sent again to a proxy that goes to another replica", "0 resources", short(again), again == 0, "")
	}
	return t.all
}

// proxies says how many acknowledge.
func proxies(count int) string {
	if count == 1 {
		return "1 proxy"
	}
	return fmt.Sprintf("all of %d proxies", count)
}
