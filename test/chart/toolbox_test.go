package chart_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// toolboxDoesItsJob installs what takes the toolbox image: the inventory script,
// here from the chart's files, and kubectl as the store.
func toolboxDoesItsJob(t *testing.T, c *cloud) {
	i := &installation{c, "helm4", "edge-toolbox"}
	c.prepare(t, i.namespace)
	c.helm(t, i.version, append([]string{
		"install", release, chartDir, "--namespace", i.namespace,
		"--set", "controller.sourceKind=command", "--set", "controller.storeKind=kubectl",
		"--set", "controller.inventoryCommand=python3",
		"--set", "controller.inventoryCommandArgs=/etc/ionos-endpointslice-controller/render_inventory.py",
		"--set-file", `files.render_inventory\.py=../../scripts/render_inventory.py`,
	}, readme...)...)
	pods := i.pods(t)
	i.awaitPolicy(t)
	c.Kubelet.Kubectl = c.CP.KubectlPath()
	first, _ := i.start(t, &pods[0], false)
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(c.Published(t, i.namespace), c.Addresses) })
	second, probes := i.start(t, &pods[1], true)
	stage.Until(t, "the other replica to be ready", func() bool { return kubelet.Probe(probes + "/readyz") })
	first.Stop(t)
	second.Stop(t)
	for _, e := range c.CP.Audit() {
		if e.User == i.user() && e.UserAgent != userAgent && (e.Code == 401 || e.Code == 403) {
			t.Errorf("denied: %+v", e)
		}
	}
}

// TestEveryStoreGetsItsOwnRights: what one store needs the other does without.
func TestEveryStoreGetsItsOwnRights(t *testing.T) {
	for store, want := range map[string][]string{"client-go": {"list", "watch"}, "kubectl": {"get"}} {
		objects := documents(t, render(t, helms[1], append([]string{"--set", "controller.storeKind=" + store, "--show-only", "templates/role.yaml"}, readme...)...))
		role := stage.One[*rbacv1.Role](t, objects)
		for _, rule := range role.Rules {
			if slices.Contains(rule.Resources, string(corev1.ResourceServices)) && !slices.Equal(rule.Verbs, want) {
				t.Errorf("%s: got %v of Services, want %v", store, rule.Verbs, want)
			}
		}
	}
}
