//go:build lab

package lab

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Daemon is a built program in a namespace: the daemon of a target or platform in that of
// its prober, or the server of a [Fleet].
type Daemon struct {
	// Env is its environment from the next start on.
	Env map[string]string
	// Program is the program to run; the built one by default.
	Program string

	t         testing.TB
	name      string
	namespace string
	args      []string
	process   *process
}

// daemon makes the n-th daemon of the target, with listeners of its own.
func (x *Target) daemon(n int) *Daemon {
	return newDaemon(x.t, x.Name, x.prober, n, x.env)
}

// newDaemon makes the n-th daemon in a network namespace.
func newDaemon(t testing.TB, name, namespace string, n int, env map[string]string) *Daemon {
	t.Helper()
	env = maps.Clone(env)
	env["ADMIN_ADDRESS"] = fmt.Sprintf("127.0.0.1:%d", 8080+10*n)
	env["METRICS_ADDRESS"] = fmt.Sprintf("127.0.0.1:%d", 8081+10*n)
	return &Daemon{
		Env: env, Program: built.Program(t), t: t,
		name: fmt.Sprintf("daemon-%s-%d", name, n), namespace: namespace,
	}
}

// Start starts the daemon.
func (d *Daemon) Start() {
	d.t.Helper()
	d.process = start(d.t, d.name, environ(d.Env), netns.Inside(d.namespace, append([]string{d.Program}, d.args...)...), false)
}

// StartAll starts several at a time, and returns when all are ready.
func StartAll(daemons ...*Daemon) {
	for _, d := range daemons {
		d.Start()
	}
	for _, d := range daemons {
		d.AwaitReady()
	}
}

// Stop ends it as Kubernetes does, and fails the test if it does not end well.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.process.stop()
	if !d.process.State().Success() {
		d.t.Errorf("%s after SIGTERM: %v\n%s", d.name, d.process.State(), d.Log())
	}
}

// Kill ends it as a crash does.
func (d *Daemon) Kill() { d.process.Kill() }

// AwaitEnd waits until it has ended by itself.
func (d *Daemon) AwaitEnd() {
	d.t.Helper()
	d.process.end()
}

// Signal sends a signal, such as SIGSTOP and SIGCONT.
func (d *Daemon) Signal(s syscall.Signal) { d.process.signal(s) }

// PID is its process id.
func (d *Daemon) PID() int { return d.process.PID }

// Ended reports whether it has ended.
func (d *Daemon) Ended() bool { return d.process.Ended() }

// Log is the end of what it has logged.
func (d *Daemon) Log() string { return d.process.Tail() }

// AwaitLogged waits until it has logged a line with all of these texts.
func (d *Daemon) AwaitLogged(texts ...string) {
	d.t.Helper()
	until(d.t, func() string { return fmt.Sprintf("%s has not logged %q\n%s", d.name, texts, d.Log()) }, func() bool {
		log, err := os.ReadFile(d.process.Log)
		if err != nil {
			d.t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) }) {
				return true
			}
		}
		return false
	})
}

// Get asks one of its listeners: "METRICS_ADDRESS" or "ADMIN_ADDRESS".
func (d *Daemon) Get(listener, path string) (status int, body string, err error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return netns.Dial(ctx, d.namespace, network, address)
	}}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	response, err := client.Get("http://" + d.Env[listener] + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// AwaitReady waits until /readyz answers 200: the first decision is made.
func (d *Daemon) AwaitReady() {
	d.t.Helper()
	until(d.t, func() string { return d.name + " is not ready\n" + d.Log() }, func() bool {
		if d.Ended() {
			d.t.Fatalf("%s has ended\n%s", d.name, d.Log())
		}
		status, _, err := d.Get("METRICS_ADDRESS", "/readyz")
		return err == nil && status == http.StatusOK
	})
}

// Metric returns the sum of a metric's values over all labels, or 0 without any.
func (d *Daemon) Metric(name string) float64 {
	d.t.Helper()
	_, text, err := d.Get("METRICS_ADDRESS", "/metrics")
	if err != nil {
		d.t.Fatalf("%s: /metrics: %v", d.name, err)
	}
	sum := 0.0
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if found, _, _ := strings.Cut(series, "{"); found != name {
			continue
		}
		number, err := strconv.ParseFloat(value[strings.LastIndex(value, " ")+1:], 64)
		if err != nil {
			d.t.Fatalf("%s: /metrics: %q: %v", d.name, line, err)
		}
		sum += number
	}
	return sum
}

// Descriptors is how many files it has open.
func (d *Daemon) Descriptors() int {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(d.PID()), "fd"))
	if err != nil {
		d.t.Fatal(err)
	}
	return len(entries)
}
