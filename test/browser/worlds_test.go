package browser_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// waitTimeout bounds every wait of a test; none is expected to take so long.
const waitTimeout = 60 * time.Second

// node is a line of the inventory file.
type node struct {
	Name   string `json:"name"`
	IP     string `json:"private_ip"`
	ID     string `json:"id,omitempty"`
	Zone   string `json:"zone,omitempty"`
	Ready  bool   `json:"ready"`
	Worker bool   `json:"worker"`
}

func TestMain(m *testing.M) { built.Main(m) }

// worker makes a node that is ready.
func worker(name, ip string) node { return node{Name: name, IP: ip, Ready: true, Worker: true} }

// daemon is the built binary on an inventory file and backends of its own.
type daemon struct {
	t         *testing.T
	inventory string
	backends  []net.Listener
	port      int
	url       string
}

// backend returns the address of a backend by its number.
func backend(i int) string { return fmt.Sprintf("127.0.7.%d", i+1) }

// listenAll opens so many backends, all on one port.
func (d *daemon) listenAll(count int) {
	d.t.Helper()
	for i := range count {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(netip.MustParseAddr(backend(i)), uint16(d.port)).String())
		if err != nil {
			d.t.Fatal(err)
		}
		d.backends = append(d.backends, listener)
		d.port = listener.Addr().(*net.TCPAddr).Port
		d.t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Close()
			}
		}()
	}
}

// write replaces the inventory in one step.
func (d *daemon) write(nodes []node) {
	d.t.Helper()
	text, err := json.Marshal(nodes)
	if err != nil {
		d.t.Fatal(err)
	}
	next := d.inventory + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(next, d.inventory); err != nil {
		d.t.Fatal(err)
	}
}

// newDaemon starts the program on the nodes, the first of which have backends.
func newDaemon(t *testing.T, backends int, nodes []node, settings ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, inventory: filepath.Join(t.TempDir(), "inventory.json")}
	d.listenAll(backends)
	d.write(nodes)
	cmd := exec.CommandContext(t.Context(), built.Program(t))
	cmd.Env = append([]string{
		"SOURCE_KIND=file", "INVENTORY_FILE_PATH=" + d.inventory, "SOURCE_POLL_INTERVAL=500ms", "EMPTY_RESULT_THRESHOLD=0",
		"SECURED_SUBNET_CIDR=127.0.0.0/8", "TARGET_SERVICE_NAME=web", fmt.Sprintf("TARGET_PORT=%d", max(d.port, 1)),
		"HEALTH_CHECK_INTERVAL=500ms", "HEALTH_CHECK_TIMEOUT=400ms", "ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0",
	}, settings...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			var line struct {
				Message string `json:"msg"`
				Admin   string `json:"admin_address"`
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == "listening" {
				listening <- line.Admin
			}
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { <-ended }) // the test's context has ended by now
	select {
	case address := <-listening:
		d.url = "http://" + address + "/"
	case <-ended:
		t.Fatal("the program ended before it was listening")
	case <-time.After(waitTimeout):
		t.Fatal("the program does not listen")
	}
	return d
}

// until waits until the document is as wanted.
func (d *daemon) until(what string, ok func(report.Document) bool) {
	d.t.Helper()
	var got report.Document
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		got = d.document()
		if ok(got) {
			return
		}
	}
	d.t.Fatalf("%s: not within %s: %s, %d nodes", what, waitTimeout, got.Summary, len(got.Nodes))
}

// document asks for the document.
func (d *daemon) document() (doc report.Document) {
	d.t.Helper()
	answer, err := http.Get(d.url + "api/v1/services/default/web")
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil {
		d.t.Fatal(err)
	}
	return doc
}

// workers are nodes with the addresses of the first backends.
func workers(count int) []node {
	nodes := make([]node, count)
	for i := range nodes {
		nodes[i] = worker(fmt.Sprintf("frankfurt-worker-%d", i+1), backend(i))
		nodes[i].Zone = []string{"de/fra", "de/fra-2"}[i%2]
		nodes[i].ID = fmt.Sprintf("7c1d3a52-0b1e-4f6a-9d6c-2f8e5b7a9c%02d", i)
	}
	return nodes
}
