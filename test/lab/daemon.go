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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Daemon is the built program in a prober's namespace.
type Daemon struct {
	// Env is its environment from the next start on.
	Env map[string]string
	// Program is the program to run; the built one by default.
	Program string

	t         testing.TB
	name      string
	namespace string
	process   *process
}

// daemon makes the n-th daemon of the target, with listeners of its own.
func (x *Target) daemon(n int) *Daemon {
	env := maps.Clone(x.env)
	env["ADMIN_ADDRESS"] = fmt.Sprintf("127.0.0.1:%d", 8080+10*n)
	env["METRICS_ADDRESS"] = fmt.Sprintf("127.0.0.1:%d", 8081+10*n)
	return &Daemon{
		Env: env, Program: built.Program(x.t), t: x.t,
		name: fmt.Sprintf("daemon-%s-%d", x.Name, n), namespace: x.prober,
	}
}

// Start starts the daemon.
func (d *Daemon) Start() {
	d.t.Helper()
	d.process = start(d.t, d.name, environ(d.Env), netns.Inside(d.namespace, d.Program), false)
}

// Stop ends it as Kubernetes does, and fails the test if it does not end well.
func (d *Daemon) Stop() {
	d.t.Helper()
	d.process.signal(syscall.SIGTERM)
	d.process.await()
	if !d.process.state.Success() {
		d.t.Errorf("%s after SIGTERM: %v\n%s", d.name, d.process.state, d.Log())
	}
}

// Kill ends it as a crash does.
func (d *Daemon) Kill() { d.process.kill() }

// Signal sends a signal, such as SIGSTOP and SIGCONT.
func (d *Daemon) Signal(s syscall.Signal) { d.process.signal(s) }

// PID is its process id.
func (d *Daemon) PID() int { return d.process.pid }

// Ended reports whether it has ended.
func (d *Daemon) Ended() bool { return d.process.ended() }

// Log is the end of what it has logged.
func (d *Daemon) Log() string { return d.process.tail(30) }

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
