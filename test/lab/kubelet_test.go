//go:build lab

package lab_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// What a kubelet does by default: its Lease is for 40 s, and renewed after a quarter of
// that.
const (
	leaseNamespace = "kube-node-lease"
	leaseDuration  = 40
	renewal        = leaseDuration * time.Second / 4
)

// machine is a worker whose kubelet renews a Lease.
type machine struct {
	*lab.Worker
	off context.CancelFunc
	// died is when the machine fell silent, and down after how long the checks had it
	// out of the slice. due is after how long its next renewal was missing, notReady
	// after how long its Node was not ready.
	died                time.Time
	down, due, notReady time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// kubelets makes a Node and a Lease of each worker in a cluster that knows when a
// kubelet is silent.
func kubelets(s *tale) (machines []*machine, client kubernetes.Interface) {
	s.Helper()
	cluster := controlplane.Start(s.T, controlplane.Options{ControllerManager: true, NodeLifecycle: true})
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		s.Fatal(err)
	}
	var running sync.WaitGroup
	s.Cleanup(running.Wait)
	for i, w := range s.Workers() {
		ctx, off := context.WithCancel(s.Context())
		m := &machine{Worker: w, off: off}
		machines = append(machines, m)
		m.register(s.T, client)
		running.Go(func() { m.renew(ctx, s.T, client, renewal*time.Duration(i)/time.Duration(len(s.Workers()))) })
	}
	return machines, client
}

// register makes the Node and the Lease as a kubelet does.
func (m *machine) register(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
	}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seconds, now := int32(leaseDuration), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &m.Name, LeaseDurationSeconds: &seconds, RenewTime: &now}
	if _, err := client.CoordinationV1().Leases(leaseNamespace).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// renew renews the Lease until the machine is off.
func (m *machine) renew(ctx context.Context, t *testing.T, client kubernetes.Interface, first time.Duration) {
	leases := client.CoordinationV1().Leases(leaseNamespace)
	for pause := first; ; pause = renewal {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		lease, err := leases.Get(ctx, m.Name, metav1.GetOptions{})
		if err == nil {
			now := metav1.NowMicro()
			lease.Spec.RenewTime = &now
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if err != nil && ctx.Err() == nil {
			t.Errorf("%s: renew the Lease: %v", m.Name, err)
		}
		m.mu.Lock()
		m.renewed = time.Now()
		m.mu.Unlock()
	}
}

// goesOff lets the machine fall silent, its kubelet too, and returns when the checks
// have it out of the slice.
func (m *machine) goesOff(s *tale) {
	s.Helper()
	m.off()
	m.died = s.silences(m.Worker, "both")
	s.AwaitState(m.Worker, "down")
	m.down = time.Since(m.died)
	m.mu.Lock()
	m.due = m.renewed.Add(renewal).Sub(m.died)
	m.mu.Unlock()
	s.isOut(m.Worker, m.died, silentBound)
}

// kubeletsFallSilent measures whether the remote API server could tell of a dead
// machine earlier than the checks: by a Lease that is not renewed, or a Node that is
// not ready.
func kubeletsFallSilent(s *tale) {
	machines, client := kubelets(s)
	pause(renewal + time.Second) // each has renewed its Lease
	dying := machines[:3]
	for _, m := range dying {
		m.goesOff(s)
	}
	s.Await("three Nodes that are not ready", func() bool { return allNotReady(s, client, dying) })
	var down, due, notReady []time.Duration
	for _, m := range dying {
		down, due, notReady = append(down, m.down), append(due, m.due), append(notReady, m.notReady)
		if m.notReady <= m.down {
			s.Errorf("%s: its Node was not ready %v after its death, the checks had it out after %v; want the checks earlier", m.Name, m.notReady, m.down)
		}
		m.Hear()
	}
	for name, of := range map[string][]time.Duration{"down by checks after": down, "renewal of the Lease missing after": due, "Node not ready after": notReady} {
		s.facts = append(s.facts, traffic.Fact{Name: name, Value: spread(of)})
		s.Logf("%s %s", name, spread(of))
	}
	s.AwaitAllReady()
}

// spread are the least and the most of some times.
func spread(of []time.Duration) string {
	return fmt.Sprintf("%.1f to %.1f s", traffic.Percentile(of, 1).Seconds(), traffic.Percentile(of, 100).Seconds())
}

// allNotReady notes when each Node is not ready for the first time, and reports whether
// all are.
func allNotReady(s *tale, client kubernetes.Interface, machines []*machine) bool {
	all := true
	for _, m := range machines {
		node, err := client.CoreV1().Nodes().Get(s.Context(), m.Name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue && m.notReady == 0 {
				m.notReady = time.Since(m.died)
			}
		}
		all = all && m.notReady > 0
	}
	return all
}
