//go:build lab

package lab

import (
	"bytes"
	"maps"
	"os/exec"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nodes are the names of the nodes that Pods are on, each with the names of its Pods that
// stay.
func (e *Envoys) Nodes() map[string][]string {
	e.t.Helper()
	nodes := map[string][]string{}
	for name, pod := range e.pods() {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			nodes[pod.Spec.NodeName] = append(nodes[pod.Spec.NodeName], name)
		}
	}
	return nodes
}

// Images are those that the Pods run, sorted.
func (e *Envoys) Images() []string {
	e.t.Helper()
	images := map[string]bool{}
	for _, pod := range e.pods() {
		for _, c := range pod.Status.ContainerStatuses {
			images[c.Image] = true
		}
	}
	return slices.Sorted(maps.Keys(images))
}

// Evict asks the API server once to evict a Pod.
func (e *Envoys) Evict(pod string) error {
	e.t.Helper()
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: pod}}
	return e.world.local.CoreV1().Pods(e.namespace).EvictV1(e.t.Context(), eviction)
}

// Generation is that of the Deployment: it grows when its spec changes.
func (e *Envoys) Generation() int64 {
	e.t.Helper()
	found, err := e.world.local.AppsV1().Deployments(e.namespace).Get(e.t.Context(), envoyName, metav1.GetOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return found.Generation
}

// Drain is a `kubectl drain` that runs.
type Drain struct {
	envoys  *Envoys
	command *exec.Cmd
	output  bytes.Buffer
}

// Drain drains a node. Other nodes may be drained at the same time.
func (e *Envoys) Drain(node string) *Drain {
	e.t.Helper()
	d := &Drain{envoys: e, command: e.world.kubectl(e.t, "drain", node, "--delete-emptydir-data", "--timeout", waitTimeout.String())}
	d.command.Stdout, d.command.Stderr = &d.output, &d.output
	if err := d.command.Start(); err != nil {
		e.t.Fatal(err)
	}
	return d
}

// Wait waits until the node is drained.
func (d *Drain) Wait() {
	d.envoys.t.Helper()
	if err := d.command.Wait(); err != nil {
		d.envoys.t.Fatalf("%v: %v: %s", d.command.Args, err, d.output.String())
	}
}
