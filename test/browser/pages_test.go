package browser_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// page is one page to look at.
type page struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Says is what the page must show, Hides what must not be in its text.
	Says  []string `json:"says"`
	Hides []string `json:"hides,omitempty"`
	// Walk is what to do with the page: the name of a function of the script.
	Walk string `json:"walk,omitempty"`
	// Rows is how many nodes the page must show, -1 for any number.
	Rows int `json:"rows"`
	// Picture is how to take a picture of the page, which then is not looked at.
	Picture *picture `json:"picture,omitempty"`
}

// pages are the states that a person may meet.
func pages(t *testing.T) []page {
	return []page{healthy(t), oneDown(t), holding(t), failingOpen(t), thousand(t), hostile(t), silentSource(t)}
}

func healthy(t *testing.T) page {
	d := newDaemon(t, 4, append(workers(4), node{Name: "frankfurt-control-1", IP: backend(9), Ready: true}))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	return page{"healthy", d.url, []string{"Healthy", "4 of 4 nodes ready in default/web", "NotWorker", "v1.2.3"}, []string{"Refused"}, "use", 5, nil}
}

func oneDown(t *testing.T) page {
	d := newDaemon(t, 4, workers(4))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	d.backends[1].Close()
	d.until("one down", func(doc report.Document) bool { return doc.Stages.Down == 1 && doc.Store.PendingSlices == 0 })
	return page{"one-down", d.url, []string{"Degraded", "3 of 4 nodes ready", "ProbeRefused", "connection refused", "HEALTH_CHECK_FALL=3"}, nil, "", 4, nil}
}

func holding(t *testing.T) page {
	d := newDaemon(t, 5, workers(5))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	d.write(workers(1))
	d.until("hold", func(doc report.Document) bool { return doc.Mode == "Hold" })
	return page{"hold", d.url, []string{"Holding: 5 of 5 nodes ready", "TooManyRemovals", "4 of 5", "ReadyHeld", "stays while it passes its health check"}, nil, "", 5, nil}
}

func failingOpen(t *testing.T) page {
	d := newDaemon(t, 3, workers(3))
	d.until("all ready", func(doc report.Document) bool { return doc.Healthy })
	for _, b := range d.backends {
		b.Close()
	}
	d.until("fail open", func(doc report.Document) bool { return doc.Mode == "FailOpen" })
	return page{"fail-open", d.url, []string{"Failing open: 0 of 3 nodes pass, 3 of 3 published ready", "NothingPasses", "ReadyFailOpen", "What to do:"}, nil, "", 3, nil}
}

func thousand(t *testing.T) page {
	var nodes []node
	for i := range 1200 {
		nodes = append(nodes, worker(fmt.Sprintf("nodepool-frankfurt-worker-%04d", i), fmt.Sprintf("127.3.%d.%d", i/200, i%200+1)))
	}
	nodes[700].IP = "192.168.1.1"
	nodes[900].Ready = false
	d := newDaemon(t, 0, nodes, "HEALTH_CHECK_MODE=off")
	d.until("all there", func(doc report.Document) bool { return doc.Stages.Ready == 1198 && doc.Store.PendingSlices == 0 })
	return page{"thousand", d.url, []string{"1198 of 1200 nodes ready", "1198 passing", "All 1200 entries", "The first 500 are shown, 700 are not", "OutsideSubnet", "nodepool-frankfurt-worker-0700"}, nil, "many", 500, nil}
}

func hostile(t *testing.T) page {
	nodes := workers(1)
	for i, name := range []string{
		`<script>window.x=1</script>`, `"><img src=x onerror="window.x=1">`, `'--></style><svg onload=window.x=1>`,
		`{{.}} ${window.x=1} javascript:window.x=1`, strings.Repeat("a", 253), `&lt;b&gt; %3Cscript%3E`, "مرحبا", "Z̷̧a̷l̷g̷o̶",
	} {
		nodes = append(nodes, worker(name, backend(10+i)))
	}
	d := newDaemon(t, 1, nodes)
	d.until("judged", func(doc report.Document) bool { return len(doc.Nodes) == 9 && doc.Stages.Ready == 1 })
	return page{"hostile", d.url, []string{`<script>window.x=1</script>`, `"><img src=x onerror="window.x=1">`, `&lt;b&gt;`, "{{.}}"}, nil, "", 9, nil}
}

func silentSource(t *testing.T) page {
	d := newDaemon(t, 2, workers(2), "DRY_RUN=true")
	d.until("all ready", func(doc report.Document) bool { return doc.Stages.Ready == 2 })
	if err := os.Remove(d.inventory); err != nil {
		t.Fatal(err)
	}
	d.until("source failing", func(doc report.Document) bool { return doc.Source.LastError != "" })
	return page{"source-failing", d.url, []string{"The source cannot be read", "no such file", "Dry run", "No node joins or leaves"}, nil, "", 2, nil}
}
