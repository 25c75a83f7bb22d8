package apiproxy_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/apiproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// waitTimeout bounds what must happen, silence is how long nothing must.
const (
	waitTimeout = 30 * time.Second
	silence     = 300 * time.Millisecond
)

// world is a proxy of its own before an API server that all tests share, and a
// client that goes through it.
type world struct {
	*apiproxy.Proxy
	t          *testing.T
	cp         *controlplane.ControlPlane
	kubeconfig string
	client     kubernetes.Interface
	slice      string
}

func TestAProxyBeforeARealAPIServer(t *testing.T) {
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for name, test := range map[string]func(*world){
		"passes on who asks": passesOnWhoAsks,
		"serves kubectl":     servesKubectl,
		"passes watches event by event and cuts them": passesAndCutsWatches,
		"delays":  delays,
		"is full": isFull,
		"answers with a status, to some requests only":       answersWithAStatus,
		"refuses, resets, and comes back at the same port":   refuses,
		"swallows, and answers all the same when it is well": swallows,
		"strands what is connected and serves new clients":   strands,
		"causes real conflicts":                              causesConflicts,
		"loses an answer":                                    losesAnAnswer,
		"calls the test at a point of a request":             callsAtAPoint,
		"breaks off before the API server knows":             breaksOff,
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			proxy := apiproxy.Start(t, netip.MustParseAddr("127.0.0.1"), cp.Config())
			w := &world{Proxy: proxy, t: t, cp: cp, kubeconfig: proxy.Kubeconfig(t, cp.Config())}
			w.client = w.newClient(w.kubeconfig)
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"}, AddressType: discoveryv1.AddressTypeIPv4}
			made, err := w.client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), slice, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.slice = made.Name
			test(w)
		})
	}
}

func (w *world) newClient(kubeconfig string) kubernetes.Interface {
	w.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	config.QPS = -1
	// With a proxy function of its own a client has connections of its own.
	config.Proxy = http.ProxyFromEnvironment
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

// get reads the slice, within a time.
func (w *world) get(within time.Duration) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	_, err := w.client.DiscoveryV1().EndpointSlices("default").Get(ctx, w.slice, metav1.GetOptions{})
	return err
}

// label reads the slice past the proxy, and writes it through the proxy with a
// label.
func (w *world) label(value string) error {
	w.t.Helper()
	slice := w.stored()
	slice.Labels = map[string]string{"label": value}
	_, err := w.client.DiscoveryV1().EndpointSlices("default").Update(w.t.Context(), slice, metav1.UpdateOptions{})
	return err
}

// stored reads the slice past the proxy.
func (w *world) stored() *discoveryv1.EndpointSlice {
	w.t.Helper()
	direct, err := kubernetes.NewForConfig(w.cp.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	slice, err := direct.DiscoveryV1().EndpointSlices("default").Get(w.t.Context(), w.slice, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return slice
}

func passesOnWhoAsks(w *world) {
	client := w.newClient(w.Kubeconfig(w.t, w.cp.UserConfig("alice", "readers")))
	_, err := client.CoreV1().Services("default").List(w.t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		w.t.Fatalf("without a right: got %v, want Forbidden", err)
	}
	role := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-proxier"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	if _, err := w.client.RbacV1().ClusterRoleBindings().Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.until(func() bool {
		_, err = client.CoreV1().Services("default").List(w.t.Context(), metav1.ListOptions{})
		return err == nil
	}, "alice may not list")
	if got := w.Requests(); got[len(got)-1].Verb != "list" || got[len(got)-1].Resource != "services" {
		w.t.Errorf("newest request: got %+v, want list services", got[len(got)-1])
	}
	seen := false
	for _, e := range w.cp.Audit() {
		seen = seen || e.User == "alice" && e.Code == http.StatusOK && e.Resource == "services"
	}
	if !seen {
		w.t.Error("the API server has not seen alice")
	}
}

func servesKubectl(w *world) {
	output, err := exec.CommandContext(w.t.Context(), w.cp.KubectlPath(), "--kubeconfig", w.kubeconfig,
		"annotate", "endpointslice", w.slice, "by=kubectl").CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %s", err, output)
	}
	if got := w.stored().Annotations["by"]; got != "kubectl" {
		w.t.Errorf("got %q, want the annotation", got)
	}
}

func passesAndCutsWatches(w *world) {
	watcher, err := w.client.DiscoveryV1().EndpointSlices("default").Watch(w.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + w.slice})
	if err != nil {
		w.t.Fatal(err)
	}
	defer watcher.Stop()
	for _, want := range []string{"a", "b"} {
		if err := w.label(want); err != nil {
			w.t.Fatal(err)
		}
		for got := ""; got != want; {
			select {
			case e := <-watcher.ResultChan():
				if e.Type != watch.Added && e.Type != watch.Modified {
					w.t.Fatalf("got %v, want a change", e)
				}
				got = e.Object.(*discoveryv1.EndpointSlice).Labels["label"]
			case <-time.After(waitTimeout):
				w.t.Fatalf("no event for %q", want)
			}
		}
	}
	w.CutWatches()
	for deadline := time.After(waitTimeout); ; {
		select {
		case _, open := <-watcher.ResultChan():
			if !open {
				return
			}
		case <-deadline:
			w.t.Fatal("the watch goes on")
		}
	}
}

