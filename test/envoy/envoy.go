// Package envoy runs a real Envoy inside a named network namespace, and asks its admin
// listener there how it is.
//
// What Envoy logs of requests is in [Envoy.AccessLog] where its configuration writes it
// to the standard output (StdoutAccessLog). Needs root and iproute2; tools/build.sh
// fetches Envoy. The package is for tests only.
package envoy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// admin is the admin listener, in Envoy's own namespace. It takes the place of that of
// the configuration.
const admin = "127.0.0.1:9901"

const (
	// startTimeout bounds the start, which takes less than a second on an idle machine.
	startTimeout = time.Minute
	askTimeout   = 5 * time.Second
	pollInterval = 20 * time.Millisecond
)

// Options say where and how Envoy runs.
type Options struct {
	// Namespace is the network namespace, as `ip netns` names it; empty for that of the
	// test.
	Namespace string
	// Bootstrap is the configuration, as YAML. Required.
	Bootstrap string
}

// Envoy is one running Envoy.
type Envoy struct {
	t       testing.TB
	options Options
	process *child.Child
	output  string // the file with its standard output
}

// Start runs Envoy until the test ends, and returns when it is ready: when it has all
// that its configuration waits for.
func Start(t testing.TB, options Options) *Envoy {
	t.Helper()
	if options.Bootstrap == "" {
		t.Fatal("envoy: Options need a Bootstrap")
	}
	dir := t.TempDir()
	e := &Envoy{t: t, options: options, output: filepath.Join(dir, "stdout")}
	host, port, _ := net.SplitHostPort(admin)
	args := []string{
		built.Tool(t, "envoy"), "--config-path", write(t, dir, options.Bootstrap),
		"--config-yaml", fmt.Sprintf("admin: {address: {socket_address: {address: %s, port_value: %s}}}", host, port),
		"--disable-hot-restart", "--concurrency", "2", "--log-level", "warning",
		// The access log of a request is in the file soon, not after 10 s.
		"--file-flush-interval-msec", "100",
	}
	if options.Namespace != "" {
		args = netns.Inside(options.Namespace, args...)
	}
	output, err := os.Create(e.output)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	command := exec.Command(args[0], args[1:]...)
	command.Stdout = output
	if e.process, err = child.Start(command, filepath.Join(dir, "envoy.log")); err != nil {
		t.Fatalf("envoy: start in namespace %q: %v", options.Namespace, err)
	}
	t.Cleanup(e.Kill)
	e.waitReady()
	return e
}

// Validate returns what Envoy has against a configuration, nil if nothing. It sends
// nothing and listens nowhere.
func Validate(t testing.TB, bootstrap string) error {
	t.Helper()
	command := exec.CommandContext(t.Context(), built.Tool(t, "envoy"), "--mode", "validate", "--log-level", "error", "--config-path", write(t, t.TempDir(), bootstrap))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// write writes a configuration to a file and returns its path.
func write(t testing.TB, dir, bootstrap string) string {
	t.Helper()
	path := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(path, []byte(bootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (e *Envoy) waitReady() {
	e.t.Helper()
	for deadline := time.Now().Add(startTimeout); ; <-time.After(pollInterval) {
		_, err := e.ask("/ready")
		switch {
		case err == nil:
			return
		case e.process.Ended():
			e.t.Fatalf("envoy: it ended before it was ready\n%s", e.Log())
		case time.Now().After(deadline):
			e.t.Fatalf("envoy: not ready after %v: %v\n%s", startTimeout, err, e.Log())
		}
	}
}

// Stop ends Envoy as Kubernetes does, and waits until it has ended.
func (e *Envoy) Stop() {
	e.t.Helper()
	_ = e.process.Signal(syscall.SIGTERM) // it may have ended
	if err := e.process.Await(startTimeout); err != nil {
		e.t.Fatalf("envoy: after SIGTERM: %v\n%s", err, e.Log())
	}
}

// Kill ends Envoy as a crash does.
func (e *Envoy) Kill() { e.process.Kill() }

// Log returns the last lines of Envoy's own log.
func (e *Envoy) Log() string { return e.process.Tail() }

// AccessLog returns what was written to the standard output so far, by lines.
func (e *Envoy) AccessLog() []string {
	e.t.Helper()
	text, err := os.ReadFile(e.output)
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[:strings.Count(string(text), "\n")]
}

// Get returns what the admin listener answers to a GET, such as /clusters.
func (e *Envoy) Get(path string) string {
	e.t.Helper()
	answer, err := e.ask(path)
	if err != nil {
		e.t.Fatalf("envoy: %v\n%s", err, e.Log())
	}
	return answer
}

// ConfigDump returns the configuration in use, with the endpoints, as JSON.
func (e *Envoy) ConfigDump() string {
	e.t.Helper()
	return e.Get("/config_dump?include_eds")
}

// Stat returns a counter or gauge, such as "cluster.web.upstream_rq_total". One that
// Envoy does not have fails the test.
func (e *Envoy) Stat(name string) int64 {
	e.t.Helper()
	var answer struct {
		Stats []struct {
			Name  string
			Value int64
		}
	}
	text := e.Get("/stats?format=json&type=All&filter=" + url.QueryEscape("^"+regexp.QuoteMeta(name)+"$"))
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		e.t.Fatalf("envoy: stats: %v in %s", err, text)
	}
	if len(answer.Stats) != 1 {
		e.t.Fatalf("envoy: got %d stats with the name %s, want one", len(answer.Stats), name)
	}
	return answer.Stats[0].Value
}

// ask sends a GET to the admin listener.
func (e *Envoy) ask(path string) (string, error) {
	client := http.Client{Timeout: askTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if e.options.Namespace == "" {
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			return netns.Dial(ctx, e.options.Namespace, network, address)
		},
	}}
	response, err := client.Get("http://" + admin + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", errors.New("GET " + path + ": " + response.Status + ": " + string(body))
	}
	return string(body), nil
}
