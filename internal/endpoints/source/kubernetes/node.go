package kubernetes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// labelServer holds the id of the server in clusters that IONOS manages.
	labelServer = "enterprise.cloud.ionos.com/node-id"
	// taintLeaving is set by the cluster autoscaler on a node that it is about
	// to delete; upstream's service controller takes such nodes out as well.
	taintLeaving = "ToBeDeletedByClusterAutoscaler"
	labelControl = "node-role.kubernetes.io/control-plane"
	labelMaster  = "node-role.kubernetes.io/master"
	// mostOfName bounds a name and an id in bytes, as an API server does a name, and mostAddresses
	// how many addresses a node has: its kubelet decides.
	mostOfName, mostAddresses = 253, 100
)

// Translate turns a Node into what the rest of the program reads of it. With a
// nil selector every node is a worker that has neither the label nor the taint
// of a control plane. It never looks at what a heartbeat changes.
func Translate(node *corev1.Node, selector labels.Selector) inventory.Node {
	addresses, odd := addressesOf(node)
	ready, notReady := readiness(node)
	worker, notWorker := role(node, selector)
	leaving, why := departure(node)
	_, excluded := node.Labels[corev1.LabelNodeExcludeBalancers]
	remarks := []string{notWorker, notReady, why, odd}
	if node.Spec.Unschedulable {
		remarks = append(remarks, "cordoned, which alone does not remove it")
	}
	return inventory.Node{
		ID:        strings.Clone(serverID(node)), // it may be the end of something long
		Name:      transport.Cut(node.Name, mostOfName),
		Addresses: addresses,
		Zone:      node.Labels[corev1.LabelTopologyZone],
		Ready:     ready,
		Worker:    worker,
		Leaving:   leaving,
		Excluded:  excluded,
		Detail:    strings.Join(slices.DeleteFunc(remarks, func(r string) bool { return r == "" }), "; "),
	}
}

// serverID is the server that the node runs on, in lower case, from the first
// place that has the id of one, a UUID:
//
//	spec.providerID              ionos://<server>, ionos:///<datacenter>/<server>
//	label of managed clusters    <server>
//	status.nodeInfo.systemUUID   <server>
//
// A providerID of another scheme names no server of IONOS, whatever its last part is.
// Where that is no UUID and no place has one, it still tells the node from others.
func serverID(node *corev1.Node) string {
	scheme, path, schemed := strings.Cut(strings.TrimSpace(node.Spec.ProviderID), ":")
	if !schemed {
		path = scheme
	}
	path = strings.TrimRight(path, "/")
	named := strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
	if plausible(named) && (!schemed || strings.EqualFold(scheme, "ionos")) {
		return named
	}
	for _, place := range []string{node.Labels[labelServer], node.Status.NodeInfo.SystemUUID} {
		if id := strings.ToLower(strings.TrimSpace(place)); plausible(id) {
			return id
		}
	}
	if plausible(named) || len(named) > mostOfName {
		return ""
	}
	return named
}

// plausible reports whether text in lower case is a UUID, but for those that firmware
// without an own one reports; many machines share those.
func plausible(text string) bool {
	return inventory.IsUUID(text) && strings.Trim(text, "0-") != "" && strings.Trim(text, "f-") != ""
}

// addressesOf returns every internal and external address, and a remark when
// there is none or one is not an IP address.
func addressesOf(node *corev1.Node) ([]netip.Addr, string) {
	var addrs []netip.Addr
	var odd string
	for _, a := range node.Status.Addresses {
		if a.Type != corev1.NodeInternalIP && a.Type != corev1.NodeExternalIP {
			continue
		}
		if len(addrs) == mostAddresses {
			return addrs, fmt.Sprintf("it has more than %d addresses, of which the first ones count", mostAddresses)
		}
		addr, err := netip.ParseAddr(a.Address)
		if err != nil {
			odd = fmt.Sprintf("its %s %q is not an IP address", a.Type, short(a.Address))
			continue
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == 0 && odd == "" {
		odd = "its status has neither an InternalIP nor an ExternalIP"
	}
	return addrs, odd
}

// readiness returns whether the node is ready, or why not. The control plane sets
// Unknown when the kubelet is silent.
func readiness(node *corev1.Node) (ready bool, remark string) {
	for _, c := range node.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return true, ""
		}
		// Not its message: some kubelets count seconds in it.
		remark = fmt.Sprintf("condition Ready is %s", c.Status)
		if !c.LastTransitionTime.IsZero() {
			remark += " since " + c.LastTransitionTime.UTC().Format(time.RFC3339)
		}
		if c.Reason != "" {
			remark += " (" + short(c.Reason) + ")"
		}
		return false, remark
	}
	return false, "it has no condition Ready"
}

// role reports whether the node is a worker, or why not.
func role(node *corev1.Node, selector labels.Selector) (worker bool, remark string) {
	if selector != nil {
		if selector.Matches(labels.Set(node.Labels)) {
			return true, ""
		}
		return false, "its labels do not match SECURED_NODE_SELECTOR=" + short(selector.String())
	}
	for _, key := range []string{labelControl, labelMaster} {
		if _, ok := node.Labels[key]; ok {
			return false, "it has the label " + key + "; set SECURED_NODE_SELECTOR if it runs workloads"
		}
		if tainted(node, key) {
			return false, "it has the taint " + key + "; set SECURED_NODE_SELECTOR if it runs workloads"
		}
	}
	return true, ""
}

// departure reports whether the node is announced to leave, and how.
func departure(node *corev1.Node) (leaving bool, remark string) {
	switch {
	case node.DeletionTimestamp != nil:
		return true, "being deleted since " + node.DeletionTimestamp.UTC().Format(time.RFC3339)
	case tainted(node, taintLeaving):
		return true, "it has the taint " + taintLeaving
	}
	return false, ""
}

func tainted(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// short bounds a text of others.
func short(text string) string { return transport.Cut(text, 200) }
