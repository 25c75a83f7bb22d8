//go:build lab

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const (
	// envoyName is the name of each Envoy and of its objects.
	envoyName = "edge"
	// keptConnections is how many connections clients keep.
	keptConnections = 20
	// drainTimeout is that of each Envoy.
	drainTimeout = "20s"
	// fleetNodes is how many nodes there are for the Pods of each Envoy.
	fleetNodes = 3
)

// Envoys is an object of kind Envoy, with Pods, before the Service of a target.
type Envoys struct {
	// New is the target for clients that open a connection for each request, and Kept for
	// clients that send all requests on 20 connections. Both go through kube-proxy to the
	// Pods.
	New, Kept *Target

	t         testing.TB
	world     *World
	namespace string
	objects   dynamic.ResourceInterface
}

// Condition is one of the status of an Envoy.
type Condition struct {
	Type, Status, Reason, Message string
	ObservedGeneration            int64
}

// Before makes an Envoy with so many Pods, and returns when they serve.
func (v *Views) Before(t testing.TB, x *Target, replicas int) *Envoys {
	t.Helper()
	all, err := dynamic.NewForConfig(v.world.Local.Config())
	if err != nil {
		t.Fatal(err)
	}
	e := &Envoys{
		t: t, world: v.world, namespace: x.namespace,
		objects: all.Resource(schema.GroupVersionResource{Group: "fleet.ablmnzde.github.io", Version: "v1alpha1", Resource: "envoys"}).Namespace(x.namespace),
	}
	x.annotate(map[string]string{group + "/views": "true"})
	v.world.addNodes(t, x.namespace, fleetNodes)
	e.createSecret(v.signs.client(fmt.Sprintf("spiffe://cluster.local/ns/%s/envoy/%s", x.namespace, envoyName)))
	manifest := filepath.Join(t.TempDir(), "envoy.yaml")
	write(t, manifest, fmt.Sprintf(`apiVersion: fleet.ablmnzde.github.io/v1alpha1
kind: Envoy
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  name: %[1]s
  configMapName: %[1]s
  replicas: %[3]d
  drainTimeout: %[4]s
  podTemplate: {nodeSelector: {%[5]s: %[2]s}}
  listeners: [{name: http, port: 80, service: web}]
`, envoyName, x.namespace, replicas, drainTimeout, targetLabel))
	v.world.Kubectl(t, "apply", "--filename", manifest)
	t.Cleanup(func() { _ = e.objects.Delete(context.WithoutCancel(t.Context()), envoyName, metav1.DeleteOptions{}) }) // the next test has the machine
	e.AwaitSettled(replicas)
	service, err := v.world.local.CoreV1().Services(x.namespace).Get(t.Context(), envoyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), 80)
	e.New, e.Kept = x.at(at), x.at(at)
	e.Kept.Name += "-kept"
	e.Kept.Requests.Keep = keptConnections
	return e
}

// createSecret makes the Secret of the fleet from the files of a folder.
func (e *Envoys) createSecret(folder string) {
	e.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: envoyName + "-xds"}, Data: map[string][]byte{}}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			e.t.Fatal(err)
		}
		secret.Data[name] = text
	}
	if _, err := e.world.local.CoreV1().Secrets(e.namespace).Create(e.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		e.t.Fatal(err)
	}
}

// Patch changes the Envoy by a merge patch, and returns its new generation.
func (e *Envoys) Patch(format string, args ...any) int64 {
	e.t.Helper()
	made, err := e.objects.Patch(e.t.Context(), envoyName, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	return made.GetGeneration()
}

// Kubectl is [World.Kubectl] in the namespace of the Envoy.
func (e *Envoys) Kubectl(args ...string) string {
	e.t.Helper()
	return e.world.Kubectl(e.t, append([]string{"--namespace", e.namespace}, args...)...)
}

// Condition is a condition of the Envoy, if it is of the newest generation.
func (e *Envoys) Condition(of string) Condition {
	e.t.Helper()
	return e.conditions()[of]
}

// conditions are those of the newest generation, by their types.
func (e *Envoys) conditions() map[string]Condition {
	e.t.Helper()
	found, err := e.objects.Get(e.t.Context(), envoyName, metav1.GetOptions{})
	if err != nil {
		return nil // the next look may find it
	}
	var status struct{ Conditions []Condition }
	text, err := json.Marshal(found.Object["status"])
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		e.t.Fatal(err)
	}
	all := map[string]Condition{}
	for _, c := range status.Conditions {
		if c.ObservedGeneration == found.GetGeneration() {
			all[c.Type] = c
		}
	}
	return all
}

