//go:build lab

package lab

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// addNodes makes Nodes of the local cluster for the Pods of a namespace, each in a zone of
// its own.
func (w *World) addNodes(t testing.TB, namespace string, count int) {
	t.Helper()
	for i := range count {
		name := fmt.Sprintf("%s-node-%d", namespace, i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i), targetLabel: namespace,
		}}}
		if _, err := w.local.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// choose finds the node of a Pod: of those that its nodeSelector allows and that are not
// cordoned, the one with the fewest Pods that it is to be apart from. Of a scheduler the
// laboratory has no more.
func (k *kubelet) choose(ctx context.Context, p *pod) (string, error) {
	options := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(p.object.Spec.NodeSelector).String()}
	nodes, err := k.world.local.CoreV1().Nodes().List(ctx, options)
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var best *corev1.Node
	fewest := 0
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Spec.Unschedulable {
			continue
		}
		if count := k.near(p, node); best == nil || count < fewest {
			best, fewest = node, count
		}
	}
	if best == nil {
		return "", fmt.Errorf("0/%[1]d nodes are available: %[1]d node(s) were unschedulable", len(nodes.Items))
	}
	p.node = best
	return best.Name, nil
}

// near counts the Pods that a Pod on this node would not be apart from, of each constraint.
func (k *kubelet) near(p *pod, node *corev1.Node) int {
	count := 0
	for i := range p.object.Spec.TopologySpreadConstraints {
		c := &p.object.Spec.TopologySpreadConstraints[i]
		for _, other := range k.pods {
			if other != p && other.node != nil && !other.isEnding() && other.node.Labels[c.TopologyKey] == node.Labels[c.TopologyKey] && p.countsFor(other, c) {
				count++
			}
		}
	}
	return count
}

// countsFor reports whether a constraint of the Pod is about another one.
func (p *pod) countsFor(other *pod, c *corev1.TopologySpreadConstraint) bool {
	selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
	if err != nil {
		p.t.Errorf("Pod %s: %v", p.object.Name, err)
	}
	unlike := func(key string) bool { return p.object.Labels[key] != other.object.Labels[key] }
	return err == nil && p.object.Namespace == other.object.Namespace && selector.Matches(labels.Set(other.object.Labels)) && !slices.ContainsFunc(c.MatchLabelKeys, unlike)
}
