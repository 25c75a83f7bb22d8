package bench

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
)

// The Service that both sides fill.
const (
	namespace   = "default"
	serviceName = "web"
	serviceUID  = "uid-1"
	portName    = "http"
	portNumber  = 8080
)

// Upstream plans with the reconciler of k8s.io/endpointslice, which reads
// listers and writes through a client. The listers hold one Pod and one Node for
// each backend; the client only notes what it is sent. Metrics, logs, Events and
// topology hints are off: none of them is the reconciler's own work.
type Upstream struct {
	reconciler *endpointslice.Reconciler
	service    *corev1.Service
	nodes      cache.Indexer
	// pods are those of all backends that there ever were.
	pods   map[Backend]*corev1.Pod
	client *client
	slices []*discoveryv1.EndpointSlice
	tally  Tally
}

// NewUpstream returns a side that has no slice yet.
func NewUpstream() *Upstream {
	u := &Upstream{
		client: new(client),
		pods:   map[Backend]*corev1.Pod{},
		nodes:  cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: serviceName, UID: serviceUID},
			Spec: corev1.ServiceSpec{
				ClusterIP:  "10.96.0.10",
				IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
				Selector:   map[string]string{"app": serviceName},
				Ports:      []corev1.ServicePort{{Name: portName, Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(portNumber)}},
			},
		},
	}
	u.reconciler = endpointslice.NewReconciler(u.client, corelisters.NewNodeLister(u.nodes), MaxPerSlice, util.NewEndpointSliceTracker(), nil, nil, "bench")
	return u
}

// Pods returns the fleet as Pods, and sees to it that their Nodes are known.
func (u *Upstream) Pods(fleet Fleet) ([]*corev1.Pod, error) {
	pods := make([]*corev1.Pod, len(fleet))
	for i, b := range fleet {
		if u.pods[b] == nil {
			node := fmt.Sprintf("node-%d", b.Number)
			zone := map[string]string{corev1.LabelTopologyZone: b.Zone()}
			if err := u.nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: zone}}); err != nil {
				return nil, fmt.Errorf("add node %s: %w", node, err)
			}
			u.pods[b] = u.newPod(b, node)
		}
		pods[i] = u.pods[b]
	}
	return pods, nil
}

func (u *Upstream) newPod(b Backend, node string) *corev1.Pod {
	ready, address := corev1.ConditionTrue, b.Address().String()
	if !b.Ready {
		ready = corev1.ConditionFalse
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-" + node, UID: types.UID("pod-" + node), Labels: u.service.Spec.Selector},
		Spec:       corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
		},
	}
}

// Pass plans once and returns how many writes that made, without keeping them.
func (u *Upstream) Pass(pods []*corev1.Pod) (int, error) {
	u.client.forget()
	err := u.reconciler.Reconcile(klog.Logger{}, u.service, pods, u.slices, time.Unix(0, 0))
	return len(u.client.created) + len(u.client.updated) + len(u.client.deleted), err
}

// Publish does one pass and keeps what it writes.
func (u *Upstream) Publish(fleet Fleet) error {
	pods, err := u.Pods(fleet)
	if err != nil {
		return err
	}
	if _, err := u.Pass(pods); err != nil {
		return err
	}
	at := map[string]int{}
	for i, s := range u.slices {
		at[s.Name] = i
	}
	u.slices = slices.Clone(u.slices)
	for _, s := range u.client.updated {
		u.slices[at[s.Name]] = s
		u.tally.Written += len(s.Endpoints)
	}
	u.slices = slices.DeleteFunc(u.slices, func(s *discoveryv1.EndpointSlice) bool { return slices.Contains(u.client.deleted, s.Name) })
	for _, s := range u.client.created {
		u.slices = append(u.slices, s)
		u.tally.Written += len(s.Endpoints)
	}
	u.tally.Creates += len(u.client.created)
	u.tally.Updates += len(u.client.updated)
	u.tally.Deletes += len(u.client.deleted)
	return nil
}

// Groups returns the addresses that each slice holds.
func (u *Upstream) Groups() [][]netip.Addr {
	groups := make([][]netip.Addr, len(u.slices))
	for i, s := range u.slices {
		for _, e := range s.Endpoints {
			groups[i] = append(groups[i], netip.MustParseAddr(e.Addresses[0]))
		}
	}
	return groups
}

// Tally says what was written so far and what the slices are like.
func (u *Upstream) Tally() Tally {
	t := u.tally
	t.Slices = len(u.slices)
	for _, s := range u.slices {
		t.Endpoints += len(s.Endpoints)
		t.Used += min(1, len(s.Endpoints))
	}
	return t
}
