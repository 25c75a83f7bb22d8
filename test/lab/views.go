//go:build lab

package lab

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	// serverName is the name of all replicas of endpoint-views serve, as a headless Service
	// has it, and streamPort where they say what the Envoys acknowledged.
	serverName = "endpoint-views.infra"
	streamPort = 8443
	// operatorAccount is the ServiceAccount that deploy/fleet has.
	operatorAccount = "system:serviceaccount:infra:endpoint-views-fleet"
	// envoyDigest is an image: the kubelet has none.
	envoyDigest = "envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	// leads is a metric of an operator: 1 while it holds the Lease.
	leads = "leader_election_master_status"
)

// Views is what deploy/fleet installs: replicas of endpoint-views serve, and operators, of
// which one at a time makes Pods of each Envoy.
type Views struct {
	Replicas, Operators []*Daemon

	t     testing.TB
	world *World
	signs *authority
}

// Views installs the kind and starts two operators and so many replicas.
func (w *World) Views(t testing.TB, replicas int) *Views {
	t.Helper()
	v := &Views{t: t, world: w, signs: newAuthority(t)}
	w.Kubectl(t, "create", "namespace", "infra")
	deploy := filepath.Join("..", "..", "deploy", "fleet")
	w.Kubectl(t, "apply", "--filename", filepath.Join(deploy, "fleet.ablmnzde.github.io_envoys.yaml"), "--filename", filepath.Join(deploy, "rights.yaml"))
	w.Kubectl(t, "wait", "--for=condition=Established", "--timeout=1m", "crd/envoys.fleet.ablmnzde.github.io")
	w.Local.AwaitRights(t, operatorAccount, true, authorizationv1.ResourceAttributes{Group: "apps", Resource: "deployments"}, "list", "watch", "create", "patch")

	folder := t.TempDir()
	token, identities := filepath.Join(folder, "token"), filepath.Join(folder, "identities.yaml")
	write(t, token, "the token of the operator\n")
	write(t, identities, fmt.Sprintf("identities:\n- {name: infra/fleet, namespaces: [\"*\"], tokenFile: %q}\n", token))
	addresses, server := make([]netip.Addr, replicas), v.signs.named(serverName)
	var names strings.Builder
	names.WriteString("127.0.0.1 localhost\n")
	for i := range addresses {
		replica, address := v.machine("views")
		addresses[i] = address
		fmt.Fprintf(&names, "%v %s\n", address, serverName)
		replica.args = []string{"serve"}
		replica.Env = map[string]string{
			"KUBECONFIG": w.grantFleets(t), "METRICS_ADDRESS": "127.0.0.1:8083", "XDS_WATCH_FLEETS": "true",
			"VIEWS_ADDRESS": netip.AddrPortFrom(address, streamPort).String(), "XDS_ADDRESS": netip.AddrPortFrom(address, xdsPort).String(),
			"VIEWS_TLS_CERT_FILE": filepath.Join(server, "tls.crt"), "VIEWS_TLS_KEY_FILE": filepath.Join(server, "tls.key"),
			"VIEWS_CLIENT_CA_FILE": filepath.Join(server, "ca.crt"), "VIEWS_IDENTITIES_FILE": identities,
		}
		v.Replicas = append(v.Replicas, replica)
	}
	w.name(t, names.String())
	for range 2 {
		operator, _ := v.machine("operator")
		operator.args = []string{"fleet"}
		operator.Env = map[string]string{
			"KUBECONFIG": w.Local.UserKubeconfig(t, operatorAccount), "METRICS_ADDRESS": "127.0.0.1:8083",
			"FLEET_LEADER_ELECTION": "true", "FLEET_LEASE_NAMESPACE": "infra",
			"FLEET_XDS_SERVER": fmt.Sprintf("%s:%d", serverName, xdsPort), "FLEET_ENVOY_IMAGE": envoyDigest, "FLEET_IMAGE": "endpoint-views:1",
			"FLEET_SERVE_URL": fmt.Sprintf("https://%s:%d", serverName, streamPort), "FLEET_SERVE_CA_FILE": filepath.Join(server, "ca.crt"), "FLEET_SERVE_TOKEN_FILE": token,
		}
		v.Operators = append(v.Operators, operator)
	}
	StartAll(v.All()...)
	return v
}

// machine is a machine for a program, which is not started.
func (v *Views) machine(kind string) (*Daemon, netip.Addr) {
	v.t.Helper()
	n := numbers.Add(1)
	name := fmt.Sprintf("%s-%d", kind, n)
	address, _ := probers(n)
	netns.Add(v.t, name)
	leg(v.t, name, mgmt, address)
	return &Daemon{Program: built.Views(v.t), t: v.t, name: name, namespace: name}, address
}

// All are the operators and the replicas.
func (v *Views) All() []*Daemon { return slices.Concat(v.Operators, v.Replicas) }

// Leader waits until one of the operators holds the Lease, and returns it and the other one.
// Both have to run.
func (v *Views) Leader() (leader, standby *Daemon) {
	v.t.Helper()
	until(v.t, func() string { return "no operator holds the Lease\n" + v.Operators[0].Log() }, func() bool {
		for i, d := range v.Operators {
			if d.Metric(leads) == 1 {
				leader, standby = d, v.Operators[1-i]
				return true
			}
		}
		return false
	})
	return leader, standby
}

// AwaitLeader waits until an operator holds the Lease.
func (v *Views) AwaitLeader(d *Daemon) {
	v.t.Helper()
	d.AwaitMetric(leads, 1)
}

// WantOneWriter fails the test if an operator has written while another one held the Lease,
// by the API server's log of all requests. It returns how often the Lease changed hands.
func (v *Views) WantOneWriter() (changes int) {
	v.t.Helper()
	holder := ""
	for _, e := range v.world.Local.Audit() {
		switch {
		case e.User != operatorAccount || !e.Writes() || e.Resource == "events":
		case e.Resource == "leases":
			if e.Code < http.StatusMultipleChoices && e.Source != holder {
				holder = e.Source
				changes++
			}
		case e.Source != holder:
			v.t.Errorf("%s: the operator at %s wrote while the one at %s held the Lease: %s %s %s/%s: %d",
				e.Received.Format("15:04:05.000"), e.Source, holder, e.Verb, e.Resource, e.Namespace, e.Name, e.Code)
		}
	}
	return changes
}

// grantFleets gives the replicas their rights and returns their kubeconfig.
func (w *World) grantFleets(t testing.TB) string {
	t.Helper()
	return mayWatch(t, w.Local, w.local, viewer+"-fleets", schema.GroupResource{Resource: "services"},
		schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, schema.GroupResource{Group: "fleet.ablmnzde.github.io", Resource: "envoys"})
}

// name makes these the names of machines, for this process, for those that it starts, and
// for Pods. The mount namespace is the test's own.
func (w *World) name(t testing.TB, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hosts")
	write(t, file, text)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, fmt.Sprintf("mount --bind %s /etc/hosts", file))
	t.Cleanup(func() { _ = exec.Command("umount", "/etc/hosts").Run() })
	w.names = text
}

// Kubectl is what an administrator's kubectl prints for the local cluster.
func (w *World) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	output, err := w.kubectl(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %v: %v: %s", args, err, output)
	}
	return string(output)
}

func (w *World) kubectl(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command(w.Local.KubectlPath(), append([]string{"--kubeconfig", w.Local.Kubeconfig(t), "--cache-dir", filepath.Join(filepath.Dir(w.load), "kubectl")}, args...)...)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
