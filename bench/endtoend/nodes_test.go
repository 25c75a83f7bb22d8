package endtoend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// nodeName and addressOf are in the same order: neighbours are in the same slice.
func nodeName(i int) string { return fmt.Sprintf("worker-%05d", i) }

func addressOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 64 + byte(i>>16), byte(i >> 8), byte(i)})
}

// newNode is as large as a node of a real cluster: seven to ten kilobytes, mostly
// names of images and, once the API server has stored it, the managed fields.
func newNode(i int) *corev1.Node {
	node := &corev1.Node{}
	node.Name = nodeName(i)
	node.Labels = map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelHostname: node.Name,
		corev1.LabelTopologyRegion: "de-fra", corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3+1),
		corev1.LabelInstanceTypeStable: "dedicated-core-4-8", "enterprise.cloud.ionos.com/datacenter-id": "8feda53f-15f0-447f-badf-ebe32dad2fc0",
		"enterprise.cloud.ionos.com/nodepool-id": "5b8c1d3e-77a2-4a53-9d39-1a2f1c6f3b77", "enterprise.cloud.ionos.com/node-id": uid(i),
	}
	node.Annotations = map[string]string{
		"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
		"projectcalico.org/IPv4Address": addressOf(i).String() + "/20", "projectcalico.org/IPv4IPIPTunnelAddr": "10.208.4.1",
		"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"cloud.ionos.com":%q}`, uid(i)),
	}
	node.Spec.ProviderID = "ionos://" + uid(i)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8148676Ki"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("101430960Ki"),
	}
	node.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity, Conditions: conditions(time.Now()),
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: node.Name}, {Type: corev1.NodeInternalIP, Address: addressOf(i).String()}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: strings.ReplaceAll(uid(i), "-", ""), SystemUUID: uid(i), BootID: uid(i + 1), KernelVersion: "6.8.0-60-generic",
			OSImage: "Ubuntu 24.04.2 LTS", ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.34.1", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	for image := range 25 {
		name := fmt.Sprintf("registry.example.com/platform/team-%d/service-%d", image%5, image)
		digest := strings.Repeat(fmt.Sprintf("%08x", image*2_654_435_761%(1<<32)), 8)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{name + "@sha256:" + digest, fmt.Sprintf("%s:v1.%d.0", name, image)}, SizeBytes: int64(10_000_000 + image),
		})
	}
	return node
}

func uid(i int) string { return fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i) }

func conditions(now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse, "CalicoIsUp", "Calico is running on this node"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// grow brings the remote cluster to n nodes.
func (w *world) grow(n int) {
	w.t.Helper()
	slots := make(chan struct{}, 16)
	var creating sync.WaitGroup
	for i := w.nodeCount; i < n; i++ {
		slots <- struct{}{}
		creating.Go(func() {
			defer func() { <-slots }()
			if _, err := w.nodes.CoreV1().Nodes().Create(w.t.Context(), newNode(i), metav1.CreateOptions{}); err != nil {
				w.t.Errorf("create node: %v", err)
			}
		})
		if (i+1)%2_500 == 0 {
			program.Progress("%d nodes", i+1)
		}
	}
	creating.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
	w.nodeCount = n
	w.heartbeat(w.t.Context(), 0) // then a node has two managers, as in real clusters
	node, err := w.nodes.CoreV1().Nodes().Get(w.t.Context(), nodeName(0), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(node)
	if err != nil {
		w.t.Fatal(err)
	}
	program.Progress("%d nodes of %d bytes of JSON, %d of protobuf", n, len(text), node.Size())
}

// setReady changes the node's condition and returns when that was sent and when
// it was answered.
func (w *world) setReady(i int, ready bool) (sent, answered time.Time) {
	w.t.Helper()
	status, reason := corev1.ConditionTrue, "KubeletReady"
	if !ready {
		status, reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	}
	now := metav1.Now()
	patch := map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: status, Reason: reason, LastHeartbeatTime: now, LastTransitionTime: now},
	}}}
	sent = time.Now()
	w.patch(w.t.Context(), i, patch)
	return sent, time.Now()
}

// begun is when the first heartbeat is dated.
var begun = time.Now()

// heartbeat sends what a kubelet sends every five minutes or sooner. Its time is one
// second later than that of the heartbeat before: with an equal time nothing would
// change.
func (w *world) heartbeat(ctx context.Context, i int) {
	w.t.Helper()
	at := metav1.NewTime(begun.Add(time.Duration(w.beats.Add(1)) * time.Second))
	var beats []map[string]any
	for _, c := range conditions(at.Time) {
		beats = append(beats, map[string]any{"type": c.Type, "lastHeartbeatTime": at})
	}
	w.patch(ctx, i, map[string]any{"status": map[string]any{"conditions": beats}})
}

func (w *world) patch(ctx context.Context, i int, patch map[string]any) {
	w.t.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.nodes.CoreV1().Nodes().Patch(ctx, nodeName(i), types.StrategicMergePatchType, text, metav1.PatchOptions{}, "status")
	if err != nil && ctx.Err() == nil {
		w.t.Errorf("patch the status of node %d: %v", i, err)
	}
}
