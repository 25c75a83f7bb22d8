package chart_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// release is the name that the README gives the release.
const release = "ionos-endpointslice-controller"

// TestTheChartInstalled holds every test that needs a cluster: one cluster serves
// them all.
func TestTheChartInstalled(t *testing.T) {
	netns.Require(t)
	c := newCloud(t, controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true}))
	for _, version := range helms {
		t.Run(version, func(t *testing.T) {
			i := c.install(t, version)
			for _, test := range []struct {
				name string
				test func(*testing.T, *installation)
			}{
				{"the Pods are admitted in a restricted namespace", podsAreAdmitted},
				{"the network of the node needs a privileged namespace", hostNetworkNeedsPrivileged},
				{"the daemon of the Pods does its job", daemonDoesItsJob},
				{"the Pod of helm test finds everything right", checkFindsEverythingRight},
				{"a second upgrade changes nothing", upgradeChangesNothing},
				{"nothing beyond the Roles is allowed", nothingBeyondTheRoles},
				{"the admission policy holds the ServiceAccount to its slices", policyHolds},
				{"after the release the slices stay", slicesStay},
			} {
				if !t.Run(test.name, func(t *testing.T) { test.test(t, i) }) {
					return
				}
			}
		})
	}
	t.Run("helm template and kubectl apply", func(t *testing.T) { appliedWithoutHelm(t, c) })
	t.Run("many Services", func(t *testing.T) { poolsFill(t, c) })
	t.Run("pools and bindings in the API server", func(t *testing.T) { kindsAreBound(t, c) })
	t.Run("Contract162 the leader of before works after each upgrade", func(t *testing.T) { leaderOfBeforeWorks(t, c) })
	t.Run("Contract164 a namespace leaves in two steps", func(t *testing.T) { namespaceLeaves(t, c) })
	t.Run("from variables to pools", func(t *testing.T) { movesToPools(t, c) })
	t.Run("endpoint-views", func(t *testing.T) { viewsServe(t, c) })
	t.Run("Contract121 endpoint-views by xDS", func(t *testing.T) { xdsServes(t, c) })
	t.Run("fleets", func(t *testing.T) { fleetRuns(t, c) })
	t.Run("the toolbox", func(t *testing.T) { toolboxDoesItsJob(t, c) })
}

// installation is one release.
type installation struct {
	*cloud
	version, namespace string
}

// install runs the README's command.
func (c *cloud) install(t *testing.T, version string) *installation {
	t.Helper()
	i := &installation{c, version, "edge-" + version}
	c.prepare(t, i.namespace)
	said := c.helm(t, version, append([]string{"install", release, chartDir, "--namespace", i.namespace}, readme...)...)
	for _, says := range []string{"Service edge-" + version + "/web", "ionos-token, key token", "kubeconfigs, key secured"} {
		if !strings.Contains(said, says) {
			t.Errorf("NOTES: got no %q in\n%s", says, said)
		}
	}
	if strings.Contains(strings.ToLower(said), "warning") {
		t.Errorf("got a warning in\n%s", said)
	}
	return i
}

// user is the name of the daemon's ServiceAccount as a user.
func (i *installation) user() string {
	return "system:serviceaccount:" + i.namespace + ":" + release
}

// pods waits for the two Pods.
func (i *installation) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	stage.Until(t, "two Pods of the Deployment", func() bool {
		list, err := i.Client.CoreV1().Pods(i.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found = list.Items
		return len(found) == 2
	})
	return found
}

func podsAreAdmitted(t *testing.T, i *installation) {
	for _, pod := range i.pods(t) {
		if len(pod.Spec.Volumes) != 3 {
			t.Errorf("%s: got volumes %v, want the two Secrets' and the token's", pod.Name, pod.Spec.Volumes)
		}
	}
	// The namespace is restricted indeed, or the test above would mean nothing.
	loose := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "loose"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "loose", Image: "loose:1"}}},
	}
	if _, err := i.Client.CoreV1().Pods(i.namespace).Create(t.Context(), loose, metav1.CreateOptions{}); err == nil {
		t.Error("a Pod without a security context: got no error")
	}
	// So is the Pod of helm test.
	check := render(t, i.version, append(slices.Clone(readme), "--show-only", "templates/tests/check.yaml", "--namespace", i.namespace)...)
	pod := stage.One[*corev1.Pod](t, documents(t, check))
	pod.Namespace = i.namespace
	pod.Spec.ServiceAccountName = release
	if _, err := i.Client.CoreV1().Pods(i.namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("the Pod of helm test: %v", err)
	}
}

