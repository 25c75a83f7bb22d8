package endtoend_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// steadyRate is how many heartbeats a second there are in steady state: those of
// 3,000 nodes, each every five minutes.
const steadyRate = 10

// measureSteady runs the daemon with everything on and nothing to do: health checks,
// leader election, metrics, the status page, and heartbeats of the nodes.
func (w *world) measureSteady() {
	w.t.Helper()
	w.clear()
	s := w.daemonSide("HEALTH_CHECK_MODE=tcp", "LEADER_ELECTION=true")
	p := s.start()
	w.awaitReady(p, w.nodeCount)
	time.Sleep(3 * time.Second) // every backend has been probed
	first, _ := p.Memory()
	checks := w.metric("ionos_endpointslice_health_checks_total")
	begun, before, seen := time.Now(), p.CPU(), w.watched.count()
	w.beat(steadyRate, w.form.steady)
	ended := time.Now()
	length := ended.Sub(begun)
	cpu := p.CPU() - before
	checks = w.metric("ionos_endpointslice_health_checks_total") - checks
	now, peak := p.Memory()
	at, from := requests(w.local, s.name, begun, ended), requests(w.remote, s.name, begun, ended)
	program.Result(w.label("Steady", s.name), 1, length.Seconds(), "s", float64(cpu)/float64(length), "cores", checks/length.Seconds(), "checks/s",
		w.watched.count()-seen, "slice-events", at.writes, "writes", at.events, "events", at.reads+from.reads, "reads", at.watches+from.watches, "watches", at.leases, "lease-requests",
		first, "first-resident-B", now, "resident-B", peak, "peak-B")
	p.Stop()
}

// metric is the sum of all the daemon's series of this name.
func (w *world) metric(name string) float64 {
	w.t.Helper()
	response, err := http.Get("http://" + metricsAddress + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	sum, lines := 0.0, bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if found, _, _ := strings.Cut(series, "{"); found != name {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		sum += number
	}
	return sum
}

// measureStarts measures from exec to the first write, with health checks.
func (w *world) measureStarts() {
	w.t.Helper()
	for _, mode := range []string{"tcp", "off"} {
		s := w.daemonSide("HEALTH_CHECK_MODE=" + mode)
		for range w.form.starts {
			w.clear()
			seen := w.watched.count()
			p := s.start()
			e, came := w.watched.next(seen)
			if !came {
				p.Fail("nothing was written within %v of the start", waitLimit)
			}
			program.Result(w.label("Start", "daemon")+"/check="+mode, 1, e.at.Sub(p.Started), "ns/op")
			p.Stop()
		}
	}
}

// measurePoller measures cycles of the least that a poller made of kubectl must
// do: list the nodes, make slices of them, write them. The decoding between both,
// which a script would do by another program, is not counted.
func (w *world) measurePoller() {
	w.t.Helper()
	w.clear()
	remote, local := w.access("poller")
	cycles := w.form.cycles
	if w.nodeCount > 1_000 {
		cycles = 1 // each takes seconds
	}
	for i := range cycles + 1 {
		ready := i%2 == 0
		w.setReady(0, ready)
		seen, begun := w.watched.count(), time.Now()
		list, cpu1, peak1 := w.kubectl(nil, "--kubeconfig", remote, "get", "nodes", "--output", "json")
		verb := "replace"
		if i == 0 {
			verb = "create"
		}
		_, cpu2, peak2 := w.kubectl(slicesOf(w, list), "--kubeconfig", local, "--namespace", namespace, verb, "--filename", "-")
		ended := time.Now()
		if w.watched.count() == seen {
			if _, came := w.watched.next(seen); !came {
				w.t.Fatal("kubectl wrote, and no event came")
			}
		}
		if i == 0 {
			continue // the one that creates
		}
		at, from := requests(w.local, "poller", begun, ended), requests(w.remote, "poller", begun, ended)
		program.Result(w.label("Change", "poller"), 1, w.watched.last().Sub(begun), "ns/op")
		program.Result(w.label("ChangeCost", "poller"), 1, cpu1+cpu2, "cpu-ns/op", at.writes, "writes/op", at.reads, "local-reads/op",
			from.all(), "remote-requests/op", max(peak1, peak2), "peak-B")
	}
	w.setReady(0, true)
}

func (w *world) kubectl(stdin []byte, args ...string) (out []byte, cpu time.Duration, peak int64) {
	w.t.Helper()
	cmd := exec.Command(w.remote.KubectlPath(), args...)
	var stderr bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stderr = os.Environ(), bytes.NewReader(stdin), &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v: %v: %s", cmd.Args, err, stderr.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), usage.Maxrss << 10
}

// slicesOf makes manifests of the list of nodes.
func slicesOf(w *world, text []byte) []byte {
	w.t.Helper()
	var nodes corev1.NodeList
	if err := json.Unmarshal(text, &nodes); err != nil {
		w.t.Fatal(err)
	}
	list := discoveryv1.EndpointSliceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for i, node := range nodes.Items {
		if i%1_000 == 0 {
			list.Items = append(list.Items, discoveryv1.EndpointSlice{
				TypeMeta:    metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
				ObjectMeta:  metav1.ObjectMeta{Name: service + "-" + string(rune('a'+i/1_000)), Labels: map[string]string{discoveryv1.LabelServiceName: service}},
				AddressType: discoveryv1.AddressTypeIPv4,
				Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
			})
		}
		slice := &list.Items[len(list.Items)-1]
		ready := node.Status.Conditions[len(node.Status.Conditions)-1].Status == corev1.ConditionTrue
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{node.Status.Addresses[1].Address}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		})
	}
	out, err := json.Marshal(list)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}
