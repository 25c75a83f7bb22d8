package kubernetes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/kubernetes"
)

// burdened is whole with what a kubelet and others add to a Node.
func burdened() *corev1.Node {
	node := whole()
	node.ResourceVersion = "4711"
	node.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8145436Ki")}
	for i := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("registry.example.com/team/component-%d:v1.2.3", i)}, SizeBytes: int64(i) << 20,
		})
	}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:images":{}}}`),
	}}
	return node
}

// variants are nodes that differ in everything that is read of one.
func variants() map[string]*corev1.Node {
	noon := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	all := map[string]*corev1.Node{"whole": burdened(), "empty": {}}
	for name, change := range map[string]func(*corev1.Node){
		"being deleted": func(n *corev1.Node) { n.DeletionTimestamp = &noon },
		"not ready":     func(n *corev1.Node) { readyIs(n, corev1.ConditionFalse, "KubeletNotReady", noon) },
		"cordoned":      func(n *corev1.Node) { n.Spec.Unschedulable = true },
		"tainted":       func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint("ToBeDeletedByClusterAutoscaler")} },
		"known by its firmware": func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "", serverUUID
		},
		"known by its label": func(n *corev1.Node) {
			n.Spec.ProviderID, n.Labels["enterprise.cloud.ionos.com/node-id"] = "", serverUUID
		},
		"excluded":      func(n *corev1.Node) { n.Labels["node.kubernetes.io/exclude-from-external-load-balancers"] = "" },
		"no addresses":  func(n *corev1.Node) { n.Status.Addresses = nil },
		"control plane": func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" },
	} {
		node := burdened()
		change(node)
		all[name] = node
	}
	return all
}

func TestTheLeanDecoderLeavesOutNothingThatIsRead(t *testing.T) {
	for name, node := range variants() {
		t.Run(name, func(t *testing.T) {
			got, err := kubernetes.DecodeLean(marshal(t, node))
			if err != nil {
				t.Fatal(err)
			}
			if got.ResourceVersion != node.ResourceVersion || !cmp.Equal(got.Annotations, node.Annotations) {
				t.Errorf("got resourceVersion %q and annotations %v, want %q and %v", got.ResourceVersion, got.Annotations, node.ResourceVersion, node.Annotations)
			}
			if want, got := fmt.Sprintf("%+v", kubernetes.Translate(node, nil)), fmt.Sprintf("%+v", kubernetes.Translate(got, nil)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestTheLeanDecoderKeepsTheMarksOfAList(t *testing.T) {
	list := &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "more"}}
	for _, node := range variants() {
		list.Items = append(list.Items, *node)
	}
	got, err := kubernetes.DecodeLeanList(marshal(t, list))
	if err != nil {
		t.Fatal(err)
	}
	if got.ListMeta != list.ListMeta || len(got.Items) != len(list.Items) {
		t.Fatalf("got %+v with %d nodes, want %+v with %d", got.ListMeta, len(got.Items), list.ListMeta, len(list.Items))
	}
	for i := range list.Items {
		if want, got := fmt.Sprintf("%+v", kubernetes.Translate(&list.Items[i], nil)), fmt.Sprintf("%+v", kubernetes.Translate(&got.Items[i], nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestTheLeanDecoderDecodesWhatItKeepsOnly(t *testing.T) {
	got, err := kubernetes.DecodeLean(marshal(t, burdened()))
	if err != nil {
		t.Fatal(err)
	}
	if got.ManagedFields != nil || got.Status.Images != nil || got.Status.Capacity != nil {
		t.Error("got managed fields, images or the capacity, which nobody reads")
	}
}

func TestContract02ATruncatedNodeIsAnError(t *testing.T) {
	node := marshal(t, burdened())
	list := marshal(t, &corev1.NodeList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Node{*burdened(), *burdened()}})
	// A message may end after a field: those are told from truncated ones by the
	// length that goes before every message.
	for _, test := range []struct {
		name   string
		data   []byte
		decode func([]byte) error
	}{
		{"node", node, func(data []byte) error { _, err := kubernetes.DecodeLean(data); return err }},
		{"list", list, func(data []byte) error { _, err := kubernetes.DecodeLeanList(data); return err }},
	} {
		ends := fieldEnds(test.data)
		for i := range test.data {
			if err := test.decode(test.data[:i]); err == nil && !ends[i] {
				t.Fatalf("%s cut off after %d of %d bytes: got no error", test.name, i, len(test.data))
			}
		}
	}
}

func TestContract02AMalformedNodeIsAnError(t *testing.T) {
	within := func(number protowire.Number, content ...byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	for name, data := range map[string][]byte{
		"a tag without an end":               {0x88},
		"metadata with half a name":          within(1, 0x0a, 0x7f),
		"metadata without an end of a tag":   within(1, 0x88),
		"a status with half of its info":     within(3, 0x3a, 0x7f),
		"info that ends in the middle":       within(3, within(7, 0x12, 0x7f)...),
		"metadata that is a number":          protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1),
		"a name that is a number":            within(1, 0x08, 0x01),
		"a condition that is half there":     within(3, within(4, 0x0a, 0x7f)...),
		"images with a length of too much":   within(3, 0x42, 0x7f),
		"managed fields of too great a size": within(1, 0x8a, 0x01, 0x7f),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := kubernetes.DecodeLean(data); err == nil {
				t.Error("got a node, want an error")
			}
			if _, err := kubernetes.DecodeLeanList(within(2, data...)); err == nil {
				t.Error("got a list, want an error")
			}
		})
	}
}

// fieldEnds are the places at which a field of the message ends.
func fieldEnds(message []byte) map[int]bool {
	ends := map[int]bool{0: true}
	for at := 0; at < len(message); {
		_, _, n := protowire.ConsumeField(message[at:])
		at += n
		ends[at] = true
	}
	return ends
}

// FuzzLean: whatever both decoders accept they read alike.
func FuzzLean(f *testing.F) {
	for _, node := range variants() {
		data, err := node.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		node := &corev1.Node{}
		if node.Unmarshal(data) != nil {
			return
		}
		got, err := kubernetes.DecodeLean(data)
		if err != nil {
			return // stricter is safe
		}
		if want, got := fmt.Sprintf("%+v", kubernetes.Translate(node, nil)), fmt.Sprintf("%+v", kubernetes.Translate(got, nil)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// BenchmarkDecode is what one heartbeat costs between the wire and the view.
func BenchmarkDecode(b *testing.B) {
	data := marshal(b, burdened())
	b.Run("lean", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			node, err := kubernetes.DecodeLean(data)
			if err != nil {
				b.Fatal(err)
			}
			kubernetes.Translate(node, nil)
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			node := &corev1.Node{}
			if err := node.Unmarshal(data); err != nil {
				b.Fatal(err)
			}
			kubernetes.Translate(node, nil)
		}
	})
}

func marshal(t testing.TB, message interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	data, err := message.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
