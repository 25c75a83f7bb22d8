package targets_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// metricsAddress is the same for every daemon: only one runs at a time.
const metricsAddress = "127.0.0.1:8081"

// daemon is the built program, and the Services that it fills.
type daemon struct {
	*program.Program
	w     *world
	group group
	env   []string
	// idle is what it takes of a processor at rest.
	idle float64
}

// newDaemon makes the Services of a shape, with annotations, and starts the program for
// the first time.
func (w *world) newDaemon(s shape) *daemon {
	w.t.Helper()
	g := group{s, "daemon", perNamespace}
	w.nodes.grow(s.endpoints)
	w.make(g)
	w.services(g, map[string]string{"endpoints.ablmnzde.github.io/pool": "blue"}, nil)
	folder := w.t.TempDir()
	write(w.t, filepath.Join(folder, "pool.yaml"), pool(s.endpoints, g.namespaces()))
	return w.first(g, "DOCUMENTS_DIR="+folder)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// first starts the program for the first time.
func (w *world) first(g group, documents ...string) *daemon {
	w.t.Helper()
	d := &daemon{w: w, group: g}
	d.env = append([]string{
		"HOME=" + w.t.TempDir(), "PATH=" + os.Getenv("PATH"),
		"STORE_KIND=client-go", "KUBECONFIG=" + w.api.UserKubeconfig(w.t, g.String(), "system:masters"),
		"ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=" + metricsAddress,
		"TARGET_MANAGED_BY=" + g.String(), // slices of an earlier shape are not its own
	}, documents...)
	w.watched.mark(g)
	d.Program = program.Start(w.t, d.env, w.daemon)
	times := w.watched.await(g, g.all(), d.Fail)
	program.Result(label("First", g.shape, g.side), 1, times[len(times)-1].Sub(d.Started), "ns/op", d.CPU(), "cpu-ns/op")
	d.awaitRight()
	return d
}

// awaitRight returns when the daemon knew that every slice is as it should be.
func (d *daemon) awaitRight() time.Time {
	d.w.t.Helper()
	line, _ := d.AwaitLog(0, longest, `"msg":"the slices of all Services are as decided"`, fmt.Sprintf(`"services":%d`, d.group.targets))
	return d.timeOf(line)
}

// timeOf is when a line of the log was written.
func (d *daemon) timeOf(line string) time.Time {
	d.w.t.Helper()
	var said struct{ Time time.Time }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		d.Fail("%s: %v", line, err)
	}
	return said.Time
}

// restart measures a start with slices that are right.
func (d *daemon) restart() {
	d.w.t.Helper()
	d.Stop()
	d.Program = program.Start(d.w.t, d.env, d.w.daemon)
	right, cpu := d.awaitRight(), d.CPU()
	time.Sleep(2 * time.Second) // what would be written comes soon
	c := d.w.requests(d.group.String(), d.Started, time.Now())
	program.Result(label("Start", d.group.shape, d.group.side), 1, right.Sub(d.Started), "ns/op", cpu, "cpu-ns/op",
		c.writes, "writes", c.reads, "reads", c.watches, "watches")
}

// awaitQuiet returns when the daemon has sent no Event for a while.
func (d *daemon) awaitQuiet() {
	d.w.t.Helper()
	d.awaitNone(quiet, func(c counts) int { return c.events })
}

// awaitNone returns when the daemon has sent no request of a kind for so long.
func (d *daemon) awaitNone(length time.Duration, kind func(counts) int) {
	d.w.t.Helper()
	for limit := time.Now().Add(2 * longest); ; {
		time.Sleep(length)
		now := time.Now()
		if kind(d.w.requests(d.group.String(), now.Add(-length), now)) == 0 {
			return
		}
		if now.After(limit) {
			d.Fail("requests are still sent after %v", 2*longest)
		}
	}
}

