package e2e_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestTheRemoteCluster has the nodes in one API server and the slice in another,
// and the built program between them.
func TestTheRemoteCluster(t *testing.T) {
	netns.Require(t)
	local := controlplane.Start(t, controlplane.Options{Audit: true})
	t.Run("each change of a node reaches the slice and the decisions", func(t *testing.T) {
		t.Parallel()
		cp := controlplane.Start(t, controlplane.Options{Audit: true})
		r := newRemote(t, cp, newWorld(t, local, "client-go"))
		changesAreDecided(t, r)
		changesAreMeasured(t, r)
	})
	t.Run("Contract01And04 an outage with a new token loses no member and is over at once", func(t *testing.T) {
		t.Parallel()
		outages(t, newWorld(t, local, "client-go"))
	})
	t.Run("Contract36 a right on nodes that is taken away at rest is told within 45 s", func(t *testing.T) {
		t.Parallel()
		theRightOnNodesIsTaken(t, newRemote(t, local, newWorld(t, local, "client-go")))
	})
}

// changesAreDecided goes through every change that a node can undergo.
func changesAreDecided(t *testing.T, r *remote) {
	t.Helper()
	d := r.start("DRAIN_PERIOD=3s")
	defer d.kill()
	r.wantPublished(r.all())
	first, name := r.nodes[0], r.nodes[0].Name
	before := r.writes()

	r.edit(name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	pause()
	r.wantPublished(r.all())
	r.wantWrites(before, 0)
	r.edit(name, func(n *corev1.Node) { n.Spec.Unschedulable = false })

	r.edit(name, announced)
	r.wantPublished(r.all("draining"))
	r.wantPublished(r.all()[1:])
	r.edit(name, unannounced)
	r.wantPublished(r.all())

	r.readiness(name, corev1.ConditionUnknown)
	r.wantPublished(r.all("draining"))
	r.wantExplained(name, "NodeNotReady", "condition Ready is Unknown since", "NodeStatusUnknown")
	r.readiness(name, corev1.ConditionFalse)
	r.wantExplained(name, "NodeNotReady", "condition Ready is False since", "KubeletNotReady")
	r.readiness(name, corev1.ConditionTrue)
	r.wantPublished(r.all())

	r.edit(name, func(n *corev1.Node) { n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""} })
	r.wantExplained(name, "NotWorker", "it has the label node-role.kubernetes.io/control-plane")
	r.edit(name, func(n *corev1.Node) { n.Labels = nil })
	r.wantPublished(r.all())

	addressIsFollowed(r, name, first.IP)

	r.remove(name)
	r.wantPublished(r.all()[1:])
	r.create(name, first.IP)
	r.wantPublished(r.all())
	allAtOnceAreHeld(t, r, d)
}

// addressIsFollowed gives a node another address and then its own again.
func addressIsFollowed(r *remote, name, own string) {
	r.t.Helper()
	moved := r.spare(netns.Addresses(r.t, 1)[0])
	r.address(name, moved)
	r.until(func() bool {
		return slices.Contains(r.published(), moved+" ready") && !strings.Contains(fmt.Sprint(r.published()), own+" ")
	}, func() string {
		return fmt.Sprintf("published: got %v, want %s instead of %s", r.published(), moved, own)
	})
	r.address(name, own)
	r.wantPublished(r.all())
}

// allAtOnceAreHeld lets every node fall silent at once.
func allAtOnceAreHeld(t *testing.T, r *remote, d *daemon) {
	t.Helper()
	for _, n := range r.nodes {
		r.readiness(n.Name, corev1.ConditionUnknown)
	}
	for d.says("mode changed")["to"] != "Hold" {
	}
	held := len(r.published())
	if held < 2 {
		t.Errorf("all nodes not ready at once: got %v published, want them held", r.published())
	}
	for _, n := range r.nodes {
		r.readiness(n.Name, corev1.ConditionTrue)
	}
	r.wantPublished(r.all())
	for d.says("mode changed")["to"] != "Publish" {
	}
}

// changesAreMeasured reports how long a change takes from its arrival at one API
// server to the arrival of the slice's write at the other.
func changesAreMeasured(t *testing.T, r *remote) {
	t.Helper()
	d := r.start("DRAIN_PERIOD=10m")
	d.says("started from the slices")
	pause()
	heartbeatsAreMeasured(t, r, d)
	name, ip := r.nodes[0].Name, r.nodes[0].IP
	spare := r.spare(netns.Addresses(t, 1)[0])
	exclude := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""} }
	include := func(n *corev1.Node) { n.Labels = nil }
	changes := []struct {
		what, want string
		do         func()
	}{
		{"announced", ip + " draining", func() { r.edit(name, announced) }},
		{"announcement withdrawn", ip + " ready", func() { r.edit(name, unannounced) }},
		{"not ready", ip + " draining", func() { r.readiness(name, corev1.ConditionUnknown) }},
		{"ready", ip + " ready", func() { r.readiness(name, corev1.ConditionTrue) }},
		{"excluded", ip + " draining", func() { r.edit(name, exclude) }},
		{"included", ip + " ready", func() { r.edit(name, include) }},
		{"another address", spare + " ready", func() { r.address(name, spare) }},
		{"its address again", ip + " ready", func() { r.address(name, ip) }},
		{"deleted", ip + " draining", func() { r.remove(name) }},
		{"created", ip + " ready", func() { r.create(name, ip) }},
	}
	var took []time.Duration
	var here, there int
	for range 6 {
		for _, change := range changes {
			pause()
			localBefore, remoteBefore := asked(r.world.cp, r.world.user), asked(r.cp, r.user)
			change.do()
			r.until(func() bool { return slices.Contains(r.published(), change.want) }, func() string {
				return fmt.Sprintf("%s: published: got %v, want %s", change.what, r.published(), change.want)
			})
			arrived := lastWrite(r.cp.Audit())
			asks := asked(r.world.cp, r.world.user)[len(localBefore):]
			if len(asks) == 0 {
				t.Fatalf("%s: the audit log has no request of the daemon", change.what)
			}
			took = append(took, asks[0].Received.Sub(arrived.Received))
			here, there = here+len(asks), there+len(asked(r.cp, r.user))-len(remoteBefore)
		}
	}
	tellTimes(t, took)
	n := len(took)
	t.Logf("requests per change: %.2f to the local API server, %.2f to the remote one", float64(here)/float64(n), float64(there)/float64(n))
	if here != n || there != 0 {
		t.Errorf("got %d local and %d remote requests for %d changes, want one local one each", here, there, n)
	}
}