// hostNetworkNeedsPrivileged is what the how-to says of hostNetwork.
func hostNetworkNeedsPrivileged(t *testing.T, i *installation) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "host"}}
	pod.Spec = daemonPod(t, documents(t, render(t, i.version, append(slices.Clone(readme), "--set", "hostNetwork=true")...)))
	pod.Spec.ServiceAccountName = ""
	for level, admitted := range map[string]bool{"privileged": true, "baseline": false, "restricted": false} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "host-network-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": level},
		}}
		space, err := i.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		if _, err := i.Client.CoreV1().ServiceAccounts(space.Name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		_, err = i.Client.CoreV1().Pods(space.Name).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if (err == nil) != admitted || err != nil && !strings.Contains(err.Error(), "host namespaces (hostNetwork=true)") {
			t.Errorf("%s: got %v, want it admitted: %v", level, err, admitted)
		}
	}
}

func daemonDoesItsJob(t *testing.T, i *installation) {
	pods := i.pods(t)
	i.awaitPolicy(t)
	first, firstProbes := i.start(t, &pods[0], false)
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(i.Published(t, i.namespace), i.Addresses) })
	second, secondProbes := i.start(t, &pods[1], true)
	for _, probes := range []string{firstProbes, secondProbes} {
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			stage.Until(t, probes+path, func() bool { return kubelet.Probe(probes + path) })
		}
	}
	before := i.sliceWrites()
	started := time.Now()
	first.Stop(t)
	t.Logf("stopped after %v", time.Since(started))
	stage.Until(t, "the other replica to lead", func() bool {
		lease, err := i.Client.CoordinationV1().Leases(i.namespace).Get(t.Context(), release, metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
	})
	t.Logf("taken over after %v", time.Since(started))
	second.Stop(t)
	if diff := cmp.Diff(before, i.sliceWrites()); diff != "" {
		t.Errorf("writes of slices in a hand-over (-before +after):\n%s", diff)
	}
	used := map[string]bool{}
	for _, e := range i.CP.Audit() {
		if e.User != i.user() || e.UserAgent == userAgent {
			continue
		}
		used[fmt.Sprintf("%s %s", e.Verb, e.Resource)] = true
		if e.Code == 401 || e.Code == 403 {
			t.Errorf("denied: %+v", e)
		}
	}
	t.Logf("used: %v", slices.Sorted(maps.Keys(used)))
	for _, want := range []string{"create endpointslices", "watch endpointslices", "watch services", "create leases", "update leases"} {
		if !used[want] {
			t.Errorf("got no request %q: is the audit log that of this user?", want)
		}
	}
	for _, p := range []*kubelet.Process{first, second} {
		if strings.Contains(p.Log(), stage.Token) {
			t.Error("the token is in the log")
		}
	}
}

// checkFindsEverythingRight runs what the Pod of helm test runs.
func checkFindsEverythingRight(t *testing.T, i *installation) {
	pod := &i.pods(t)[0]
	rendered := render(t, i.version, append(slices.Clone(readme), "--show-only", "templates/tests/check.yaml")...)
	pod.Spec.Containers[0].Args = stage.One[*corev1.Pod](t, documents(t, rendered)).Spec.Containers[0].Args
	made := i.Kubelet.Command(t, pod, map[string]string{"IONOS_API_URL": i.URL})
	if out, err := made.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", pod.Spec.Containers[0].Args, err, out)
	}
}

// sliceWrites counts the daemon's own writes of slices.
func (i *installation) sliceWrites() (count int) {
	for _, e := range i.CP.Audit() {
		if e.User == i.user() && e.UserAgent != userAgent && e.Resource == "endpointslices" && e.Writes() {
			count++
		}
	}
	return count
}

func upgradeChangesNothing(t *testing.T, i *installation) {
	manifests := i.helm(t, i.version, "get", "manifest", release, "--namespace", i.namespace)
	before := i.state(t, manifests)
	if len(before) < 9 {
		t.Fatalf("got only %v", before)
	}
	i.helm(t, i.version, append([]string{"upgrade", release, chartDir, "--namespace", i.namespace}, readme...)...)
	if diff := cmp.Diff(before, i.state(t, manifests)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

func slicesStay(t *testing.T, i *installation) {
	i.helm(t, i.version, "uninstall", release, "--namespace", i.namespace, "--wait")
	if got := i.Published(t, i.namespace); !slices.Equal(got, i.Addresses) {
		t.Errorf("got %v, want %v", got, i.Addresses)
	}
}