// rest lets nothing happen.
func (d *daemon) rest() {
	d.w.t.Helper()
	began, before, checks := time.Now(), d.CPU(), d.w.nodes.checks.Load()
	time.Sleep(d.w.form.idle)
	ended, cpu := time.Now(), d.CPU()-before
	length := ended.Sub(began)
	d.idle = float64(cpu) / float64(length)
	c := d.w.requests(d.group.String(), began, ended)
	now, peak := d.Memory()
	program.Result(label("Rest", d.group.shape, d.group.side), 1, d.idle, "cores", c.reads+c.writes+c.statuses+c.events, "requests", c.watches, "watches",
		float64(d.w.nodes.checks.Load()-checks)/length.Seconds(), "checks/s", length.Seconds(), "s", d.metric("go_goroutines"), "goroutines", d.metric("go_memstats_heap_inuse_bytes"), "heap-B", d.metric("go_memstats_next_gc_bytes"), "next-gc-B", now, "resident-B", peak, "peak-B")
}

// metric is one that the daemon shows, without labels.
func (d *daemon) metric(name string) float64 {
	d.w.t.Helper()
	answer, err := http.Get("http://" + metricsAddress + "/metrics") //nolint:noctx // a measurement
	if err != nil {
		d.Fail("%v", err)
	}
	defer answer.Body.Close()
	got := 0.0
	for in := bufio.NewScanner(answer.Body); in.Scan(); {
		if value, found := strings.CutPrefix(in.Text(), name+" "); found {
			_, _ = fmt.Sscan(value, &got)
		}
	}
	return got
}

// die lets a node die, and come back.
func (d *daemon) die(node int) {
	d.w.t.Helper()
	d.change("Down", node, "down", d.w.nodes.kill, d.group.all()-d.group.targets)
	d.change("Up", node, "ready", d.w.nodes.revive, d.group.all())
}

// change does something with a node, and measures from the verdict on.
func (d *daemon) change(what string, node int, state string, do func(node int), ready int) {
	d.w.t.Helper()
	d.w.watched.mark(d.group)
	log, before, began := d.LogSize(), d.CPU(), time.Now()
	do(node)
	line, _ := d.AwaitLog(log, longest, `"msg":"endpoint changed"`, `"address":"`+address(node)+`"`, `"to":"`+state+`"`)
	verdict := d.timeOf(line)
	times := d.w.watched.await(d.group, ready, d.Fail)
	cpu := float64(d.CPU()-before) - d.idle*float64(time.Since(began))
	c := d.w.requests(d.group.String(), began, time.Now())
	targets := float64(d.group.targets)
	program.Result(label(what, d.group.shape, d.group.side), 1, append(sinceOf(verdict, times), verdict.Sub(began), "detect-ns/op",
		max(cpu, 0)/targets, "cpu-ns/target", float64(c.writes)/targets, "writes/target", float64(c.reads)/targets, "reads/target", float64(c.events)/targets, "events/target")...)
}

// sinceOf is how long after a moment the last, the first and the middle slice changed.
func sinceOf(from time.Time, times []time.Time) []any {
	return []any{times[len(times)-1].Sub(from), "ns/op", times[0].Sub(from), "first-ns/op", times[len(times)/2].Sub(from), "half-ns/op"}
}

// bare is as many writers that only write.
type bare struct {
	*program.Program
	w     *world
	group group
}

func (w *world) newBare(s shape) *bare {
	w.t.Helper()
	b := &bare{w: w, group: group{s, "writers", perNamespace}}
	w.make(b.group)
	b.Program = program.Start(w.t, os.Environ(), w.writers, "-kubeconfig", w.api.UserKubeconfig(w.t, b.group.String(), "system:masters"), "-group", b.group.String(),
		"-writers", fmt.Sprint(writers), "-targets", fmt.Sprint(s.targets), "-endpoints", fmt.Sprint(s.endpoints), "-per-namespace", fmt.Sprint(perNamespace))
	b.AwaitLog(0, longest, "ready")
	return b
}

// die lets them write as if a node died, and came back.
func (b *bare) die(node int) {
	b.w.t.Helper()
	b.change("Down", node, false, b.group.all()-b.group.targets)
	b.change("Up", node, true, b.group.all())
}

func (b *bare) change(what string, node int, up bool, ready int) {
	b.w.t.Helper()
	b.w.watched.mark(b.group)
	before, told := b.CPU(), time.Now()
	b.Tell("%d %t", node, up)
	times := b.w.watched.await(b.group, ready, b.Fail)
	program.Result(label(what, b.group.shape, "writers"), 1, append(sinceOf(told, times), float64(b.CPU()-before)/float64(b.group.targets), "cpu-ns/target")...)
}
