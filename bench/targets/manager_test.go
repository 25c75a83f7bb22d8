package targets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// manager is kube-controller-manager with its endpointslice controller alone, and
// Services with Pods. All of them are in one namespace and select the same Pods.
type manager struct {
	*program.Program
	w     *world
	group group
}

// newManager makes the Services and Pods of a shape.
func (w *world) newManager(s shape) *manager {
	w.t.Helper()
	m := &manager{w: w, group: group{s, "manager", s.targets}}
	w.make(m.group)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.group.String()}}
	if _, err := w.client.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	pods := w.client.CoreV1().Pods(m.group.namespace(0))
	w.each(s.endpoints, func(i int) error {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podName(i), Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: node.Name, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		}
		pod, err := pods.Create(w.t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		pod.Status = status(i, corev1.ConditionTrue)
		_, err = pods.UpdateStatus(w.t.Context(), pod, metav1.UpdateOptions{})
		return err
	})
	w.services(m.group, nil, map[string]string{"app": "web"})
	return m
}

func podName(i int) string { return fmt.Sprintf("web-%d", i) }

// status is that of a running Pod.
func status(i int, ready corev1.ConditionStatus) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address(i), PodIPs: []corev1.PodIP{{IP: address(i)}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
	}
}

// start starts it as a side of its own.
func (m *manager) start(side string, flags ...string) {
	m.w.t.Helper()
	all := append([]string{
		"--kubeconfig=" + m.w.api.UserKubeconfig(m.w.t, side+"-"+m.group.shape.String(), "system:masters"),
		"--controllers=endpointslice-controller", "--secure-port=0", "--leader-elect=false",
	}, flags...)
	m.Program = program.Start(m.w.t, os.Environ(), filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kube-controller-manager"), all...)
}

// settle waits until it has nothing to do.
func (m *manager) settle() {
	m.w.t.Helper()
	m.AwaitLog(0, longest, "Caches are synced")
	for quiet, before := 0, m.CPU(); quiet < 4; quiet++ {
		time.Sleep(250 * time.Millisecond)
		now := m.CPU()
		if now-before > 25*time.Millisecond {
			quiet = -1
		}
		before = now
	}
}

// change makes a Pod ready, or not, and measures from the answer on.
func (m *manager) change(what, side string, node int, state corev1.ConditionStatus, ready int) {
	m.w.t.Helper()
	pods := m.w.client.CoreV1().Pods(m.group.namespace(0))
	pod, err := pods.Get(m.w.t.Context(), podName(node), metav1.GetOptions{})
	if err != nil {
		m.w.t.Fatal(err)
	}
	pod.Status = status(node, state)
	m.w.watched.mark(m.group)
	before, began := m.CPU(), time.Now()
	if _, err := pods.UpdateStatus(m.w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		m.w.t.Fatal(err)
	}
	answered := time.Now()
	times := m.w.watched.await(m.group, ready, m.Fail)
	cpu := float64(m.CPU() - before)
	c := m.w.requests(side+"-"+m.group.shape.String(), began, time.Now())
	targets := float64(m.group.targets)
	program.Result(label(what, m.group.shape, side), 1, append(sinceOf(answered, times), cpu/targets, "cpu-ns/target",
		float64(c.writes)/targets, "writes/target", float64(c.reads)/targets, "reads/target", float64(c.events)/targets, "events/target")...)
}

// measure lets a node die and come back: first without limits, then with the defaults.
func (m *manager) measure() {
	m.w.t.Helper()
	const unlimited, defaults = "manager-unlimited", "manager"
	down, all := m.group.all()-m.group.targets, m.group.all()
	m.w.watched.mark(m.group)
	m.start(unlimited, "--kube-api-qps=10000", "--kube-api-burst=10000", "--concurrent-service-endpoint-syncs=16")
	times := m.w.watched.await(m.group, all, m.Fail)
	program.Result(label("First", m.group.shape, unlimited), 1, times[len(times)-1].Sub(m.Started), "ns/op", m.CPU(), "cpu-ns/op")
	for range min(m.w.form.rounds, 3) {
		m.settle()
		m.change("Down", unlimited, 0, corev1.ConditionFalse, down)
		m.settle()
		m.change("Up", unlimited, 0, corev1.ConditionTrue, all)
	}
	m.rest(unlimited)
	m.Stop()
	m.start(defaults)
	m.settle()
	m.change("Down", defaults, 0, corev1.ConditionFalse, down)
	m.Stop()
}

// rest reports its memory.
func (m *manager) rest(side string) {
	m.w.t.Helper()
	now, peak := m.Memory()
	program.Result(label("Rest", m.group.shape, side), 1, now, "resident-B", peak, "peak-B")
}
