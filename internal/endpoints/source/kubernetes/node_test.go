package kubernetes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

const serverUUID = "6f1d2c3b-0a1b-4c2d-8e3f-0123456789ab"

// whole is a node that lacks nothing.
func whole() *corev1.Node {
	node := &corev1.Node{}
	node.Name = "worker-1"
	node.Labels = map[string]string{"topology.kubernetes.io/zone": "ZONE_1", "pool": "web"}
	node.Spec.ProviderID = "ionos://" + strings.ToUpper(serverUUID)
	node.Status.NodeInfo.SystemUUID = "11111111-2222-4333-8444-555555555555"
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeHostName, Address: "worker-1"},
		{Type: corev1.NodeInternalIP, Address: "10.0.0.11"},
		{Type: corev1.NodeExternalIP, Address: "203.0.113.9"},
		{Type: corev1.NodeInternalIP, Address: "fd00::11"},
	}
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
	}
	return node
}

// seen is what is read of whole.
func seen() inventory.Node {
	return inventory.Node{
		ID: serverUUID, Name: "worker-1", Zone: "ZONE_1", Ready: true, Worker: true,
		Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("fd00::11")},
	}
}

func taint(key string) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
}

func readyIs(node *corev1.Node, status corev1.ConditionStatus, reason string, since metav1.Time) {
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, Reason: reason, Message: "it was last seen 3m5.2s ago", LastTransitionTime: since,
	}}
}

func TestANodeBecomesWhatIsReadOfIt(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 7, 1, 14, 0, 0, 0, time.FixedZone("CEST", 7200)))
	tests := []struct {
		name   string
		change func(*corev1.Node)
		want   func(*inventory.Node)
	}{
		{"a whole node", func(*corev1.Node) {}, func(*inventory.Node) {}},
		{"no zone", func(n *corev1.Node) { n.Labels = nil }, func(w *inventory.Node) { w.Zone = "" }},
		{"excluded whatever the value", func(n *corev1.Node) { n.Labels["node.kubernetes.io/exclude-from-external-load-balancers"] = "false" },
			func(w *inventory.Node) { w.Excluded = true }},
		{"cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true },
			func(w *inventory.Node) { w.Detail = "cordoned, which alone does not remove it" }},
		{"announced by the autoscaler", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{taint("other"), taint("ToBeDeletedByClusterAutoscaler")}
		},
			func(w *inventory.Node) {
				w.Leaving, w.Detail = true, "it has the taint ToBeDeletedByClusterAutoscaler"
			}},
		{"being deleted", func(n *corev1.Node) { n.DeletionTimestamp = &noon },
			func(w *inventory.Node) { w.Leaving, w.Detail = true, "being deleted since 2026-07-01T12:00:00Z" }},
		{"not ready", func(n *corev1.Node) { readyIs(n, corev1.ConditionFalse, "KubeletNotReady", noon) },
			func(w *inventory.Node) {
				w.Ready, w.Detail = false, "condition Ready is False since 2026-07-01T12:00:00Z (KubeletNotReady)"
			}},
		{"silent", func(n *corev1.Node) { readyIs(n, corev1.ConditionUnknown, "NodeStatusUnknown", noon) },
			func(w *inventory.Node) {
				w.Ready, w.Detail = false, "condition Ready is Unknown since 2026-07-01T12:00:00Z (NodeStatusUnknown)"
			}},
		{"not ready without a time or reason", func(n *corev1.Node) { readyIs(n, corev1.ConditionFalse, "", metav1.Time{}) },
			func(w *inventory.Node) { w.Ready, w.Detail = false, "condition Ready is False" }},
		{"no conditions yet", func(n *corev1.Node) { n.Status.Conditions = nil },
			func(w *inventory.Node) { w.Ready, w.Detail = false, "it has no condition Ready" }},
		{"control plane by label", func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" },
			func(w *inventory.Node) {
				w.Worker, w.Detail = false, "it has the label node-role.kubernetes.io/control-plane; set SECURED_NODE_SELECTOR if it runs workloads"
			}},
		{"control plane by taint", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint("node-role.kubernetes.io/master")} },
			func(w *inventory.Node) {
				w.Worker, w.Detail = false, "it has the taint node-role.kubernetes.io/master; set SECURED_NODE_SELECTOR if it runs workloads"
			}},
		{"no addresses", func(n *corev1.Node) { n.Status.Addresses = n.Status.Addresses[:1] },
			func(w *inventory.Node) {
				w.Addresses, w.Detail = nil, "its status has neither an InternalIP nor an ExternalIP"
			}},
		{"an address that is none", func(n *corev1.Node) { n.Status.Addresses[1].Address = "<none>" },
			func(w *inventory.Node) {
				w.Addresses, w.Detail = w.Addresses[1:], `its InternalIP "<none>" is not an IP address`
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node, want := whole(), seen()
			test.change(node)
			test.want(&want)
			before := node.DeepCopy()
			got := kubernetes.Translate(node, nil)
			if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(before, node); d != "" {
				t.Errorf("the node was changed:\n%s", d)
			}
		})
	}
}

