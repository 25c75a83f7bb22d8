package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

const (
	// longest bounds every wait; a machine that tests much else is slow.
	longest     = time.Minute
	backendPort = 8080
	proxyPort   = "8081"
)

// world is what runs beside the API server.
type world struct {
	kubeconfig, socket, config string
	agentPath                  string // the built example
	haproxy                    *program
	source                     *program
	mu                         sync.Mutex
	held                       map[string]chan struct{}
	arrived                    chan struct{}
}

func newWorld(t *testing.T, api *controlplane.ControlPlane) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		kubeconfig: api.Kubeconfig(t), socket: filepath.Join(dir, "s"), config: filepath.Join(dir, "haproxy.cfg"),
		agentPath: filepath.Join(dir, "agent"),
		held:      map[string]chan struct{}{}, arrived: make(chan struct{}, 1),
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", w.agentPath, ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as the others, which are compiled already
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w
}

// program is a running program.
type program struct {
	*exec.Cmd
	done    chan struct{}
	log     string
	address string
}

// start runs it until the test ends or stop is called.
func (w *world) start(t *testing.T, env []string, path string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), path, args...), done: make(chan struct{})}
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.Env, p.Stdout, p.Stderr, p.log = env, log, log, log.Name()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // the log says why
		close(p.done)
	}()
	t.Cleanup(func() {
		w.stop(t, p, syscall.SIGKILL)
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s:\n%s", filepath.Base(path), text[max(0, len(text)-4000):])
		}
	})
	return p
}

// stop ends a program, and asks for exit status 0 of one that was asked to end.
func (w *world) stop(t *testing.T, p *program, signal syscall.Signal) {
	t.Helper()
	if p.Process.Signal(signal) != nil {
		return // ended before
	}
	<-p.done
	if signal == syscall.SIGTERM && p.ProcessState.ExitCode() != 0 {
		t.Errorf("%s: %v", filepath.Base(p.Path), p.ProcessState)
	}
}

func (w *world) proxy(t *testing.T) {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if errors.Is(err, exec.ErrNotFound) {
		path, err = exec.LookPath("/usr/sbin/haproxy") // not in every user's PATH
	}
	if err != nil {
		t.Fatalf("%v; run hack/install-test-packages.sh", err)
	}
	if err := os.WriteFile(w.config, w.configuration(t), 0o600); err != nil {
		t.Fatal(err)
	}
	w.haproxy = w.start(t, nil, path, "-db", "-f", w.config)
	w.until(t, "HAProxy listens", func() bool { return w.state(t, "fallback") == maint })
}

func (w *world) restartProxy(t *testing.T) {
	t.Helper()
	w.stop(t, w.haproxy, syscall.SIGKILL)
	w.proxy(t)
}

// views starts endpoint-views.
func (w *world) views(t *testing.T, address string) *program {
	t.Helper()
	p := w.start(t, []string{"KUBECONFIG=" + w.kubeconfig, "VIEWS_ADDRESS=" + address, "METRICS_ADDRESS=127.0.0.1:0"}, built.Views(t), "serve")
	w.until(t, "endpoint-views listens", func() bool {
		text, err := os.ReadFile(p.log)
		for line := range bytes.Lines(text) {
			var said struct {
				Views string `json:"views_address"`
			}
			if json.Unmarshal(line, &said) == nil && said.Views != "" {
				p.address = said.Views
			}
		}
		return err == nil && p.address != ""
	})
	w.source = p
	return p
}

func (w *world) agent(t *testing.T) *program {
	t.Helper()
	return w.start(t, nil, w.agentPath, "-server", "http://"+w.source.address, "-socket", w.socket, "-route", namespace+"/web:http=web")
}

// until waits for a condition.
func (w *world) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s; the answers come of %q", longest, what, w.answering(t))
		}
	}
}

// backend answers with its address; to /hold only after the test allows it.
func (w *world) backend(t *testing.T, address netip.Addr) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(backendPort)))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: longest, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold/"+address.String() {
			w.mu.Lock()
			held := w.held[address.String()]
			w.mu.Unlock()
			w.arrived <- struct{}{}
			<-held
		}
		_, _ = io.WriteString(out, address.String())
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

// get sends one request through HAProxy, and returns which endpoint answered.
func (w *world) get(path string) (string, error) {
	client := http.Client{Timeout: longest, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://127.0.0.1:" + proxyPort + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return string(text), err
}

// openRequest is a request that an endpoint has not answered.
type openRequest struct {
	release chan struct{}
	answer  chan string
}

// hold sends requests until the endpoint has one, which it answers at finish.
func (w *world) hold(t *testing.T, address string) *openRequest {
	t.Helper()
	h := &openRequest{release: make(chan struct{}), answer: make(chan string, 1)}
	w.mu.Lock()
	w.held[address] = h.release
	w.mu.Unlock()
	go func() {
		for { // the others answer at once
			from, err := w.get("/hold/" + address)
			if err != nil {
				from = err.Error()
			}
			if from == address || err != nil {
				h.answer <- from
				return
			}
		}
	}()
	select {
	case <-w.arrived:
	case <-time.After(longest):
		t.Fatalf("no request reached %s", address)
	}
	return h
}

func (h *openRequest) finish() string {
	close(h.release)
	return <-h.answer
}

// traffic is requests, one after the other.
type traffic struct {
	stop, done chan struct{}
	sent       int
	failed     []string
}

func (w *world) load(t *testing.T) *traffic {
	t.Helper()
	l := &traffic{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			select {
			case <-l.stop:
				return
			case <-t.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
			l.sent++
			if _, err := w.get("/"); err != nil {
				l.failed = append(l.failed, err.Error())
			}
		}
	}()
	return l
}

func (l *traffic) end() (sent int, failed []string) {
	close(l.stop)
	<-l.done
	return l.sent, l.failed
}
