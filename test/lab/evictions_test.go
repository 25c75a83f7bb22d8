//go:build lab

package lab_test

import (
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// otherImage is an image of Envoy with another digest.
const otherImage = "envoyproxy/envoy@sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

// drainedPods replaces the Pods by those of another image, and drains two of three nodes.
func drainedPods(f *fleetFront) {
	f.tell("image", "the image of Envoy changes", everyMethod.Methods, func() []traffic.Fact {
		before := f.Pods()
		f.mark("the image changes")
		f.Patch(`{"spec": {"image": %q}}`, otherImage)
		facts := f.replaced(before)
		if got := f.Images(); !slices.Equal(got, []string{otherImage}) {
			f.Errorf("got Pods with the images %v, want %s", got, otherImage)
		}
		return facts
	})
	f.tell("drained", "`kubectl drain` of two of three nodes at the same time", everyMethod.Methods, f.drainsTwo)
}

// drainsTwo drains two of three nodes while the third has no room. One Pod goes, and none
// after it before a new one serves.
func (f *fleetFront) drainsTwo() []traffic.Fact {
	spread := f.Nodes()
	nodes := slices.Sorted(maps.Keys(spread))
	if len(nodes) != f.size {
		f.Fatalf("after a rollout the Pods are %v, want each on a node of its own", spread)
	}
	third := nodes[2]
	f.mark("two nodes are drained, and the third is cordoned")
	f.Kubectl("cordon", third)
	first, second := f.Drain(nodes[0]), f.Drain(nodes[1])
	f.service.Await("one Pod is evicted, and a new one finds no node", func() bool {
		c := f.Condition("Ready")
		return c.Status == "False" && strings.Contains(c.Message, "2 of 3 Pods are ready; Pod edge-") && strings.Contains(c.Message, "0/3 nodes are available")
	})
	left := f.Nodes()
	for _, pod := range slices.Concat(slices.Collect(maps.Values(left))...) {
		if err := f.Evict(pod); !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "disruption budget") {
			f.Errorf("eviction of Pod %s, one of %v: got %v, want a refusal by the disruption budget", pod, left, err)
		}
	}
	if len(left) != 2 {
		f.Errorf("after one eviction there are the Pods %v, want two on nodes", left)
	}
	f.mark("the third node has room")
	f.Kubectl("uncordon", third)
	first.Wait()
	second.Wait()
	f.mark("both nodes are drained")
	f.AwaitSettled(f.size)
	if got := f.Nodes(); len(got) != 1 || len(got[third]) != f.size {
		f.Errorf("got the Pods %v, want all on %s", got, third)
	}
	f.Kubectl("uncordon", nodes[0], nodes[1])
	return []traffic.Fact{{Name: "evictions refused at the same time", Value: "1 of 2"}}
}
