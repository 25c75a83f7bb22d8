package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// leavingValues are those of a pool for the namespaces that stay, and of another manager
// if one is named.
func leavingValues(t *testing.T, stay, leaving, manager string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	text := fmt.Sprintf(`image: {tag: 0.1.0}
replicaCount: 1
controller: {targetManagedBy: %q}
pools:
  berlin:
    source: {static: {nodes: [{name: a, addresses: [10.0.0.1]}, {name: b, addresses: [10.0.0.2]}]}}
    subnets: [10.0.0.0/16]
    pollInterval: 1s
    releaseAfter: 1s
    healthCheck: {mode: None}
    allow: [{namespaces: [%s], ports: ["8080"]}]
bounds: {namespaces: [%[2]s], leaving: [%[3]s]}
`, manager, stay, leaving)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// namespaceLeaves takes a namespace out of bounds, pool and bindings in one step: the daemon
// that runs empties its slices with the rights that bounds.leaving keeps, and may make none.
// So it does where the name of the manager changes too, under which nothing new may come.
func namespaceLeaves(t *testing.T, c *cloud) {
	i := &installation{c, helms[1], "leaving"}
	c.prepare(t, i.namespace)
	for _, name := range []string{"leaving-a", "leaving-b", "leaving-c"} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		(&teams{installation: i}).service(t, name, "web")
	}
	args := []string{release, chartDir, "--namespace", i.namespace, "--values"}
	i.helm(t, i.version, append([]string{"install"}, append(args, leavingValues(t, "leaving-a, leaving-b, leaving-c", "", ""))...)...)
	daemon := i.Kubelet.Start(t, i.podWith(t, "documents"), nil)
	both := []string{"10.0.0.1", "10.0.0.2"}
	for _, name := range []string{"leaving-a", "leaving-b", "leaving-c"} {
		stage.Until(t, "the endpoints in "+name, func() bool { return slices.Equal(i.Published(t, name), both) })
	}
	upgrade := func(stay, leaving, manager string) {
		t.Helper()
		i.helm(t, i.version, append([]string{"upgrade"}, append(args, leavingValues(t, stay, leaving, manager))...)...)
		daemon.Renew(t)
	}
	upgrade("leaving-a, leaving-c", "leaving-b", "")
	// The upgrade starts another process, which has seen no document that names the namespace.
	daemon.Stop(t)
	daemon = i.Kubelet.Start(t, i.podWith(t, "documents"), nil)
	stage.Until(t, "the endpoints in leaving-b to go", func() bool { return len(i.Published(t, "leaving-b")) == 0 })
	upgrade("leaving-a", "leaving-b, leaving-c", "another")
	stage.Until(t, "the endpoints in leaving-c to go", func() bool { return len(i.Published(t, "leaving-c")) == 0 })
	if got := i.Published(t, "leaving-a"); !slices.Equal(got, both) {
		t.Errorf("got %v in leaving-a, want %v", got, both)
	}
	daemon.Stop(t)
	// Where its pool goes too, the time until the slices are emptied counts only while they can be read.
	want := []string{
		"list endpointslices.discovery.k8s.io", "list services", "update endpointslices.discovery.k8s.io",
		"watch endpointslices.discovery.k8s.io", "watch services",
	}
	if got := i.granted(t, i.user(), "leaving-b"); !slices.Equal(got, want) {
		t.Errorf("rights in a namespace that leaves: got %v, want %v", got, want)
	}
	i.helm(t, i.version, "uninstall", release, "--namespace", i.namespace)
}
