package fleet_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// digest is an image as it has to be named.
const digest = "envoyproxy/envoy@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// world is an API server with the kind, and an operator.
type world struct {
	api    *controlplane.ControlPlane
	client client.Client
	said   *said
}

// said stands for endpoint-views.
type said struct {
	mu      sync.Mutex
	streams map[string]manifests.Streams
	looked  map[string]int
	news    chan string
}

func newSaid() *said {
	return &said{streams: make(map[string]manifests.Streams), looked: make(map[string]int), news: make(chan string)}
}

func (s *said) Run(ctx context.Context, changed func(context.Context, string)) {
	for {
		select {
		case fleet := <-s.news:
			changed(ctx, fleet)
		case <-ctx.Done():
			return
		}
	}
}

func (s *said) Of(fleet string) manifests.Streams {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked[fleet]++
	if all, there := s.streams[fleet]; there {
		return all
	}
	return manifests.Streams{Asked: true, Answered: 1}
}

// seen reports how many fleets of a namespace were looked at.
func (s *said) seen(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	for fleet := range s.looked {
		if strings.HasPrefix(fleet, namespace+"/") {
			count++
		}
	}
	return count
}

// says makes the streams of a fleet these.
func (s *said) says(t *testing.T, fleet string, all ...envoyconfig.ProxyState) {
	t.Helper()
	s.mu.Lock()
	s.streams[fleet] = manifests.Streams{Asked: true, Answered: 1, All: all}
	s.mu.Unlock()
	select {
	case s.news <- fleet:
	case <-t.Context().Done():
	}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{api: controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true}), said: newSaid()}
	var err error
	if w.client, err = client.New(w.api.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	w.install(t)
	w.operate(t, "operator", w.said)
	return w
}

// install applies the definition of the kind and the rights that deploy/fleet has.
func (w *world) install(t *testing.T) {
	t.Helper()
	w.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "infra"}})
	for _, file := range []string{"fleet.ablmnzde.github.io_envoys.yaml", "rights.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "fleet", file))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
			w.make(t, parse(t, document))
		}
	}
	await(t, "the kind is served", func() string {
		if err := w.client.List(t.Context(), &v1alpha1.EnvoyList{}); err != nil {
			return err.Error()
		}
		return ""
	})
	right := authorizationv1.ResourceAttributes{Group: "apps", Resource: "deployments"}
	w.api.AwaitRights(t, account, true, right, "list", "watch", "create", "patch")
}

// account is the one of the operator, which has the rights of deploy/fleet alone.
const account = "system:serviceaccount:infra:endpoint-views-fleet"

// operate runs an operator of some namespaces until the test ends; none means all. Two of
// one namespace would contradict each other about what endpoint-views says.
func (w *world) operate(t *testing.T, agent string, streams fleet.Watcher, namespaces ...string) {
	t.Helper()
	access := w.api.UserConfig(account)
	access.UserAgent = agent
	operator, err := fleet.New(fleet.Options{
		Access: access, Streams: streams, MetricsAddress: "0", Namespaces: namespaces,
		Children: manifests.Settings{Host: "endpoint-views-xds.infra", Port: 18000, EnvoyImage: digest, DrainImage: "endpoint-views:1"},
		Logger:   logr.FromSlogHandler(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- operator.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the operator: %v", err)
		}
	})
}

// await waits until a condition holds, which says what is missing.
func await(t *testing.T, what string, missing func() string) {
	t.Helper()
	why := ""
	poll.Until(t, 2*time.Minute, func() bool { why = missing(); return why == "" }, func() string { return what + ": " + why })
}

// namespace makes one for a test.
func (w *world) namespace(t *testing.T, name string) string {
	t.Helper()
	// The controller manager waits for nothing, and Pods as strict as can be come to be.
	w.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}})
	return name
}

func (w *world) make(t *testing.T, object client.Object) {
	t.Helper()
	if err := w.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// get reads an object again; false if it is not there.
func (w *world) get(t *testing.T, namespace, name string, into client.Object) bool {
	t.Helper()
	err := w.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, into)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// change changes an Envoy, also while the operator writes its status.
func (w *world) change(t *testing.T, namespace, name string, how func(*v1alpha1.Envoy)) {
	t.Helper()
	for {
		e := &v1alpha1.Envoy{}
		if !w.get(t, namespace, name, e) {
			t.Fatalf("there is no Envoy %s/%s", namespace, name)
		}
		how(e)
		err := w.client.Update(t.Context(), e)
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
}

// awaitCondition waits until a condition of an Envoy's newest generation is so.
func (w *world) awaitCondition(t *testing.T, namespace, name, of, status, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	await(t, namespace+"/"+name+": "+of+"="+status+", "+reason, func() string {
		e := &v1alpha1.Envoy{}
		if !w.get(t, namespace, name, e) {
			return "it is not there"
		}
		for _, c := range e.Status.Conditions {
			if c.Type == of {
				found = c
			}
		}
		if string(found.Status) == status && found.Reason == reason && found.ObservedGeneration == e.Generation {
			return ""
		}
		return string(found.Status) + ", " + found.Reason + ": " + found.Message
	})
	return found
}

// awaitMessage waits until a condition of an Envoy says all of this.
func (w *world) awaitMessage(t *testing.T, namespace, name, of string, want ...string) {
	t.Helper()
	await(t, namespace+"/"+name+": "+of+" says "+strings.Join(want, ", "), func() string {
		e := &v1alpha1.Envoy{}
		w.get(t, namespace, name, e)
		c := meta.FindStatusCondition(e.Status.Conditions, of)
		if c == nil {
			return "there is no such condition"
		}
		for _, text := range want {
			if !strings.Contains(c.Message, text) {
				return c.Message
			}
		}
		return ""
	})
}

// pods waits for so many Pods of a fleet that are not going.
func (w *world) pods(t *testing.T, namespace, name string, want int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	await(t, "the Pods of "+namespace+"/"+name, func() string {
		list := &corev1.PodList{}
		if err := w.client.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{manifests.EnvoyLabel: name}); err != nil {
			return err.Error()
		}
		pods = pods[:0]
		for _, pod := range list.Items {
			if pod.DeletionTimestamp == nil {
				pods = append(pods, pod)
			}
		}
		if len(pods) != want {
			return "there are others"
		}
		return ""
	})
	return pods
}

// ready does what a kubelet does.
func (w *world) ready(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	for i := range pods {
		pods[i].Status.Phase, pods[i].Status.StartTime = corev1.PodRunning, ptr.To(metav1.Now())
		pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		if err := w.client.Status().Update(t.Context(), &pods[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// simple is an Envoy with one listener.
func simple(namespace, name string, replicas int32) *v1alpha1.Envoy {
	return &v1alpha1.Envoy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.EnvoySpec{
			Name: name, ConfigMapName: name, Replicas: &replicas,
			Listeners: []v1alpha1.Listener{{Name: "http", Port: 80, Service: "web"}},
		},
	}
}

// deployment waits until the Deployment of a fleet is so.
func (w *world) deployment(t *testing.T, namespace, name string, is func(*appsv1.Deployment) bool) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{}
	await(t, "the Deployment of "+namespace+"/"+name, func() string {
		d = &appsv1.Deployment{}
		if !w.get(t, namespace, name, d) {
			return "there is none"
		}
		if !is(d) {
			return "it is another one"
		}
		return ""
	})
	return d
}
