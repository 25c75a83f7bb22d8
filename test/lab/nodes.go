//go:build lab

package lab

import (
	"net"
	"net/http"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// targetLabel says on a Node which target it belongs to.
const targetLabel = "lab.example.com/target"

// nodes are Node objects of the remote cluster.
type nodes struct {
	t     testing.TB
	world *World
	// label is what [targetLabel] says.
	label string
	// known holds the Nodes that were made, and whether each is announced to leave.
	known map[*Worker]bool
}

func newNodes(t testing.TB, w *World, label string) nodes {
	t.Helper()
	return nodes{t, w, label, map[*Worker]bool{}}
}

func (s nodes) list(workers []*Worker) {
	s.t.Helper()
	listed := map[*Worker]bool{}
	for _, w := range workers {
		listed[w] = true
		announced, known := s.known[w]
		if !known {
			s.create(w)
		}
		if w.leaving && !announced {
			s.announce(w)
		}
		s.known[w] = w.leaving
	}
	for w := range s.known {
		if !listed[w] {
			s.delete(w)
			delete(s.known, w)
		}
	}
}

func (s nodes) create(w *Worker) {
	s.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Labels: map[string]string{targetLabel: s.label}}}
	node.Spec.ProviderID = "ionos://" + w.ID
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: w.Name}, {Type: corev1.NodeInternalIP, Address: w.Address.String()}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now(), LastHeartbeatTime: metav1.Now(),
	}}
	if _, err := s.world.remote.CoreV1().Nodes().Create(s.t.Context(), node, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// announce does what the cluster autoscaler does before it deletes a node.
func (s nodes) announce(w *Worker) {
	s.t.Helper()
	client := s.world.remote.CoreV1().Nodes()
	node, err := client.Get(s.t.Context(), w.Name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	node.Spec.Unschedulable = true
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule})
	if _, err := client.Update(s.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s nodes) delete(w *Worker) {
	s.t.Helper()
	err := s.world.remote.CoreV1().Nodes().Delete(s.t.Context(), w.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		s.t.Fatal(err)
	}
}

// listen serves on a port of the address until the test ends.
func listen(t testing.TB, address netip.Addr, server *http.Server) string {
	t.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 0)))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}
