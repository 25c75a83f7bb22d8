package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// movesToPools replaces an installation by variables with one by pools, which takes over
// the slice that is there, writes nothing, and keeps it from then on.
func movesToPools(t *testing.T, c *cloud) {
	i := &installation{c, "helm4", "moving"}
	c.prepare(t, i.namespace)
	i.helm(t, i.version, append([]string{"install", release, chartDir, "--namespace", i.namespace}, readme...)...)
	daemon, _ := i.start(t, i.podWith(t, "ionos"), false)
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(i.Published(t, i.namespace), i.Addresses) })
	daemon.Stop(t)
	i.helm(t, i.version, "uninstall", release, "--namespace", i.namespace, "--wait")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ionos-berlin"}, StringData: map[string]string{"token": stage.Token, "kubeconfig": i.kubeconfig}}
	if _, err := i.Client.CoreV1().Secrets(i.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, fmt.Appendf(nil, `image: {tag: 0.1.0}
pools:
  berlin:
    source: {ionos: {datacenterID: %s, lanID: %d}}
    credentials: berlin
    subnets: [10.0.0.0/16]
    allow: [{namespaces: [moving], ports: ["8080"]}]
bindings:
  moving:
    web: {pools: [{name: berlin}], ports: [{name: http, port: 8080}], adopt: web-remote}
credentials:
  berlin: {secretName: ionos-berlin}
bounds: {namespaces: [moving]}
`, stage.Datacenter, stage.LAN), 0o600); err != nil {
		t.Fatal(err)
	}
	before, writes := i.ownSlice(t), i.sliceWrites()
	i.helm(t, i.version, "install", release, chartDir, "--namespace", i.namespace, "--values", values)
	pod := i.podWith(t, "documents")
	daemon, probes := i.start(t, pod, false)
	stage.Until(t, "the first decision", func() bool { return kubelet.Probe(probes + "/readyz") })
	after := i.ownSlice(t)
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("got a write: %v, before %v", after, before)
	}
	after.Endpoints = after.Endpoints[1:]
	if _, err := i.Client.DiscoveryV1().EndpointSlices(i.namespace).Update(t.Context(), after, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	stage.Until(t, "the backends in the slice again", func() bool { return slices.Equal(i.Published(t, i.namespace), i.Addresses) })
	daemon.Stop(t)
	if got := i.sliceWrites() - writes; got != 1 {
		t.Errorf("got %d writes, want the repair alone", got)
	}
}

// ownSlice is the slice that the installation by variables has made.
func (i *installation) ownSlice(t *testing.T) *discoveryv1.EndpointSlice {
	t.Helper()
	slice, err := i.Client.DiscoveryV1().EndpointSlices(i.namespace).Get(t.Context(), "web-remote", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slice
}

// podWith waits for a Pod with a volume of that name.
func (i *installation) podWith(t *testing.T, volume string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	stage.Until(t, "a Pod with the volume "+volume, func() bool {
		list, err := i.Client.CoreV1().Pods(i.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range list.Items {
			if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume }) {
				found = &pod
			}
		}
		return found != nil
	})
	return found
}