// Nodes of k3s and RKE2 have providerIDs that nobody can change.
func TestContract182TheServerIsFoundByTheFirstPlaceThatHasItsID(t *testing.T) {
	const label, other = "enterprise.cloud.ionos.com/node-id", "11111111-2222-4333-8444-555555555555"
	tests := []struct {
		name, provider, label, system, want string
	}{
		{"managed cluster", "ionos://" + serverUUID, other, "another", serverUUID},
		{"k3s by the firmware", "k3s://edge-a", "", serverUUID, serverUUID},
		{"RKE2 by the label", "rke2://edge-b", serverUUID, other, serverUUID},
		{"k3s alone", "k3s://edge-a", "", "", "edge-a"},
		{"another cloud with UUIDs", "openstack:///" + other, "", serverUUID, serverUUID},
		{"another cloud with UUIDs alone", "openstack:///" + other, "", "", ""},
		{"another cloud with UUIDs and a label", "openstack:///" + other, serverUUID, other, serverUUID},
		{"IONOS without a UUID", "ionos://worker-1", serverUUID, "", serverUUID},
		{"a label that is no id", "k3s://edge-a", "edge-a", serverUUID, serverUUID},
		{"no scheme", serverUUID, "", other, serverUUID},
		{"a scheme in capitals", "IONOS://" + serverUUID, "", other, serverUUID},
		{"firmware of dashes", "", "", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", ""},
		{"Gardener", "ionos:///0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e/" + serverUUID, "", "", serverUUID},
		{"another cloud", "aws:///eu-central-1a/i-0abc", "", "", "i-0abc"},
		{"a slash too many", "ionos://" + serverUUID + "/", "", "", serverUUID},
		{"label", "", strings.ToUpper(serverUUID), "11111111-2222-4333-8444-555555555555", serverUUID},
		{"provider without an id", "ionos://", serverUUID, "", serverUUID},
		{"firmware", "", "", strings.ToUpper(serverUUID), serverUUID},
		{"firmware without an id", "", "", "00000000-0000-0000-0000-000000000000", ""},
		{"firmware that says so", "", "", "Not Settable", ""},
		{"nothing", "", "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			node := whole()
			node.Spec.ProviderID, node.Status.NodeInfo.SystemUUID = test.provider, test.system
			if test.label != "" {
				node.Labels[label] = test.label
			}
			if got := kubernetes.Translate(node, nil).ID; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheSelectorAloneSaysWhoIsAWorker(t *testing.T) {
	selector, err := labels.Parse("pool in (web, api),!edge")
	if err != nil {
		t.Fatal(err)
	}
	node := whole()
	node.Labels["node-role.kubernetes.io/control-plane"] = ""
	if got := kubernetes.Translate(node, selector); !got.Worker || got.Detail != "" {
		t.Errorf("got worker %t, %q, want a worker", got.Worker, got.Detail)
	}
	node.Labels["edge"] = ""
	got := kubernetes.Translate(node, selector)
	if want := "its labels do not match SECURED_NODE_SELECTOR=!edge,pool in (api,web)"; got.Worker || got.Detail != want {
		t.Errorf("got worker %t, %q, want %q", got.Worker, got.Detail, want)
	}
}

func TestAnEmptyNodeIsTranslatedToo(t *testing.T) {
	got := kubernetes.Translate(&corev1.Node{}, nil)
	want := inventory.Node{Worker: true, Detail: "it has no condition Ready; its status has neither an InternalIP nor an ExternalIP"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestContract02OfANodeThatSaysTooMuchAPartCounts: its kubelet writes its addresses and its id.
func TestContract02OfANodeThatSaysTooMuchAPartCounts(t *testing.T) {
	node := whole()
	node.Spec.ProviderID, node.Status.NodeInfo.SystemUUID = "other://"+strings.Repeat("x", 254), ""
	for i := range 300 {
		node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.%d.%d", i/200, i%200)})
	}
	want := node.Status.Addresses[1].Address
	got := kubernetes.Translate(node, nil)
	if got.ID != "" || len(got.Addresses) != 100 || got.Addresses[0].String() != want || !strings.Contains(got.Detail, "more than 100 addresses") {
		t.Errorf("got id %q, %d addresses and %q, want no id, the first 100 addresses and a word of that", got.ID, len(got.Addresses), got.Detail)
	}
}