func delays(w *world) {
	w.Set(apiproxy.Fault{Delay: silence})
	start := time.Now()
	if err := w.get(waitTimeout); err != nil {
		w.t.Fatal(err)
	}
	if took := time.Since(start); took < silence {
		w.t.Errorf("answered after %v, want at least %v", took, silence)
	}
}

func isFull(w *world) {
	w.Set(apiproxy.Fault{Status: http.StatusTooManyRequests, RetryAfter: 7 * time.Second})
	_, err := w.client.CoreV1().RESTClient().Get().Resource("nodes").MaxRetries(0).Do(w.t.Context()).Get()
	if after, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || after != 7 {
		w.t.Errorf("got %v with a delay of %d s, want too many requests with 7 s", err, after)
	}
	w.Mend()
	if err := w.get(waitTimeout); err != nil {
		w.t.Errorf("after the fault: %v", err)
	}
}

func answersWithAStatus(w *world) {
	w.Set(apiproxy.Fault{Status: http.StatusInternalServerError, Only: apiproxy.Writes()})
	if err := w.label("a"); !apierrors.IsInternalError(err) {
		w.t.Errorf("a write: got %v, want an internal error", err)
	}
	if err := w.get(waitTimeout); err != nil {
		w.t.Errorf("a read: %v", err)
	}
}

func refuses(w *world) {
	watcher, err := w.client.DiscoveryV1().EndpointSlices("default").Watch(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer watcher.Stop()
	w.Refuse()
	if err := w.get(waitTimeout); err == nil || !strings.Contains(err.Error(), "connection refused") {
		w.t.Errorf("got %v, want connection refused", err)
	}
	for open, deadline := true, time.After(waitTimeout); open; {
		select {
		case _, open = <-watcher.ResultChan():
		case <-deadline:
			w.t.Fatal("the watch goes on")
		}
	}
	w.Mend()
	if err := w.get(waitTimeout); err != nil {
		w.t.Errorf("after the fault: %v", err)
	}
}

func swallows(w *world) {
	w.Swallow()
	if err := w.get(silence); err == nil {
		w.t.Error("got an answer on a connection that was open")
	}
	later := make(chan error, 1)
	fresh := w.newClient(w.Kubeconfig(w.t, w.cp.UserConfig("bob", "system:masters")))
	go func() {
		_, err := fresh.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
		later <- err
	}()
	select {
	case err := <-later:
		w.t.Errorf("got an answer on a new connection: %v", err)
	case <-time.After(silence):
	}
	w.Mend()
	if err := <-later; err != nil {
		w.t.Errorf("after the fault: %v", err)
	}
}

func strands(w *world) {
	if err := w.get(waitTimeout); err != nil {
		w.t.Fatal(err)
	}
	w.Strand()
	w.Mend()
	if err := w.get(silence); !errors.Is(err, context.DeadlineExceeded) {
		w.t.Errorf("on the old connection: got %v, want no answer", err)
	}
	fresh := w.newClient(w.Kubeconfig(w.t, w.cp.UserConfig("carol", "system:masters")))
	if _, err := fresh.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{}); err != nil {
		w.t.Errorf("on a new connection: %v", err)
	}
}

func causesConflicts(w *world) {
	done := w.Conflict(2)
	for range 2 {
		if err := w.label("a"); !apierrors.IsConflict(err) {
			w.t.Errorf("got %v, want a conflict", err)
		}
	}
	<-done
	if err := w.label("b"); err != nil {
		w.t.Errorf("afterwards: %v", err)
	}
}

func losesAnAnswer(w *world) {
	lost := w.LoseAnswer(apiproxy.Match{Verb: "update"})
	if err := w.label("a"); err == nil {
		w.t.Error("got an answer")
	}
	<-lost
	if got := w.stored().Labels["label"]; got != "a" {
		w.t.Errorf("stored: got label %q, want what was written", got)
	}
	if err := w.label("b"); err != nil {
		w.t.Errorf("afterwards: %v", err)
	}
}

func callsAtAPoint(w *world) {
	match := apiproxy.Match{Verb: "update", Resource: "endpointslices"}
	var before, after string
	arrived := w.At(apiproxy.Arrives, match, func() { before = w.stored().Labels["label"] })
	answered := w.At(apiproxy.Answered, match, func() { after = w.stored().Labels["label"] })
	if err := w.get(waitTimeout); err != nil {
		w.t.Fatal(err)
	}
	for _, value := range []string{"a", "b"} {
		if err := w.label(value); err != nil {
			w.t.Fatal(err)
		}
	}
	<-arrived
	<-answered
	if before != "" || after != "a" {
		w.t.Errorf("got %q before and %q after the first update alone, want \"\" and \"a\"", before, after)
	}
}

func breaksOff(w *world) {
	called := 0
	broken := w.Break(apiproxy.Arrives, apiproxy.Match{Verb: "update"}, func() { called++ })
	if err := w.label("a"); err == nil {
		w.t.Error("got an answer")
	}
	<-broken
	if got := w.stored().Labels["label"]; got != "" || called != 1 {
		w.t.Errorf("got label %q after %d calls, want nothing stored after 1", got, called)
	}
}

// until waits for a condition.
func (w *world) until(condition func() bool, complaint string) {
	w.t.Helper()
	poll.Until(w.t, waitTimeout, condition, func() string { return complaint })
}
