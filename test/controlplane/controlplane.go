// Package controlplane gives a test a Kubernetes API server of its own: a real etcd
// and a real kube-apiserver, run as child processes on free ports, with their data in
// the test's temporary directory. RBAC is on. The default admission plugins are on
// except ServiceAccount, which is on only with a controller manager, because that
// creates the accounts. Both address families have a service range. Nothing of it
// outlives the test.
//
// The programs are built by tools/build.sh. The package is for tests only.
package controlplane

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
)

// Options says what a control plane needs beyond the usual. The zero value is
// a server on 127.0.0.1 without an audit log.
type Options struct {
	// BindAddress is where the API server listens; 127.0.0.1 when unset. A
	// server that programs in other network namespaces talk to needs an
	// address they can reach.
	BindAddress netip.Addr
	// Audit records every request at Metadata level for [ControlPlane.Audit].
	Audit bool
	// ControllerManager also runs a kube-controller-manager: Deployments come
	// to Pods (as objects; there is no scheduler and no kubelet), namespaces
	// have a ServiceAccount, and what has lost its owner is collected.
	ControllerManager bool
	// NodeLifecycle lets the controller manager take nodes without a kubelet for dead.
	NodeLifecycle bool
	// Flags are appended to the command line of kube-apiserver, so they win.
	Flags []string
}

// ControlPlane is one running etcd with one kube-apiserver, and one
// kube-controller-manager if it was asked for.
type ControlPlane struct {
	t       testing.TB
	options Options
	bin     string
	dir     string
	address netip.AddrPort
	ca      *authority
	admin   *rest.Config
	etcd    *child.Child
	server  *child.Child
	manager *child.Child
	audit   auditLog
}

const (
	// startTimeout bounds each wait for a program; a start takes three seconds
	// on an idle machine, and much longer where everything else is compiled
	// and tested at the same time.
	startTimeout = 2 * time.Minute
	pollInterval = 20 * time.Millisecond
	// rarely lets programs that live for a minute collect garbage rarely, which takes a
	// tenth less of the processors.
	rarely = "GOGC=400"
)

// Start runs a control plane until the test ends and returns when it is ready to
// serve. Without the programs the test fails with the remedy; under -short it is
// skipped, because a start costs seconds.
func Start(t testing.TB, options Options) *ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("a control plane is not started under -short")
	}
	bin, err := binaries(options)
	if err != nil {
		t.Fatal(err)
	}
	if !options.BindAddress.IsValid() {
		options.BindAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	cp := &ControlPlane{t: t, options: options, bin: bin, dir: t.TempDir()}
	t.Cleanup(cp.kill)
	if err := cp.prepare(); err != nil {
		t.Fatalf("controlplane: prepare: %v", err)
	}
	cp.etcd = cp.run("etcd", etcdFlags())
	cp.waitEtcd()
	cp.Start()
	if options.ControllerManager {
		cp.manager = cp.run("kube-controller-manager", managerFlags(options))
	}
	return cp
}

// prepare reserves the port and writes the files that the API server reads.
func (cp *ControlPlane) prepare() error {
	port, release, err := reserve(cp.options.BindAddress)
	if err != nil {
		return err
	}
	cp.t.Cleanup(release)
	cp.address = netip.AddrPortFrom(cp.options.BindAddress, port)
	if cp.ca, err = newAuthority(); err != nil {
		return err
	}
	if cp.admin, err = cp.newConfig("admin", "system:masters"); err != nil {
		return err
	}
	return cp.writeFiles()
}

// Start runs the API server again after [ControlPlane.Stop], on the same port
// and with the same data, and returns when it is ready.
func (cp *ControlPlane) Start() {
	cp.t.Helper()
	cp.server = cp.run("kube-apiserver", cp.serverFlags())
	ctx, cancel := context.WithTimeout(cp.t.Context(), startTimeout)
	defer cancel()
	if err := cp.waitReady(ctx); err != nil {
		cp.t.Fatalf("controlplane: kube-apiserver is not ready: %v\n%s\n%s", err, cp.server.Tail(), cp.etcd.Tail())
	}
}

// waitEtcd returns when etcd has made its socket: a server that is started
// before backs off for a second.
func (cp *ControlPlane) waitEtcd() {
	cp.t.Helper()
	for started := time.Now(); time.Since(started) < startTimeout && !cp.etcd.Ended(); time.Sleep(pollInterval) {
		if _, err := os.Stat(filepath.Join(cp.dir, etcdSocket)); err == nil {
			return
		}
	}
	cp.t.Fatalf("controlplane: etcd does not serve\n%s", cp.etcd.Tail())
}

// Stop kills the API server as a crash would: its connections are reset and
// new ones refused, until [ControlPlane.Start]. The data stays.
func (cp *ControlPlane) Stop() { cp.server.Kill() }

// Pause freezes the API server: connections are accepted and never answered,
// until [ControlPlane.Resume].
func (cp *ControlPlane) Pause() {
	cp.t.Helper()
	cp.signal(syscall.SIGSTOP)
	cp.server.AwaitStopped()
}

// Resume lets a paused API server go on.
func (cp *ControlPlane) Resume() { cp.signal(syscall.SIGCONT) }

// Address is where the API server listens.
func (cp *ControlPlane) Address() netip.AddrPort { return cp.address }

// KubectlPath is the kubectl of the same release as the server.
func (cp *ControlPlane) KubectlPath() string { return filepath.Join(cp.bin, "kubectl") }

// Kubectl runs kubectl as an administrator, and returns what it prints.
func (cp *ControlPlane) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), cp.KubectlPath(), args...)
	command.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + cp.Kubeconfig(t), rarely}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (cp *ControlPlane) signal(s syscall.Signal) {
	cp.t.Helper()
	if err := cp.server.Signal(s); err != nil {
		cp.t.Fatalf("controlplane: send %v to kube-apiserver: %v", s, err)
	}
}

func (cp *ControlPlane) kill() {
	for _, p := range []*child.Child{cp.manager, cp.server, cp.etcd} {
		if p != nil {
			p.Kill()
		}
	}
}

// run starts a program of the control plane in its directory, or fails the test.
func (cp *ControlPlane) run(name string, flags []string) *child.Child {
	cp.t.Helper()
	command := exec.Command(filepath.Join(cp.bin, name), flags...)
	command.Dir, command.Env = cp.dir, append(os.Environ(), rarely)
	p, err := child.Start(command, filepath.Join(cp.dir, name+".log"))
	if err != nil {
		cp.t.Fatalf("controlplane: start %s: %v", name, err)
	}
	return p
}

// binaries finds the folder that tools/build.sh fills: .tools/bin beside the
// go.mod above the working directory. KUBEBUILDER_ASSETS, the name that other
// projects' tests use, points elsewhere.
func binaries(options Options) (string, error) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" {
		root, err := moduleRoot()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, ".tools", "bin")
	}
	names := []string{"etcd", "kube-apiserver", "kubectl"}
	if options.ControllerManager {
		names = append(names, "kube-controller-manager")
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("controlplane: %w; run `tools/build.sh test` (or `make test`, which does), "+
				"or leave these tests out with -short", err)
		}
	}
	return dir, nil
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("controlplane: no go.mod above the working directory")
		}
		dir = parent
	}
}
