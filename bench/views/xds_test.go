package views_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// xdsForm is how thorough a run is: changes with each number of proxies, in rounds in which
// both sides take turns.
type xdsForm struct {
	sizes, proxies  []int
	rounds, changes int
}

func xdsForms() map[string]xdsForm {
	return map[string]xdsForm{
		"tiny":  {[]int{200}, []int{1, 3}, 1, 4},
		"short": {[]int{1_000, 10_000}, []int{1, 50}, 2, 50},
		"long":  {[]int{1_000, 10_000}, []int{1, 50}, 5, 200},
	}
}

// xdsSide is a server of xDS that is measured.
type xdsSide struct {
	program

	name, address string
}

// TestXDS measures the time from the API server's write to the acknowledgement of all
// proxies. Both sides run all the time; only one has proxies at a time.
func TestXDS(t *testing.T) {
	f, known := xdsForms()[*formName]
	if !known {
		t.Skipf("-form %q: measures nothing", *formName)
	}
	w := newWorld(t, form{})
	linear := build(t, "..", "./linear")
	if about, err := os.Stat(w.viewsPath); err == nil {
		result("XDSBinary/side=views", int(about.Size()), "B")
	}
	for _, n := range f.sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w.grow(t, n)
			sides := []xdsSide{w.served(t, "views"), w.linear(t, linear)}
			for _, proxies := range f.proxies {
				for range f.rounds {
					for _, side := range sides {
						w.acknowledged(t, side, proxies, f.changes)
					}
				}
			}
			w.again(t, sides[0], w.served(t, "views"))
		})
	}
}

// served starts a replica of endpoint-views.
func (w *world) served(t *testing.T, name string) xdsSide {
	t.Helper()
	serve := exec.Command(w.viewsPath, "serve")
	serve.Env = []string{"KUBECONFIG=" + w.api.UserKubeconfig(t, name, "system:masters"), "VIEWS_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0", "XDS_ADDRESS=127.0.0.1:0"}
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	return xdsSide{start(t, serve), name, addressIn(t, log)}
}

// linear starts the bare server.
func (w *world) linear(t *testing.T, path string) xdsSide {
	t.Helper()
	bare := exec.Command(path, "-kubeconfig", w.api.UserKubeconfig(t, "bare", "system:masters"), "-service", service, "-cluster", clusterName)
	bare.Stderr = os.Stderr
	out, err := bare.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return xdsSide{start(t, bare), "bare", addressIn(t, out)}
}

// addressIn reads until a line says where xDS is served, and the rest beside.
func addressIn(t *testing.T, log io.Reader) string {
	t.Helper()
	for in := bufio.NewScanner(log); in.Scan(); {
		if _, rest, found := strings.Cut(in.Text(), `"xds_address":"`); found {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			address, _, _ := strings.Cut(rest, `"`)
			return address
		}
	}
	t.Fatal("the program ended before it served xDS")
	return ""
}

func (w *world) xdsLabel(what string, proxies int, side string) string {
	return fmt.Sprintf("%s/endpoints=%d/readers=%d/side=%s", what, len(w.slices)*perSlice, proxies, side)
}

// acknowledged changes single endpoints while so many proxies follow one side.
func (w *world) acknowledged(t *testing.T, side xdsSide, count, changes int) {
	t.Helper()
	proxies := make([]*proxy, count)
	for i := range proxies {
		proxies[i] = w.proxy(t, side.address, i, nil, endpointType)
		defer proxies[i].end()
	}
	want := int64(1)
	all := func() bool {
		return !slices.ContainsFunc(proxies, func(p *proxy) bool { return p.acked.Load() < want })
	}
	until(t, all)
	read, cpu := proxies[0].read.Load(), side.cpu(t)
	for i := range changes {
		want++
		sent := time.Now()
		w.flip(t, i*7%len(w.slices), i*31%perSlice)
		until(t, all)
		var took []time.Duration
		for _, p := range proxies {
			took = append(took, time.Duration(p.last.Load()-sent.UnixNano()))
		}
		slices.Sort(took)
		result(w.xdsLabel("XDSChange", count, side.name), took[len(took)-1], "ns/op", took[len(took)/2], "median-ns/op")
	}
	result(w.xdsLabel("XDSCost", count, side.name), (proxies[0].read.Load()-read)/int64(changes), "wire-B/op", (side.cpu(t)-cpu)/time.Duration(changes), "cpu-ns/op",
		side.resident(t), "resident-B")
}

// again lets a proxy go from one replica to another process, and counts what it is sent
// that it has. A change then proves that the stream lives.
func (w *world) again(t *testing.T, first, second xdsSide) {
	t.Helper()
	before := w.proxy(t, first.address, 0, nil, clusterType, endpointType)
	until(t, func() bool { return before.acked.Load() == 1 && len(before.versions()[clusterType]) == 1 })
	had := before.versions()
	before.end()
	after := w.proxy(t, second.address, 0, had, clusterType, endpointType)
	defer after.end()
	time.Sleep(time.Second) // what is sent again would have come
	resources, read := after.received.Load(), after.read.Load()
	w.flip(t, 0, 0)
	until(t, func() bool { return after.acked.Load() > 0 })
	result(w.xdsLabel("XDSReconnect", 1, "views"), resources, "resources", read, "wire-B", after.received.Load()-resources, "resources-of-a-change")
}