// AwaitCondition waits until a condition of the newest generation has a status.
func (e *Envoys) AwaitCondition(of, status string) Condition {
	e.t.Helper()
	var got Condition
	until(e.t, func() string { return fmt.Sprintf("%s: %s: got %+v, want %s", e.namespace, of, got, status) }, func() bool {
		got = e.Condition(of)
		return got.Status == status
	})
	return got
}

// AwaitSettled waits until there are exactly so many Pods, all of them ready and of the
// newest version, and each has acknowledged what the Envoy says.
func (e *Envoys) AwaitSettled(replicas int) {
	e.t.Helper()
	var why string
	until(e.t, func() string { return e.namespace + ": " + why }, func() bool {
		why = e.unsettled(replicas)
		return why == ""
	})
}

func (e *Envoys) unsettled(replicas int) string {
	is := e.conditions()
	for of, status := range map[string]string{"Ready": "True", "Progressing": "False", "Synced": "True", "Rejected": "False"} {
		if is[of].Status != status {
			return fmt.Sprintf("%s is %+v", of, is[of])
		}
	}
	if pods := e.Pods(); len(pods) != replicas {
		return fmt.Sprintf("there are the Pods %v, want %d", pods, replicas)
	}
	return ""
}

// AwaitGone waits until these Pods have ended.
func (e *Envoys) AwaitGone(pods ...string) {
	e.t.Helper()
	var left []string
	until(e.t, func() string { return fmt.Sprintf("%s: there are still %v, want none of %v", e.namespace, left, pods) }, func() bool {
		left = e.Pods()
		return !slices.ContainsFunc(left, func(name string) bool { return slices.Contains(pods, name) })
	})
}

// Pods are the names of the Pods that are there, also of those that end, sorted.
func (e *Envoys) Pods() []string {
	e.t.Helper()
	return slices.Sorted(maps.Keys(e.pods()))
}

// pods are those that are there, by name.
func (e *Envoys) pods() map[string]corev1.Pod {
	e.t.Helper()
	list, err := e.world.local.CoreV1().Pods(e.namespace).List(e.t.Context(), metav1.ListOptions{LabelSelector: "fleet.ablmnzde.github.io/envoy=" + envoyName})
	if err != nil {
		e.t.Fatal(err)
	}
	all := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		all[pod.Name] = pod
	}
	return all
}

// ConfigDump is what the Envoy of a Pod does, as JSON.
func (e *Envoys) ConfigDump(pod string) string {
	e.t.Helper()
	machine := e.world.kubelet.pod(e.namespace, pod).machine
	client := http.Client{Timeout: waitTimeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return netns.Dial(ctx, machine, network, address)
	}}}
	response, err := client.Get("http://127.0.0.1:9901/config_dump")
	if err != nil {
		e.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		e.t.Fatalf("Pod %s: /config_dump: %s, %v", pod, response.Status, err)
	}
	return string(text)
}

// Pause makes the Envoy of a Pod hang, Resume ends that.
func (e *Envoys) Pause(pod string) { e.signal(pod, syscall.SIGSTOP) }

// Resume ends Pause.
func (e *Envoys) Resume(pod string) { e.signal(pod, syscall.SIGCONT) }

func (e *Envoys) signal(pod string, s syscall.Signal) {
	e.t.Helper()
	e.world.kubelet.pod(e.namespace, pod).main.signal(s)
}