// tellTimes reports a distribution.
func tellTimes(t *testing.T, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	n := len(took)
	t.Logf("change of a node to write of the slice, %d changes: least %v, median %v, 90 %% %v, 99 %% %v, most %v",
		n, took[0], took[n/2], took[n*9/10], took[n*99/100], took[n-1])
}

// heartbeatsAreMeasured reports what the daemon spends on status updates that
// change nothing, of a node with as many images as kubelets report.
func heartbeatsAreMeasured(t *testing.T, r *remote, d *daemon) {
	t.Helper()
	name, before := r.nodes[1].Name, asked(r.world.cp, r.world.user)
	r.report(name, func(n *corev1.Node) {
		for i := range 50 {
			image := fmt.Sprintf("registry.example.com/team-%d/component-%d", i%7, i)
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
				Names: []string{image + "@sha256:" + strings.Repeat("0123456789abcdef", 4), image + ":v1.2.3"}, SizeBytes: 123456789,
			})
		}
	})
	const beats = 500
	spent := d.cpu()
	now := time.Now()
	for i := range beats { // each in a second of its own: an equal update would change nothing
		r.report(name, func(n *corev1.Node) {
			n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(now.Add(time.Duration(i) * time.Second))
		})
	}
	t.Logf("%d heartbeats cost the daemon %v of CPU each, its health checks meanwhile included", beats, (d.cpu()-spent)/beats)
	if got := asked(r.world.cp, r.world.user)[len(before):]; len(got) != 0 {
		t.Errorf("heartbeats made requests: %+v", got)
	}
}

// cpu is the time that the daemon has spent so far, in steps of 10 ms.
func (d *daemon) cpu() time.Duration {
	d.world.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		d.world.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.Atoi(field)
		if err != nil {
			d.world.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// lastWrite is the newest write that a server has received.
func lastWrite(events []controlplane.AuditEvent) controlplane.AuditEvent {
	writes := slices.DeleteFunc(events, func(e controlplane.AuditEvent) bool { return !e.Writes() || e.Resource != "nodes" })
	return writes[len(writes)-1]
}

// outages takes the remote API server away in two ways: by a crash, during which
// the token is replaced, and by a network that swallows everything.
func outages(t *testing.T, w *world) {
	t.Helper()
	addr := netip.MustParseAddr("10.0.200.1") // none that another test is given when it is gone
	netns.AddAddress(t, addr)
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	issue := func(token string) {
		t.Helper()
		if err := os.WriteFile(tokens, []byte(token+",watcher,1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	issue("canary-first")
	cp := controlplane.Start(t, controlplane.Options{BindAddress: addr, Flags: []string{"--token-auth-file=" + tokens}})
	r := newRemote(t, cp, w)
	r.login("canary-first")
	d := r.start("DRAIN_PERIOD=10m")
	r.wantPublished(r.all())
	before := r.writes()

	cp.Stop()
	issue("canary-second")
	r.login("canary-second")
	d.says("source read failed; endpoints stay published, and health checks go on")
	<-time.After(time.Minute)
	r.wantPublished(r.all())
	cp.Start()
	changeIsSeen(t, r, "a crash with a new token", announced, "draining")
	d.says("source recovered")
	pause()

	netns.RemoveAddress(t, addr)
	d.says("source read failed; endpoints stay published, and health checks go on")
	<-time.After(20 * time.Second)
	r.wantPublished(r.all("draining"))
	// Not by netns, which holds what was given for gone until the test ends.
	if out, err := exec.Command("ip", "address", "add", addr.String()+"/32", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	changeIsSeen(t, r, "a network that was gone", unannounced, "ready")
	r.wantWrites(before, 2)
	d.mu.Lock()
	defer d.mu.Unlock()
	if strings.Contains(strings.Join(d.raw, "\n"), "canary") {
		t.Error("a token is in the log")
	}
}

// changeIsSeen changes the first node and reports how long the slice takes.
func changeIsSeen(t *testing.T, r *remote, after string, change func(*corev1.Node), want string) {
	t.Helper()
	changed := time.Now()
	r.edit(r.nodes[0].Name, change)
	r.wantPublished(r.all(want))
	t.Logf("after %s, a change of a node is in the slice after %v", after, time.Since(changed))
	wantWithin(t, "a change after "+after, changed, time.Now(), 15*time.Second)
}
